"""A small Gemini on loopback: `generateContent` with inline images in and out, faults on demand, a list of models."""

import asyncio
import base64
import json
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from . import filling
from . import misbehaviour
from . import openai_replies
from .openai_images import drawn
from .openai_requests import BadRequest
from .openai_requests import Picture
from .openai_requests import digest
from .openai_requests import read_picture
from .threaded import Threaded

MODEL = "stub-gemini"
_CONFIG = frozenset(
    ("candidateCount", "maxOutputTokens", "temperature", "topP", "topK", "seed", "stopSequences", "responseMimeType")
    + ("responseSchema", "responseJsonSchema", "responseModalities", "imageConfig", "thinkingConfig")
)
_STATUS = {400: "INVALID_ARGUMENT", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}
_ASPECTS = {"1:1": (64, 64), "3:2": (96, 64), "2:3": (64, 96), "16:9": (128, 72), "9:16": (72, 128)}


@dataclass
class Asked:
    """A request as it was answered.

    Attributes:
        body: as sent.
        images: decoded, in order.
        text: of the user's parts.
        key: of the header.
        misbehaviour: a kind of `misbehaviour.KINDS`.
    """

    model: str
    body: Mapping[str, Any]
    images: tuple[Picture, ...]
    text: str
    key: str | None
    misbehaviour: str | None


