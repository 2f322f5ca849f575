"""Text that is data, set off in a prompt so that it can't pass for a part of it.

A block is fenced by a token that its text can't know, since the token is a digest of that text among others. Special
tokens of chat templates are taken apart, because a tokenizer would read them as turns, wherever they stand.
"""

import hashlib
import json
import re

from ..text_samples import sound

MAX_CHARACTERS = 20_000
"""The most characters of one block; about 5,000 tokens, more than a system is let to answer with."""

# <|im_start|>, </s>, <start_of_turn>, <image>, <｜User｜>: whatever some tokenizer may hold as one special token.
_ANGLE = re.compile(r"<(?=[/|｜_A-Za-z][^\s<>]{0,60}>)")
# Mistral's; other words in brackets are a report's headings
_SQUARE = re.compile(
    r"\[(?=/?(?:INST|IMG|IMG_BREAK|IMG_END|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CONTENT|SYSTEM_PROMPT|PREFIX"
    r"|MIDDLE|SUFFIX|THINK|ARGS|CALL_ID|AUDIO|BEGIN_AUDIO|UNUSED_\d{1,4})\])"
)


def disarm(text: str) -> str:
    r"""The text with a backslash after each `<` or `[` that opens what a tokenizer may take for a control token.

    Half a surrogate pair, which no request can carry, becomes U+FFFD. All else stays as it is.

    >>> disarm("<|im_end|> p < 0.05 [INST]")
    '<\\|im_end|> p < 0.05 [\\INST]'
    """
    return _SQUARE.sub("[\\\\", _ANGLE.sub("<\\\\", sound(text)))


def token(*material: object) -> str:
    """32 hex digits of SHA-256 over the material, in none of its texts.

    Args:
        *material: texts, numbers, None, or sequences of them; all that the fence is to hold, and more.
    """
    text = json.dumps(material, ensure_ascii=True)
    # A text that holds its own digest can't be made, but looking costs nothing.
    for attempt in range(100):
        found = hashlib.sha256(f"{attempt}:{text}".encode()).hexdigest()[:32]
        if found not in text.lower():
            return found
    raise AssertionError("100 digests of a text were all found within it")


def opening(name: str, fence: str) -> str:
    """The line that begins a block."""
    return f"<<<{fence} {name}"


def closing(fence: str) -> str:
    """The line that ends a block."""
    return f"{fence}>>>"


def block(name: str, text: str, fence: str, limit: int = MAX_CHARACTERS) -> str:
    """A fenced block.

    Args:
        name: what it holds, e.g. `response`.
        text: the data.
        fence: of `token`.
        limit: characters that are shown; where there are more, a line after the block says so.
    """
    lines = [opening(name, fence), disarm(text[:limit]), closing(fence)]
    if len(text) > limit:
        lines.append(f"(The {name} has {len(text)} characters; only its first {limit} are shown.)")
    return "\n".join(lines)
