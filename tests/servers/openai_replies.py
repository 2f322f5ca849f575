"""What an OpenAI-compatible server sends: completions, errors, and answers broken off on the way."""

import json
import math
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from . import filling
from . import misbehaviour
from .openai_requests import ChatRequest
from .openai_requests import digest

MODEL = "stub-judge"
FINGERPRINT = "stub"


class Message(dict[str, Any]):
    """The fields of a reply's message, sent as they are: `content`, and what gateways put beside it."""


Reply = str | Message | Mapping[str, Any] | None
"""A reply's text, its message, or an object to be sent as JSON; None for the server's own."""


def own(asked: ChatRequest, key: str) -> str:
    """The server's own reply: values that fit the schema, or the form that the prompt describes, else a sentence.

    Args:
        asked: the request.
        key: what values are drawn from.
    """
    if asked.schema is not None:
        return json.dumps(filling.fill(asked.schema, key))
    value = filling.described(asked.text, key)
    if value is not None:
        return json.dumps(value)
    return "{}" if asked.mode == "json_object" else f"Stub answer {key[:8]} about {len(asked.images)} image(s)."


def completion(
    asked: ChatRequest, kind: str | None, replies: Callable[[ChatRequest], Reply] | None, salt: str
) -> dict[str, Any]:
    """A chat completion of `n` choices. A reply beyond the request's token limit is cut, at 4 characters a token."""
    choices, tokens = [], 0
    for index in range(asked.body.get("n") or 1):
        key = digest([asked.key, index, salt])
        given = replies(asked) if replies is not None else None
        text = own(asked, key) if given is None else given if isinstance(given, str) else json.dumps(given)
        content = misbehaviour.spoil(kind, text, own(asked, digest([key, "other"])))
        sent, finish = content.text, content.finish_reason
        if sent and asked.limit is not None and len(sent) > 4 * asked.limit:
            sent, finish = sent[: 4 * asked.limit], "length"
        tokens += math.ceil(len(sent or "") / 4)
        message = {"role": "assistant", "content": sent, "refusal": content.refusal}
        if isinstance(given, Message) and content == misbehaviour.Content(text):
            message |= given
        choices.append({"index": index, "message": message, "logprobs": None, "finish_reason": finish})
    # OpenAI's low-detail price of an image
    prompt = math.ceil(len(asked.text) / 4) + 85 * len(asked.images)
    return {
        "id": f"chatcmpl-{asked.digest}-{asked.earlier}",
        "object": "chat.completion",
        "created": 0,
        "model": MODEL,
        "system_fingerprint": FINGERPRINT,
        "choices": choices,
        "usage": {"prompt_tokens": prompt, "completion_tokens": tokens, "total_tokens": prompt + tokens},
    }


def error(
    status: int,
    message: str,
    kind: str = "invalid_request_error",
    code: str | None = None,
    retry_after: float | None = None,
) -> web.Response:
    """An error in OpenAI's form."""
    body = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    headers = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return web.json_response(body, status=status, headers=headers)


def busy(kind: str, retry_after: float) -> web.Response:
    """429 or 503, with the time after which to come back."""
    if kind == "429":
        return error(429, "Rate limit reached for requests.", "requests", "rate_limit_exceeded", retry_after)
    return error(503, "The engine is currently overloaded, please try again later.", "server_error", None, retry_after)


def wrong_key(shown: str = "") -> web.Response:
    """401; some servers show the key that was sent."""
    return error(401, f"Incorrect API key provided: {shown}.", code="invalid_api_key")


def unknown_model(name: str) -> web.Response:
    """404."""
    return error(404, f"The model `{name}` does not exist or you do not have access to it.", code="model_not_found")


def fault(request: web.Request, kind: str | None) -> web.Response | None:
    """The response that takes the place of the reply, for kinds that have one."""
    if kind == "drop":
        if request.transport is not None:
            request.transport.abort()
        return web.Response()
    if kind == "500":
        return error(500, "The server had an error while processing your request.", "server_error")
    if kind == "echo_key":
        return wrong_key(request.headers.get("Authorization", "").removeprefix("Bearer "))
    if kind == "content_type":
        # a proxy in the server's place, with a status that says all is well
        return web.Response(text="<html><body><h1>502 Bad Gateway</h1></body></html>", content_type="text/html")
    if kind == "error_200":
        # gateways send errors of those behind them so
        return web.json_response({"error": {"message": "Upstream error from provider", "code": 502}})
    return None


async def half(request: web.Request, value: Mapping[str, Any] | bytes) -> web.StreamResponse:
    """Send half of a body whose whole length was promised, then break off: an object as JSON, or a PNG."""
    data, kind = (value, "image/png") if isinstance(value, bytes) else (json.dumps(value).encode(), "application/json")
    response = web.StreamResponse(headers={"Content-Type": kind, "Content-Length": str(len(data))})
    await response.prepare(request)
    await response.write(data[: len(data) // 2])
    if request.transport is not None:
        request.transport.close()
    return response