class GeminiServer(Threaded):
    """The server; serves while it is open as a context manager.

    Args:
        plan: what goes wrong, as `OpenAIServer` takes it.
        pictures: from a request to its picture's bytes; None for the input inverted, or a gradient.
        replies: from a request to its text; None for the server's own.
        key: expected in `x-goog-api-key`; without one anybody may ask.
        models: names that are known.
        retry: seconds that 429 asks to wait, in its body.
        schemas: whether JSON schemas are supported.

    Attributes:
        log: the requests that were understood.
    """

    def __init__(
        self,
        *,
        plan: misbehaviour.Plan | Iterable[str | None] = (),
        pictures: Callable[[Asked], bytes | None] = lambda asked: None,
        replies: Callable[[Asked], str | None] = lambda asked: None,
        key: str | None = None,
        models: tuple[str, ...] = (MODEL,),
        retry: float = 0.05,
        slow: float = 1.0,
        schemas: bool = True,
    ) -> None:
        self.plan = plan if callable(plan) else misbehaviour.script(plan)
        self.pictures, self.replies, self.key, self.models = pictures, replies, key, models
        self.retry, self.slow, self.schemas = retry, slow, schemas
        self.log: list[Asked] = []

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}/v1beta"

    def app(self) -> web.Application:
        """What is served."""
        app = web.Application(client_max_size=2**30)
        app.router.add_get("/v1beta/models", self._list)
        app.router.add_post("/v1beta/models/{name:[^:/]+}:generateContent", self._answer)
        return app

    def _wrong_key(self, request: web.Request) -> web.Response | None:
        sent = request.headers.get("x-goog-api-key")
        if self.key is None or sent == self.key:
            return None
        return _error(400, "API key not valid. Please pass a valid API key.", [{"reason": "API_KEY_INVALID"}])

    async def _list(self, request: web.Request) -> web.Response:
        names = [{"name": f"models/{name}"} for name in self.models]
        return self._wrong_key(request) or web.json_response({"models": names})

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if (refused := self._wrong_key(request)) is not None:
            return refused
        if request.match_info["name"] not in self.models:
            return _error(404, f"models/{request.match_info['name']} is not found for API version v1beta")
        try:
            asked = self._read(request, await request.read())
        except BadRequest as bad:
            return _error(400, str(bad))
        self.log.append(asked)
        kind = asked.misbehaviour
        if kind == "slow":
            await asyncio.sleep(self.slow)
        if kind == "429":
            retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{self.retry:g}s"}
            return _error(429, "You exceeded your current quota.", [retry])
        if kind in ("500", "503"):
            return _error(int(kind), "The model is overloaded. Please try again later.")
        if kind == "echo_key":
            return _error(400, f"API key not valid: {asked.key}", [{"reason": "API_KEY_INVALID"}])
        if kind == "error_200":
            return web.json_response({"error": {"code": 502, "message": "upstream", "status": "BAD_GATEWAY"}})
        if kind in ("drop", "content_type") and (fault := openai_replies.fault(request, kind)) is not None:
            return fault
        value = self._reply(asked)
        return await openai_replies.half(request, value) if kind == "half" else web.json_response(value)

    def _read(self, request: web.Request, raw: bytes) -> Asked:
        body = json.loads(raw)
        if unknown := sorted(body.keys() - {"contents", "systemInstruction", "generationConfig", "safetySettings"}):
            raise BadRequest(f"Unknown name {unknown[0]!r}: cannot find field.")
        config = body.get("generationConfig", {})
        if unknown := sorted(config.keys() - _CONFIG):
            raise BadRequest(f"Unknown name {unknown[0]!r} at 'generation_config': cannot find field.")
        if not -(2**31) <= config.get("seed", 0) < 2**31:
            raise BadRequest(f"Invalid value at 'generation_config.seed' (TYPE_INT32): {config['seed']}")
        if "responseJsonSchema" in config:
            if config.get("responseMimeType") != "application/json":
                raise BadRequest("response_json_schema: expected response_mime_type application/json")
            if not self.schemas:
                raise BadRequest("JSON mode with a schema is not supported for this model")
        images: list[Picture] = []
        texts: list[str] = []
        for place, part in enumerate(body["contents"][0]["parts"]):
            if "inlineData" in part:
                data = base64.b64decode(part["inlineData"]["data"], validate=True)
                images.append(read_picture(f"parts[{place}]", data, part["inlineData"]["mimeType"]))
            else:
                texts.append(part["text"])
        kind = misbehaviour.checked(self.plan(digest(body), 0))
        key = request.headers.get("x-goog-api-key")
        return Asked(request.match_info["name"], body, tuple(images), "\n".join(texts), key, kind)

    def _reply(self, asked: Asked) -> dict[str, Any]:
        kind, config = asked.misbehaviour, asked.body.get("generationConfig", {})
        usage = {"promptTokenCount": len(asked.text) // 4 + 258 * len(asked.images), "candidatesTokenCount": 20}
        said = {"usageMetadata": {**usage, "thoughtsTokenCount": 5}, "modelVersion": f"{asked.model}-001"}
        if kind == "refusal_field":
            return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **said}
        if kind == "content_filter":
            return {"candidates": [{"finishReason": "SAFETY", "index": 0}], **said}
        key = digest(asked.text)
        schema = config.get("responseJsonSchema")
        own = json.dumps(filling.fill(schema, key)) if schema else f"Stub answer {key[:8]}."
        text = self.replies(asked) or own
        content = misbehaviour.spoil(kind, text, text)
        thought = {"text": "Let me think.", "thought": True}
        parts: list[dict[str, Any]] = [thought, *([{"text": content.text}] if content.text else [])]
        if "IMAGE" in config.get("responseModalities", ()) and kind not in ("refusal", "empty"):
            size = _ASPECTS.get(config.get("imageConfig", {}).get("aspectRatio"))
            data = self.pictures(asked) or drawn(asked.images, size, key)
            if kind == "unchanged":
                data = asked.images[0].data or b""
            data = b"<html>no image here</html>" if kind == "not_an_image" else data
            parts.append({"inlineData": {"mimeType": "image/png", "data": base64.b64encode(data).decode()}})
        reason = {"length": "MAX_TOKENS"}.get(content.finish_reason, "STOP")
        return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason}], **said}


def _error(status: int, message: str, details: Iterable[Mapping[str, Any]] = ()) -> web.Response:
    error = {"code": status, "message": message, "status": _STATUS[status], "details": list(details)}
    return web.json_response({"error": error}, status=status)
