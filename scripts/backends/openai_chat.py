"""Chat completions with images in and, as gateways give for Gemini's image models, images out."""

import re
from collections.abc import Iterator
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any

import anyio.to_thread

from medgen_metrics.serving.addresses import addresses
from medgen_metrics.serving.chat import ChatClient
from medgen_metrics.serving.completion import Completion
from medgen_metrics.serving.faults import CallFailed

from ..errors import UsageError
from . import pictures
from .base import EMPTY
from .base import REFUSAL
from .base import Ask
from .base import Gave
from .base import Options
from .forms import Forms
from .forms import response_format
from .messages import messages
from .remote import Remote
from .remote import no_image

if TYPE_CHECKING:
    from ..systems.file import Component

DEFAULT_URL = "https://api.openai.com/v1"
CONCURRENCY = 16
TIMEOUT = 300.0

WITHHELD = ("content_filter", "refusal")
# ![…](URL) of Markdown; a data URL may also stand bare
_LINK = re.compile(r"!\[[^\]]*\]\(\s*<?((?:data:image/|https?://)[^\s)>]+)>?[^)]*\)")
_BARE = re.compile(r"data:image/[\w.+-]+;base64,[A-Za-z0-9+/=]+")


def make(component: "Component", options: Options) -> "OpenAIChat":
    """See `base.make`."""
    return OpenAIChat(component, options)


class OpenAIChat(Remote):
    """A model behind OpenAI-compatible chat completions.

    `parameters` of the component are sent as they are, those the `openai` client doesn't know too; `seed: null` sends
    none. Parameters and forms of reply that the server refuses are left out from then on, and each answer's `meta` says
    so. The size of an image is the model's own choice here.
    """

    gives = frozenset({"text", "image"})

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, default_url=DEFAULT_URL, concurrency=CONCURRENCY, timeout=TIMEOUT)
        try:
            self._chat = ChatClient(
                self.model,
                [self.url],
                key=self.key,
                timeout=self.timeout,
                budget=self.budget,
                limit=self.scheduling["limit"],
                attempts=self.scheduling["attempts"],
                deadline=self.scheduling["deadline"],
                pool={k: v for k, v in self.scheduling.items() if k not in ("limit", "attempts", "deadline")},
            )
        except ValueError as error:
            raise UsageError(f"{self.model}: {error}") from error
        self._parameters = dict(self.component.parameters)
        self._forms = Forms(self.component.gives_json)

    async def _ask(self, ask: Ask) -> Gave:
        completion, form = await self._complete(ask)
        meta: dict[str, Any] = {"form": form} if ask.schema is not None else {}
        if self._chat.changes:
            meta["changes"] = dict(self._chat.changes)
        text: str | None = completion.text
        image = None
        if "image" in ask.wants:
            text, sources = images_of(completion.message, completion.text)
            if not sources:
                raise no_image(text, completion.finish_reason, self._chat.pool.redact)
            image = await self._image(sources[0])
            if len(sources) > 1:
                meta["images"] = len(sources)
        elif completion.finish_reason in WITHHELD:
            said = self._chat.pool.redact(completion.text, 160)
            raise CallFailed(REFUSAL, f"{said!r} (finish reason {completion.finish_reason})")
        if "text" in ask.wants and not (text or "").strip() and image is None:
            raise CallFailed(EMPTY, f"a reply without text (finish reason {completion.finish_reason})")
        return Gave(
            text=text or None,
            image=image,
            finish_reason=completion.finish_reason,
            usage=self.budget.price(completion.usage, self.model),
            model=completion.model or None,
            fingerprint=completion.fingerprint,
            meta=meta,
        )

    async def _image(self, source: str) -> bytes:
        if source.startswith(("data:", "http://", "https://")):
            return await self.fetcher.image(source)
        return pictures.of_base64(source)

    async def _complete(self, ask: Ask) -> tuple[Completion, str]:
        if ask.schema is None or "image" in ask.wants:
            return await self._sent(ask, "text"), "text"
        return await self._forms.ask(lambda form: self._sent(ask, form))

    async def _sent(self, ask: Ask, form: str) -> Completion:
        others = dict(self._parameters)
        wants_image = "image" in ask.wants
        if wants_image:
            others.setdefault("modalities", ["image", "text"])
        temperature, seed = others.pop("temperature", None), others.pop("seed", ask.seed)
        extra = {name: value for name, value in others.items() if value is not None}
        return await self._chat.complete(
            await anyio.to_thread.run_sync(messages, ask),
            max_tokens=ask.max_tokens,
            pictures=_count if wants_image else None,
            temperature=temperature,
            seed=seed,
            response_format=response_format(form, ask.schema),
            extra_body=extra or None,
        )

    def _models_request(self) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
        return models_request(self.url, self.key)

    async def aclose(self) -> None:
        """See `base.Backend`."""
        await self._chat.aclose()
        await self.fetcher.aclose()


def models_request(url: str, key: str) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
    """URL, headers and query of an OpenAI-compatible server's list of models."""
    address = addresses([url])[url]
    return f"{address.base}/models", {"Authorization": f"Bearer {key}", **address.headers}, address.query


def images_of(message: Mapping[str, Any], text: str) -> tuple[str, list[str]]:
    """The images of a chat message: where it has them, and the text without them.

    Looked for in turn: `images` (OpenRouter), parts of the content (`image_url`, `image`, `output_image`,
    `inline_data`), `multi_mod_content` (aihubmix), links in the text.

    Returns:
        The text, and each image as a data URL, a URL or base64.
    """
    found: list[str] = []
    for name in ("images", "content", "multi_mod_content"):
        entries = message.get(name)
        if isinstance(entries, list):
            found += [source for entry in entries for source in _sources(entry)]
        if found:
            # some give them a second time there
            return _BARE.sub("", _LINK.sub("", text)).strip(), found
    found = _LINK.findall(text)
    left = _LINK.sub("", text)
    found += _BARE.findall(left)
    left = _BARE.sub("", left).strip()
    if not found and re.fullmatch(r"https?://\S+", left):
        return "", [left]
    return left, found


def _sources(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        # of a list named `images`
        if entry.startswith(("data:image/", "http")):
            yield entry
        return
    if not isinstance(entry, Mapping):
        return
    for name in ("image_url", "image", "inline_data", "inlineData", "url", "b64_json", "data"):
        value = entry.get(name)
        if isinstance(value, Mapping):
            value = value.get("url") or value.get("data") or value.get("b64_json")
        if isinstance(value, str) and value:
            yield value
            return


def _count(completion: Completion) -> int:
    return len(images_of(completion.message, completion.text)[1])
