"""What a chat server sends, read without trust in its form."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from .faults import Malformed
from .faults import StatusInBody
from .usage import Usage


@dataclass(frozen=True, slots=True)
class Completion:
    """One chat completion.

    Attributes:
        text: the message's text; a refusal that the server reports apart is its text.
        finish_reason: as the server says; `refusal` where it reports one apart.
        usage: what the request consumed.
        model: as the server says, "" where it doesn't.
        fingerprint: of the server's software or weights, where it tells.
        endpoint: the server's address, without credentials.
        message: the message as it was sent, for what else it may hold (images).
    """

    text: str
    finish_reason: str | None
    usage: Usage
    model: str
    fingerprint: str | None
    endpoint: str
    message: Mapping[str, Any] = field(repr=False)


def read_json(content: bytes, headers: Mapping[str, str]) -> Any:
    """Decode a body that should be JSON.

    Raises:
        Malformed: it is none.
    """
    try:
        return json.loads(content)
    except ValueError:
        kind = headers.get("content-type", "no content type")
    raise Malformed(f"expected JSON, got {kind}: {content[:300].decode(errors='replace')}")


def read_completion(body: Any, *, endpoint: str, images: int, size: int) -> Completion:
    """Read the body of a chat completion.

    Args:
        body: decoded JSON.
        endpoint: the server's address.
        images: images that were sent.
        size: bytes of the messages that were sent.

    Raises:
        Malformed: the body is no chat completion.
        StatusInBody: it reports an error, as gateways do with status 200.
    """
    if not isinstance(body, Mapping):
        raise Malformed(f"expected a chat completion, got {body!r:.200}")
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    error = body.get("error") or (choice.get("error") if isinstance(choice, Mapping) else None)
    if error:
        raise reported(error)
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(choice, Mapping) or not isinstance(message, Mapping):
        raise Malformed(f"expected a chat completion with choices[0].message, got {dict(body)!r:.200}")
    reason = choice.get("finish_reason")
    text = _text(message.get("content"))
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        text, reason = refusal, "refusal"
    fingerprint = body.get("system_fingerprint")
    return Completion(
        text=text,
        finish_reason=reason if isinstance(reason, str) else None,
        usage=_usage(body.get("usage"), images, size),
        model=str(body.get("model") or ""),
        fingerprint=fingerprint if isinstance(fingerprint, str) and fingerprint else None,
        endpoint=endpoint,
        message=message,
    )


def _text(content: Any) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        raise Malformed(f"expected text as the message's content, got {content!r:.200}")
    parts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return "".join(part for part in parts if isinstance(part, str))


def _usage(told: Any, images: int, size: int) -> Usage:
    counts = [told.get(name) if isinstance(told, Mapping) else None for name in ("prompt_tokens", "completion_tokens")]
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count >= 0]
    if len(known) < 2:
        return Usage(requests=1, images=images, bytes=size, unreported=1)
    return Usage(requests=1, prompt_tokens=known[0], completion_tokens=known[1], images=images, bytes=size)


def reported(error: Any) -> Exception:
    """What an `error` in a body with a good status means: `StatusInBody` where it tells a status, else `Malformed`."""
    code = error.get("code") if isinstance(error, Mapping) else None
    said = error.get("message") if isinstance(error, Mapping) else error
    if isinstance(code, str) and code.isdigit():
        code = int(code)
    message = f"reported in a body with status 200: {said}"
    if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599:
        return StatusInBody(code, message)
    return Malformed(message)
