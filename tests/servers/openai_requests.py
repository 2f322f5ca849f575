"""Requests to an OpenAI-compatible server, read and checked as strictly as the real ones do."""

import base64
import binascii
import functools
import hashlib
import json
import re
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

_DATA_URL = re.compile(r"data:(image/[\w.+-]+);base64,")
_ROLES = ("system", "developer", "user", "assistant", "tool")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_KEYWORDS = frozenset(
    ("type", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf", "oneOf", "allOf")
    + ("$ref", "$defs", "definitions", "description", "title", "default", "pattern", "format", "multipleOf")
    + ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
    + ("minItems", "maxItems", "minLength", "maxLength")
)
MODES = ("json_schema", "json_object", "text")


class BadRequest(ValueError):
    """A request that is answered 400; its text is the error's message."""


@dataclass(frozen=True)
class Picture:
    """An image as it was received and decoded."""

    digest: str
    media_type: str
    bytes: int
    width: int
    height: int
    mode: str
    data: bytes | None = None


@dataclass(frozen=True)
class ChatRequest:
    """A checked chat request.

    Attributes:
        body: the request as sent.
        digest: of the messages.
        opening: digest of the messages before the first reply among them; a repair request shares it with the first.
        text: all text of the messages, in order.
        images: in order.
        mode: "json_schema", "json_object" or "text".
        schema: the JSON schema, in the first of these modes.
        earlier: number of earlier requests with the same digest.
    """

    body: Mapping[str, Any]
    digest: str
    opening: str
    text: str
    images: tuple[Picture, ...]
    mode: str
    schema: Mapping[str, Any] | None
    earlier: int = 0

    @property
    def limit(self) -> int | None:
        """The most tokens that the reply may have."""
        return self.body.get("max_completion_tokens", self.body.get("max_tokens"))

    @property
    def key(self) -> str:
        """What a reply is drawn from: the opening, and the seed where there is a temperature."""
        if not self.body.get("temperature"):
            return self.opening
        return digest([self.opening, self.body["temperature"], self.body.get("seed")])


def digest(value: Any) -> str:
    """16 hex digits of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def read_chat(raw: bytes, modes: Sequence[str] = MODES) -> ChatRequest:
    """Read a request.

    Raises:
        BadRequest: no JSON, no model, malformed messages, an image that can't be decoded, a malformed JSON schema, a
            response format that is not among `modes`, a stream.
    """
    body = read_json(raw)
    if body.get("stream"):
        raise BadRequest("'stream': this server answers in one piece; leave it off")
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise BadRequest("'messages': expected a list of at least one message")
    texts: list[str] = []
    images: list[Picture] = []
    for place, message in enumerate(messages):
        _read_message(f"messages[{place}]", message, texts, images)
    for name, low, high in (("temperature", 0, 2), ("top_p", 0, 1), ("n", 1, 128)):
        value = body.get(name)
        if value is not None and (not isinstance(value, int | float) or not low <= value <= high):
            raise BadRequest(f"'{name}': expected a number from {low} to {high}; got {value!r}")
    for name in ("max_tokens", "max_completion_tokens"):
        if (value := body.get(name)) is not None and (not isinstance(value, int) or value < 1):
            raise BadRequest(f"'{name}': expected a whole number of 1 or more; got {value!r}")
    if not isinstance(body.get("seed"), int | None):
        raise BadRequest(f"'seed': expected a whole number; got {body['seed']!r}")
    text = "\n".join(texts)
    mode, schema = _format(body.get("response_format"), text, modes)
    replies = [place for place, message in enumerate(messages) if message["role"] == "assistant"]
    whole = digest(messages)
    opening = digest(messages[: replies[0]]) if replies else whole
    return ChatRequest(body, whole, opening, text, tuple(images), mode, schema)


def read_json(raw: bytes) -> dict[str, Any]:
    """The body of a request as an object with a model.

    Raises:
        BadRequest: otherwise.
    """
    try:
        body = json.loads(raw)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequest("the body is not a JSON object")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise BadRequest("you must provide a model parameter")
    return body


def _read_message(where: str, message: Any, texts: list[str], images: list[Picture]) -> None:
    if not isinstance(message, dict) or message.get("role") not in _ROLES:
        raise BadRequest(f"{where}: expected an object with a role among {', '.join(_ROLES)}")
    content = message.get("content")
    if isinstance(content, str):
        texts.append(content)
        return
    if not isinstance(content, list) or not content:
        raise BadRequest(f"{where}.content: expected text or a list of parts")
    for place, part in enumerate(content):
        at = f"{where}.content[{place}]"
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif kind == "image_url" and message["role"] == "user":
            url = part.get("image_url")
            url = url.get("url") if isinstance(url, dict) else None
            if not isinstance(url, str):
                raise BadRequest(f"{at}.image_url: expected an object with a url")
            images.append(_data_url(f"{at}.image_url.url", url))
        else:
            raise BadRequest(f"{at}: expected a text part, or in a user's message an image_url part; got {kind!r}")


def _data_url(where: str, url: str) -> Picture:
    found = _DATA_URL.match(url)
    if found is None:
        raise BadRequest(f"{where}: expected a base64 data URL of an image; got {url[:40]!r}")
    try:
        data = base64.b64decode(url[found.end() :], validate=True)
    except binascii.Error as error:
        raise BadRequest(f"{where}: bad base64: {error}") from error
    return read_picture(where, data, found[1])


def read_picture(where: str, data: bytes, media_type: str | None = None) -> Picture:
    """Decode an image whole.

    Raises:
        BadRequest: it can't be decoded, or is of another media type than declared.
    """
    try:
        actual, width, height, mode = _decode(data)
    except Exception as error:
        raise BadRequest(f"{where}: not an image that can be decoded: {error}") from error
    if media_type not in (None, "application/octet-stream", actual):
        raise BadRequest(f"{where}: declared {media_type}, but is {actual}")
    return Picture(hashlib.sha256(data).hexdigest()[:16], actual, len(data), width, height, mode, data)


@functools.lru_cache(maxsize=64)
def _decode(data: bytes) -> tuple[str, int, int, str]:
    from PIL import Image

    with Image.open(BytesIO(data)) as image:
        image.load()
        return Image.MIME[image.format or ""], image.width, image.height, image.mode


def _format(asked: Any, text: str, modes: Sequence[str]) -> tuple[str, Mapping[str, Any] | None]:
    if asked is None:
        return "text", None
    mode = asked.get("type") if isinstance(asked, dict) else None
    if mode not in MODES:
        raise BadRequest(f"'response_format.type': expected one of {', '.join(MODES)}; got {mode!r}")
    if mode not in modes:
        raise BadRequest(f"'response_format' of type {mode!r} is not supported with this model")
    if mode == "json_object" and "json" not in text.lower():
        raise BadRequest("'messages' must contain the word 'json' to use 'response_format' of type 'json_object'")
    if mode != "json_schema":
        return mode, None
    given = asked.get("json_schema")
    if not isinstance(given, dict) or not isinstance(given.get("schema"), dict):
        raise BadRequest("'response_format.json_schema': expected an object with a name and a schema")
    if not isinstance(given.get("name"), str) or not _NAME.fullmatch(given["name"]):
        raise BadRequest(f"'response_format.json_schema.name': expected {_NAME.pattern}; got {given.get('name')!r}")
    _check_schema(given["schema"], "schema", strict=bool(given.get("strict")))
    return mode, given["schema"]


def _check_schema(schema: Any, where: str, *, strict: bool) -> None:
    """As OpenAI checks a strict schema: objects are closed, all of their properties required, no unknown keyword."""
    if not isinstance(schema, dict):
        raise BadRequest(f"invalid schema: {where}: expected an object; got {schema!r}")
    if strict and (unknown := sorted(schema.keys() - _KEYWORDS)):
        raise BadRequest(f"invalid schema: {where}: {unknown[0]!r} is not permitted")
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        if strict and schema.get("additionalProperties") is not False:
            raise BadRequest(f"invalid schema: {where}: 'additionalProperties' must be supplied and be false")
        if strict and set(schema.get("required", ())) != set(properties):
            raise BadRequest(f"invalid schema: {where}: 'required' must list every key of 'properties'")
        for name, part in properties.items():
            _check_schema(part, f"{where}.{name}", strict=strict)
    for name in ("$defs", "definitions"):
        for key, part in schema.get(name, {}).items():
            _check_schema(part, f"{where}.{name}.{key}", strict=strict)
    for several in ("anyOf", "oneOf", "allOf"):
        for place, part in enumerate(schema.get(several, ())):
            _check_schema(part, f"{where}.{several}[{place}]", strict=strict)
    if "items" in schema:
        _check_schema(schema["items"], f"{where}.items", strict=strict)
