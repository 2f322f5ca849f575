"""Hugging Face Inference Providers and Endpoints through `huggingface_hub`'s client."""

import io
import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from medgen_metrics.serving.addresses import NO_KEY
from medgen_metrics.serving.completion import Completion
from medgen_metrics.serving.completion import read_completion
from medgen_metrics.serving.connections import Connections
from medgen_metrics.serving.faults import REJECTED
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Malformed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.faults import fault_of
from medgen_metrics.serving.redact import Redactor
from medgen_metrics.serving.redact import label
from medgen_metrics.serving.usage import Usage
from medgen_metrics.serving.usage import estimate as estimate_of
from medgen_metrics.serving.usage import measure
from medgen_metrics.serving.usage import prompt_tokens

from . import pictures
from .base import EMPTY
from .base import NOT_AN_IMAGE
from .base import REFUSAL
from .base import Ask
from .base import Gave
from .base import Options
from .fetching import Rules
from .forms import Forms
from .forms import response_format
from .hf_session import held
from .messages import messages
from .openai_chat import WITHHELD
from .remote import CHECK_SECONDS
from .remote import Remote

if TYPE_CHECKING:
    from huggingface_hub import AsyncInferenceClient

    from ..systems.file import Component

ROUTER = "https://router.huggingface.co"
CONCURRENCY = 8
TIMEOUT = 600.0
# What the client raises before anything is sent: the model isn't served so, or nobody has logged in.
_CONFIGURATION = re.compile(
    r"not supported|doesn't support|no recommended model|api_key|log in|no provider|Specifying a model", re.IGNORECASE
)
# Reading a reply of another form than the provider's documents promise, the client raises what comes of it.
_READING = (ValueError, KeyError, IndexError, TypeError, AttributeError)


class _NotAnImage(Exception):
    """A reply that the client couldn't open as an image."""


def make(component: "Component", options: Options) -> "HFInference":
    """See `base.make`."""
    return HFInference(component, options)


