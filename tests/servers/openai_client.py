"""The loopback model server asked for a verdict, through the real `openai` client."""

import base64
import functools
import json
from typing import Any

import openai
from PIL import Image

from ..builders import encoded
from .openai_server import OpenAIServer

SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["items", "score", "notes"],
    "properties": {
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["gone", "kept"],
            "properties": {"gone": {"$ref": "#/$defs/Seen"}, "kept": {"$ref": "#/$defs/Seen"}},
        },
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "notes": {"type": "string"},
    },
    "$defs": {"Seen": {"type": "string", "enum": ["yes", "no", "unsure"]}},
}

FORMAT = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}


def png(size: tuple[int, int] = (20, 10), colour: int = 40) -> bytes:
    return encoded(Image.new("RGB", size, (colour, 0, 200)))


def messages(text: str = "Judge it.", data: bytes | None = None, media_type: str = "image/png") -> list[Any]:
    url = f"data:{media_type};base64,{base64.b64encode(png() if data is None else data).decode()}"
    parts = [{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]
    return [{"role": "system", "content": "You are a judge."}, {"role": "user", "content": parts}]


@functools.cache
def _client(url: str, key: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key=key, max_retries=0)


def client(server: OpenAIServer, key: str = "any") -> openai.OpenAI:
    return _client(server.url, key)


def ask(server: OpenAIServer, key: str = "any", **given: Any) -> Any:
    return client(server, key).chat.completions.create(
        **{"model": "m", "messages": messages(), "response_format": FORMAT, **given}
    )


def valid(text: str) -> bool:
    found = json.loads(text)
    return (
        list(found) == ["items", "score", "notes"]
        and set(found["items"].values()) <= {"yes", "no", "unsure"}
        and found["score"] in range(1, 6)
        and isinstance(found["notes"], str)
    )
