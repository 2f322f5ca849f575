"""Gemini's own `generateContent`: images as inline data in and out, the key in a header."""

import base64
import math
import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING
from typing import Any
from urllib.parse import quote

import anyio.to_thread

from medgen_metrics.serving.addresses import NO_KEY
from medgen_metrics.serving.completion import read_json
from medgen_metrics.serving.connections import CONNECT_SECONDS
from medgen_metrics.serving.connections import Connections
from medgen_metrics.serving.connections import http_library
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Malformed
from medgen_metrics.serving.faults import StatusInBody
from medgen_metrics.serving.usage import Usage
from medgen_metrics.serving.usage import prompt_tokens

from . import pictures
from .base import EMPTY
from .base import REFUSAL
from .base import Ask
from .base import Gave
from .base import Options
from .forms import Forms
from .remote import Remote
from .remote import no_image

if TYPE_CHECKING:
    from ..systems.file import Component

DEFAULT_URL = "https://generativelanguage.googleapis.com/v1beta"
CONCURRENCY = 8
TIMEOUT = 300.0
# Finish reasons by which Gemini says that a filter withheld the reply.
_BLOCKED = (
    "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
    "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR",
)  # fmt: skip
_ASPECTS = ("1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9")
# Seeds are 32-bit signed.
_SEEDS = 2**31
_BESIDE = ("safetySettings", "tools")
_OUTPUT_TOKENS = ("candidatesTokenCount", "thoughtsTokenCount")
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


class GeminiError(Exception):
    """An error reply, in the form that `medgen_metrics.serving.faults` reads.

    Attributes:
        response: status and headers.
        body: the error's fields.
    """

    def __init__(self, status: int, headers: Mapping[str, str], body: Any) -> None:
        super().__init__(str(body))
        self.response = SimpleNamespace(status_code=status, headers=headers)
        self.body = body


def make(component: "Component", options: Options) -> "Gemini":
    """See `base.make`."""
    return Gemini(component, options)


