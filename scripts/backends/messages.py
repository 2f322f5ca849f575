"""A request as OpenAI's chat messages, for servers and for models in this process."""

from collections.abc import Callable
from typing import Any

from . import pictures
from .base import Ask


def messages(ask: Ask, url: Callable[[bytes], str] = pictures.data_url) -> list[dict[str, Any]]:
    """The system's turn, where there is one, and the user's: images before the text.

    Args:
        ask: the request.
        url: an image's data URL.

    Raises:
        CallFailed: an input that can't be sent.
    """
    found: list[dict[str, Any]] = [{"role": "system", "content": ask.system}] if ask.system else []
    if not ask.images:
        return [*found, {"role": "user", "content": ask.prompt}]
    parts: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url(image)}} for image in ask.images]
    return [*found, {"role": "user", "content": [*parts, {"type": "text", "text": ask.prompt}]}]
