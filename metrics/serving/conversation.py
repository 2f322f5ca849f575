"""OpenAI's chat messages as the chat templates of transformers want them."""

import base64
import binascii
import io
import re
from collections.abc import Mapping
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING
from typing import Any

if TYPE_CHECKING:
    from PIL.Image import Image

Messages = Sequence[Mapping[str, Any]]


@lru_cache(maxsize=32)
def picture(url: str) -> "Image":
    """The image of a data URL as RGB; decoded once however many requests and turns hold it.

    Raises:
        ValueError: no data URL, or no image in it.
    """
    from PIL import Image

    head, comma, data = url.partition(",")
    if not comma or not re.fullmatch(r"data:image/[\w.+-]+;base64", head):
        raise ValueError(f"image: expected a data URL (data:image/png;base64,…), got {url[:40]!r}")
    try:
        with Image.open(io.BytesIO(base64.b64decode(data, validate=True))) as image:
            return image.convert("RGB")
    except (binascii.Error, OSError) as error:
        raise ValueError(f"image: expected an image in the data URL, got {error}") from error


def conversation(messages: Messages) -> list[dict[str, Any]]:
    """OpenAI's messages as chat templates of transformers want them.

    Raises:
        ValueError: a part that is neither text nor an image.
    """
    return [{"role": message["role"], "content": _parts(message["content"])} for message in messages]


def _parts(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found = []
    for part in content:
        if part.get("type") == "text":
            found.append({"type": "text", "text": part["text"]})
        elif part.get("type") == "image_url":
            found.append({"type": "image", "image": picture(part["image_url"]["url"])})
        else:
            raise ValueError(f"message: expected parts text and image_url, got {part.get('type')!r}")
    return found


def without_control(chat: list[dict[str, Any]], control: Sequence[str]) -> list[dict[str, Any]]:
    """A chat whose texts hold no control token: a space after the first character makes it mere text."""
    if not control:
        return chat
    pattern = re.compile("|".join(re.escape(token) for token in sorted(control, key=len, reverse=True)))

    def plain(part: dict[str, Any]) -> dict[str, Any]:
        if part["type"] != "text":
            return part
        return {**part, "text": pattern.sub(lambda found: f"{found[0][0]} {found[0][1:]}", part["text"])}

    return [{**message, "content": [plain(part) for part in message["content"]]} for message in chat]