class Gemini(Remote):
    """A model behind `POST {base_url}/models/{model}:generateContent`.

    `parameters` of the component go into `generationConfig`, but `safetySettings` and `tools`, which go beside it;
    `seed: null` sends none. An image's size is asked for as the nearest of Gemini's aspect ratios.
    """

    gives = frozenset({"text", "image"})

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, default_url=DEFAULT_URL, concurrency=CONCURRENCY, timeout=TIMEOUT)
        self.check_address()
        self._pool = self.make_pool()
        self._clients: Connections[Any] = Connections(self._connect, lambda client: client.aclose())
        self._forms = Forms(self.component.gives_json)
        self._name = quote(self.model.removeprefix("models/"), safe="")

    async def _ask(self, ask: Ask) -> Gave:
        if ask.schema is None or "image" in ask.wants:
            reply, usage = await self._answered(ask, "text")
            form = None
        else:
            (reply, usage), form = await self._forms.ask(lambda form: self._answered(ask, form))
        return self._gave(ask, reply, self.budget.price(usage, self.model), {"form": form} if form else {})

    async def _answered(self, ask: Ask, form: str) -> tuple[Mapping[str, Any], Usage]:
        body, sent = await anyio.to_thread.run_sync(self._body, ask, form)
        estimate = replace(sent, produced=int("image" in ask.wants))
        if self.budget.max_cost is not None:
            tokens = prompt_tokens(ask.prompt + (ask.system or ""), ask.images)
            estimate = replace(estimate, prompt_tokens=tokens, completion_tokens=ask.max_tokens)

        async def send(url: str) -> tuple[Mapping[str, Any], Usage]:
            reply = await self._send(url, body)
            return reply, _usage(reply, sent)

        return await self._pool.run(send, estimate=estimate, usage=lambda got: got[1])

    def _body(self, ask: Ask, form: str) -> tuple[dict[str, Any], Usage]:
        files = [pictures.as_sent(image) for image in ask.images]
        parts: list[dict[str, Any]] = [
            {"inlineData": {"mimeType": kind, "data": base64.b64encode(data).decode("ascii")}} for data, kind in files
        ]
        size = sum(len(part["inlineData"]["data"]) for part in parts) + len(ask.prompt.encode())
        given = dict(self.component.parameters)
        beside: dict[str, Any] = {name: given.pop(name) for name in _BESIDE if name in given}
        config: dict[str, Any] = {"maxOutputTokens": ask.max_tokens, "seed": ask.seed % _SEEDS}
        if "image" in ask.wants:
            config["responseModalities"] = ["TEXT", "IMAGE"]
            if ask.size is not None:
                config["imageConfig"] = {"aspectRatio": _aspect(ask.size)}
        if form != "text":
            config["responseMimeType"] = "application/json"
        if form == "json_schema":
            config["responseJsonSchema"] = ask.schema
        config |= given
        body: dict[str, Any] = {"contents": [{"role": "user", "parts": [*parts, {"text": ask.prompt}]}], **beside}
        if ask.system:
            body["systemInstruction"] = {"parts": [{"text": ask.system}]}
        body["generationConfig"] = {name: value for name, value in config.items() if value is not None}
        return body, Usage(requests=1, images=len(files), bytes=size)

    async def _send(self, url: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
        headers = {} if self.key == NO_KEY else {"x-goog-api-key": self.key}
        address = f"{url.rstrip('/')}/models/{self._name}:generateContent"
        response = await self._clients.of(url).post(address, json=body, headers=headers)
        if response.status_code >= 400:
            raise _error(response)
        reply = read_json(response.content, response.headers)
        if not isinstance(reply, Mapping):
            raise Malformed(f"expected a reply of generateContent, got {reply!r:.200}")
        if reply.get("error"):
            code = reply["error"].get("code") if isinstance(reply["error"], Mapping) else None
            said = f"reported in a body with status 200: {reply['error']!r:.200}"
            raise StatusInBody(code, said) if isinstance(code, int) and code >= 400 else Malformed(said)
        if not reply.get("candidates") and not reply.get("promptFeedback"):
            raise Malformed(f"expected candidates, got {dict(reply)!r:.200}")
        return reply

    def _gave(self, ask: Ask, reply: Mapping[str, Any], usage: Usage, meta: dict[str, Any]) -> Gave:
        redact = self._pool.redact
        feedback = reply.get("promptFeedback")
        candidates = reply.get("candidates")
        first = candidates[0] if isinstance(candidates, list) and candidates else None
        if not isinstance(first, Mapping):
            why = feedback.get("blockReason") if isinstance(feedback, Mapping) else None
            raise CallFailed(REFUSAL, f"the prompt was blocked: {redact(str(why or feedback))}")
        reason = first.get("finishReason")
        reason = reason if isinstance(reason, str) else None
        if reason in _BLOCKED:
            raise CallFailed(
                REFUSAL, f"the reply was blocked: {reason} {redact(str(first.get('finishMessage') or ''))}"
            )
        text, files = _parts(first.get("content"))
        image = None
        if "image" in ask.wants:
            if not files:
                raise no_image(text, reason, redact)
            image = pictures.of_base64(files[0])
        elif not text.strip():
            raise CallFailed(EMPTY, f"a reply without text (finish reason {reason})")
        model = reply.get("modelVersion")
        return Gave(
            text=text or None,
            image=image,
            finish_reason="length" if reason == "MAX_TOKENS" else reason.lower() if reason else None,
            usage=usage,
            model=model if isinstance(model, str) else None,
            meta={**meta, "images": len(files)} if len(files) > 1 else meta,
        )

    def _connect(self, url: str) -> Any:
        library = http_library()
        limits = library.Limits(max_connections=self._pool.limit, max_keepalive_connections=self._pool.limit)
        timeout = library.Timeout(self.timeout, connect=min(CONNECT_SECONDS, self.timeout))
        return library.AsyncClient(limits=limits, timeout=timeout)

    def _models_request(self) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
        headers = {} if self.key == NO_KEY else {"x-goog-api-key": self.key}
        return f"{self.url.rstrip('/')}/models", headers, {"pageSize": "1000"}

    def _listed(self, body: Any) -> Sequence[str] | None:
        entries = body.get("models") if isinstance(body, Mapping) else None
        if not isinstance(entries, list):
            return None
        names = [str(entry.get("name")) for entry in entries if isinstance(entry, Mapping)]
        return names if self.model.startswith("models/") else [name.removeprefix("models/") for name in names]

    async def aclose(self) -> None:
        """See `base.Backend`."""
        await self._clients.aclose()
        self._pool.reopen()


def _parts(content: Any) -> tuple[str, list[str]]:
    """Text and images (base64) of a reply, what the model thought left out."""
    parts = content.get("parts") if isinstance(content, Mapping) else None
    text: list[str] = []
    files: list[str] = []
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, Mapping) or part.get("thought"):
            continue
        if isinstance(part.get("text"), str):
            text.append(part["text"])
        inline = part.get("inlineData") or part.get("inline_data")
        if isinstance(inline, Mapping) and isinstance(inline.get("data"), str):
            files.append(inline["data"])
    return "".join(text), files


def _error(response: Any) -> GeminiError:
    """An error reply; a wrong key comes as 400, and the pause asked for in the body."""
    try:
        body = response.json()
    except ValueError:
        return GeminiError(response.status_code, response.headers, response.text[:300])
    # some proxies send the error in a list
    body = body[0] if isinstance(body, list) and body else body
    said = body.get("error", body) if isinstance(body, Mapping) else body
    headers = dict(response.headers)
    details = said.get("details") if isinstance(said, Mapping) else None
    status = response.status_code
    for detail in details if isinstance(details, list) else ():
        if not isinstance(detail, Mapping):
            continue
        if status == 400 and detail.get("reason") == "API_KEY_INVALID":
            status = 401
        if found := _SECONDS.fullmatch(str(detail.get("retryDelay", ""))):
            headers.setdefault("retry-after", found[1])
    return GeminiError(status, headers, said)


def _aspect(size: tuple[int, int]) -> str:
    def away(aspect: str) -> float:
        width, height = aspect.split(":")
        return abs(math.log(size[0] / size[1]) - math.log(int(width) / int(height)))

    return min(_ASPECTS, key=away)


def _usage(reply: Mapping[str, Any], sent: Usage) -> Usage:
    """What a reply consumed; thoughts are billed as output."""
    told = reply.get("usageMetadata")
    told = told if isinstance(told, Mapping) else {}
    candidates = reply.get("candidates")
    first = candidates[0] if isinstance(candidates, list) and candidates else None
    produced = len(_parts(first.get("content"))[1]) if isinstance(first, Mapping) else 0
    counts = [told.get("promptTokenCount"), *(told.get(name, 0) for name in _OUTPUT_TOKENS)]
    known = [count for count in counts if isinstance(count, int) and count >= 0]
    if len(known) < len(counts):
        return replace(sent, produced=produced, unreported=1)
    return replace(sent, prompt_tokens=known[0], completion_tokens=sum(known[1:]), produced=produced)
