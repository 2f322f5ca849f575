"""What can go wrong with a model server: faults of the transport, of the status, and of the reply's text."""

import json
import random
import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from . import filling

TRANSPORT = ("drop", "half", "content_type", "error_200", "slow")
STATUS = ("429", "500", "503")
# Replies that a reader can mend, and those that it must ask for again.
MENDABLE = ("prose", "commas", "quotes", "two", "strings")
UNUSABLE = ("refusal", "refusal_field", "content_filter", "truncated", "out_of_range", "missing", "empty")
# A picture's: an image that is none, and the input given back.
PICTURES = ("not_an_image", "unchanged")
# Not among the random ones: no later request succeeds after a 401, and two verdicts that differ are no accident.
DELIBERATE = ("echo_key", "two_different")
KINDS = (*TRANSPORT, *STATUS, *MENDABLE, *UNUSABLE, *PICTURES, *DELIBERATE)
RANDOM = (*TRANSPORT, *STATUS, *MENDABLE, *UNUSABLE)
"""Kinds that befall any server now and then; `chance` draws from these by default."""

Plan = Callable[[str, int], "str | None"]
"""From a request's digest and the number of earlier requests with that digest to a kind, or None for good conduct."""


def checked(kind: str | None) -> str | None:
    """The kind itself; a ValueError for an unknown one."""
    if kind is not None and kind not in KINDS:
        raise ValueError(f"unknown misbehaviour {kind!r}; known: {', '.join(KINDS)}")
    return kind


def script(kinds: Iterable[str | None]) -> Plan:
    """One kind a request in the order of arrival, then good conduct."""
    left = iter([checked(kind) for kind in kinds])
    return lambda digest, before: next(left, None)


def chance(share: float, kinds: Sequence[str] = RANDOM, seed: int = 0) -> Plan:
    """A share of requests fails, drawn from the request and how often it came: the order of arrival plays no part."""
    for kind in kinds:
        checked(kind)

    def plan(digest: str, before: int) -> str | None:
        draw = random.Random(f"{seed}:{digest}:{before}")
        return draw.choice(kinds) if draw.random() < share else None

    return plan


class Content(NamedTuple):
    """A reply's message: its text, why it ended, and OpenAI's own field for refusals."""

    text: str | None
    finish_reason: str = "stop"
    refusal: str | None = None


_SORRY = "I'm sorry, but I can't help with assessing medical images."


def spoil(kind: str | None, text: str, other: str) -> Content:
    """The reply as this kind leaves it.

    Args:
        kind: one of KINDS; those that are not about text leave it as it is.
        text: the good reply.
        other: another good reply to the same request.
    """
    if kind == "refusal":
        return Content(_SORRY)
    if kind == "refusal_field":
        return Content(None, refusal=_SORRY)
    if kind == "content_filter":
        return Content("", finish_reason="content_filter")
    if kind == "empty":
        return Content("")
    if kind == "truncated":
        return Content(text[: len(text) * 3 // 5], finish_reason="length")
    if kind == "prose":
        return Content(
            f"Sure, here is my assessment:\n\n```json\n{text}\n```\n\nLet me know if {{anything}} is unclear."
        )
    if kind == "two":
        return Content(f"{text}\n{text}")
    if kind == "two_different":
        return Content(f"{text}\n{other}")
    return Content(_changed(kind, text))


def _changed(kind: str | None, text: str) -> str:
    if kind not in ("commas", "quotes", "strings", "out_of_range", "missing"):
        return text
    try:
        value: Any = json.loads(text)
    except ValueError:
        return text
    if kind == "commas":
        # indented JSON breaks lines between values only, never inside a string
        return re.sub(r"(?<![\[{,])(\n\s*[\]}])", r",\1", json.dumps(value, indent=1))
    if kind == "quotes":
        return repr(value)
    if kind == "missing":
        return json.dumps(_without_numbers(value))
    return json.dumps(filling.numbers(value, str if kind == "strings" else lambda number: number + 97))


def _without_numbers(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {
        name: _without_numbers(part)
        for name, part in value.items()
        if not isinstance(part, int | float) or isinstance(part, bool)
    }
