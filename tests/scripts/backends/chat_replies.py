"""Replies of a chat server with an image in them."""

import base64
from collections.abc import Callable
from typing import Any

from ...servers.openai_replies import Message
from ...servers.openai_requests import ChatRequest
from .asking import picture

MADE = picture((64, 48), colour=(1, 2, 3))
URL = f"data:image/png;base64,{base64.b64encode(MADE).decode()}"


def saying(**message: Any) -> Callable[[ChatRequest], Message]:
    """A server's replies: this message, whatever is asked."""
    return lambda asked: Message(message)