class HFInference(Remote):
    """A model of Hugging Face's Inference Providers, or behind an Inference Endpoint (`base_url`).

    Text is asked for by chat completions (image-text-to-text), an image by image-to-image where there is an input, else
    by text-to-image; one call gives either, never both. Of the component's `parameters`, `provider` and `bill_to` are
    the client's, all others the model's; `seed: null` sends none. Without `key_env` the token of `hf auth login` is
    used, never at a `base_url`.

    Some providers answer image requests with URLs, which the client fetches itself: only from the router and the
    component's `hosts`.
    """

    gives = frozenset({"text", "image"})

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, default_url=ROUTER, concurrency=CONCURRENCY, timeout=TIMEOUT)
        self.check_address()
        import huggingface_hub
        from huggingface_hub import constants

        given = dict(self.component.parameters)
        self._client_options = {name: given.pop(name) for name in ("provider", "bill_to") if name in given}
        self._parameters = given
        self._token = self.key if self.key != NO_KEY or self.component.base_url else None
        self._pool = self.make_pool(self._token or huggingface_hub.get_token())
        own = [urlsplit(url).hostname or "" for url in (ROUTER, constants.ENDPOINT)]
        self._rules = Rules([*own, *self.component.hosts])
        self._forms = Forms(self.component.gives_json)
        self._clients: Connections[AsyncInferenceClient] = Connections(self._connect, lambda client: client.close())

    async def _ask(self, ask: Ask) -> Gave:
        if ask.wants >= {"text", "image"}:
            raise ValueError(f"{self.model}: hf-inference gives a text or an image in one call, not both")
        return await (self._image(ask) if "image" in ask.wants else self._text(ask))

    async def _text(self, ask: Ask) -> Gave:
        meta: dict[str, Any] = {}
        if ask.schema is None:
            completion = await self._completion(ask, "text")
        else:
            completion, meta["form"] = await self._forms.ask(lambda form: self._completion(ask, form))
        reason, text = completion.finish_reason, completion.text
        if reason in WITHHELD:
            raise CallFailed(REFUSAL, f"{self._pool.redact(text, 160)!r} (finish reason {reason})")
        if not text.strip():
            raise CallFailed(EMPTY, f"a reply without text (finish reason {reason})")
        return Gave(
            text=text,
            finish_reason=reason,
            usage=self.budget.price(completion.usage, self.model),
            model=completion.model or None,
            fingerprint=completion.fingerprint,
            meta=meta,
        )

    async def _completion(self, ask: Ask, form: str) -> Completion:
        asked = await anyio.to_thread.run_sync(messages, ask)
        images, size = measure(asked)
        most = estimate_of(asked, ask.max_tokens) if self.budget.max_cost is not None else Usage(1, images=images)
        given = {"seed": ask.seed, **self._parameters}
        known = {name: given.pop(name) for name in ("seed", "temperature", "top_p") if name in given}

        async def send(url: str) -> Completion:
            client = self._clients.of(url)
            body = await self._guarded(
                client.chat_completion(
                    asked,
                    model=self.model,
                    max_tokens=ask.max_tokens,
                    response_format=response_format(form, ask.schema),  # type: ignore[arg-type]
                    extra_body=given or None,
                    **known,
                )
            )
            return read_completion(body, endpoint=label(url), images=images, size=size)

        return await self._pool.run(send, estimate=most, usage=lambda reply: reply.usage)

    async def _image(self, ask: Ask) -> Gave:
        if len(ask.images) > 1:
            raise CallFailed(REJECTED, f"image-to-image takes one image, got {len(ask.images)}; set max_images: 1", 0)
        used = Usage(1, images=len(ask.images), bytes=sum(map(len, ask.images)) + len(ask.prompt), produced=1)
        most = used
        if self.budget.max_cost is not None:
            most = replace(most, prompt_tokens=prompt_tokens(ask.prompt, ask.images))

        async def send(url: str) -> Any:
            return await self._guarded(self._pictured(self._clients.of(url), ask))

        try:
            image = await self._pool.run(send, estimate=most, usage=lambda _: replace(used, unreported=1))
        except _NotAnImage as error:
            raise CallFailed(NOT_AN_IMAGE, f"expected an image file: {self._pool.redact(str(error))}") from None
        usage = self.budget.price(replace(used, unreported=1), self.model)
        return Gave(image=_file_of(image), usage=usage)

    def _pictured(self, client: "AsyncInferenceClient", ask: Ask) -> Any:
        """The call, not awaited."""
        model = self.component.base_url or self.model
        given = {"seed": ask.seed, **self._parameters}
        given = {name: value for name, value in given.items() if value is not None}
        if ask.images:
            if ask.size is not None:
                from huggingface_hub import ImageToImageTargetSize

                given.setdefault("target_size", ImageToImageTargetSize(width=ask.size[0], height=ask.size[1]))
            return client.image_to_image(typed(ask.images[0]), ask.prompt, model=model, **given)
        if ask.size is not None:
            given.setdefault("width", ask.size[0])
            given.setdefault("height", ask.size[1])
        known = ("width", "height", "seed", "negative_prompt", "num_inference_steps", "guidance_scale", "scheduler")
        others = {name: value for name, value in given.items() if name not in known}
        given = {name: value for name, value in given.items() if name in known}
        return client.text_to_image(ask.prompt, model=model, extra_body=others or None, **given)

    async def _guarded(self, call: Any) -> Any:
        """Await a call of the client, its own requests held to the hosts, its errors in the pool's terms."""
        from PIL import UnidentifiedImageError

        try:
            with held(self._rules):
                return await call
        except UnidentifiedImageError as error:
            failure: Exception = _NotAnImage(str(error))
        except _READING as error:
            if fault_of(error) is not None:
                raise
            said = self._pool.redact(f"{type(error).__name__}: {error}")
            failure = Malformed(f"a reply that the client can't read: {said}")
            if _CONFIGURATION.search(said):
                failure = RunStopped("not_found", f"{self.model}: {said}")
        raise failure

    def _connect(self, _: str) -> "AsyncInferenceClient":
        from huggingface_hub import AsyncInferenceClient

        # a model that is a URL can't be given twice
        where: dict[str, Any] = (
            {"base_url": self.component.base_url} if self.component.base_url else {"model": self.model}
        )
        return AsyncInferenceClient(**where, token=self._token, timeout=self.timeout, **self._client_options)

    async def _check_models(self) -> list[str]:
        if self.component.base_url:
            # endpoints have no list in common; one that answers lives
            return await super()._check_models()
        redact = Redactor([self._token])
        try:
            with anyio.fail_after(CHECK_SECONDS):
                providers = await anyio.to_thread.run_sync(self._providers, abandon_on_cancel=True)
        except Exception as error:
            fault = fault_of(error)
            if fault is not None and fault.status in (401, 404):
                return [f"model: the Hub knows no {self.model!r} that this token may see"]
            return [f"endpoint: {fault.kind if fault else 'error'}: {redact(fault.text if fault else str(error))}"]
        wanted = self._client_options.get("provider", "auto")
        if not providers:
            return [f"model: no inference provider serves {self.model!r}"]
        if wanted not in ("auto", *providers):
            return [f"model: {wanted} does not serve {self.model!r}; these do: {', '.join(providers)}"]
        return []

    def _providers(self) -> list[str]:
        from huggingface_hub import HfApi

        info = HfApi(token=self._token).model_info(self.model, expand=["inferenceProviderMapping"])
        mapping = getattr(info, "inference_provider_mapping", None) or []
        return [str(one.provider) for one in mapping]

    def _models_request(self) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
        return f"{self.url.rstrip('/')}/models", {"Authorization": f"Bearer {self.key}"}, {}

    def _listed(self, body: Any) -> Sequence[str] | None:
        return None

    async def aclose(self) -> None:
        """See `base.Backend`."""
        await self._clients.aclose()
        self._pool.reopen()


def typed(data: bytes) -> bytes:
    """An input with its media type, without which the client calls any bytes a JPEG."""
    sent, kind = pictures.as_sent(data)
    try:
        from huggingface_hub.inference._common import MimeBytes
    except ImportError:  # of releases that have no such type, and say less to fewer providers
        return sent
    return MimeBytes(sent, kind)


def _file_of(image: Any) -> bytes:
    """The file that the client opened, or else one of the same pixels."""
    opened = getattr(image, "fp", None)
    if isinstance(opened, io.BytesIO):
        return opened.getvalue()
    buffer = io.BytesIO()
    # TIFF holds every mode
    image.save(buffer, "PNG" if image.mode in pictures.PNG_MODES else "TIFF")
    return buffer.getvalue()
