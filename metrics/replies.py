"""Reading a JSON object out of a model's reply: a judge's verdict, a system's answer with its image prompt.

Strict JSON first. Then what models write instead: fences and prose around the object, raw line breaks in strings, and,
through `json-repair`, trailing commas, single quotes, bare keys, missing commas. Where mending would be guessing, the
reply is unusable, and the message says what was wrong in words that can be sent back to the model:

- objects are looked for at the top level only: what stands inside a string or another object is no answer;
- the *last* object with one of the expected keys is the answer, valid or not; one before it that is valid too and says
  something else makes the reply ambiguous; an object that also stands in a quoted text is no answer at all;
- an object that isn't closed is cut off. It is taken only where the server says that the model ended by itself
  (`finish_reason` "stop") and all that was asked for is there, so that nothing but closing marks is missing.
"""

import re
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterator
from collections.abc import Sequence
from typing import Any
from typing import TypeVar

from .failures import is_refusal
from .json_objects import MENDABLE
from .json_objects import Extent
from .json_objects import Found
from .json_objects import extents_of
from .json_objects import read_extent

T = TypeVar("T")
KINDS = ("refusal", "empty", "truncated", "no_json", "invalid")

_LONGEST = 200_000  # characters
_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?(</think(?:ing)?>|\Z)", re.DOTALL)


class Unusable(ValueError):
    """A reply from which nothing can be read.

    Attributes:
        kind: one of `KINDS`. `refusal`: the model declines, or its output was filtered; `empty`: nothing but white
            space; `truncated`: it breaks off; `no_json`: no object in it; `invalid`: one that isn't what was asked.
    """

    def __init__(self, kind: str, message: str) -> None:
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}; expected one of {', '.join(KINDS)}")
        super().__init__(message)
        self.kind = kind


def read_object(
    text: str | None,
    keys: Collection[str],
    validate: Callable[[Found], T],
    *,
    finish_reason: str | None = None,
    quoted: str | None = None,
    essence: Callable[[T], object] = lambda value: value,
) -> T:
    """The answer in a reply, by the rules above.

    Args:
        text: the reply; None as servers give for no content.
        keys: keys of the object that is looked for. One with any of them is a candidate, one without all is invalid.
        validate: makes the result of a candidate whose `value` is not None; raises ValueError, with a message for the
            model, if it isn't what was asked.
        finish_reason: as the server says: `stop`, `length`, `content_filter`, …
        quoted: a text that was shown to the model and is not to be taken for its answer.
        essence: what has to differ for two results to be two answers.

    Raises:
        Unusable: nothing can be read; never anything else.
    """
    reply = text or ""
    thought = _THOUGHT.match(reply)
    if thought is not None:
        if not thought[1]:
            raise Unusable("truncated", "the reply breaks off before the answer begins")
        reply = reply[thought.end() :]
    if not reply.strip():
        if finish_reason == "content_filter":
            raise Unusable("refusal", "the reply was withheld by a content filter")
        if finish_reason == "length":
            raise Unusable("truncated", "the reply breaks off before the answer begins")
        raise Unusable("empty", "the reply is empty; expected one JSON object")
    if len(reply) > _LONGEST:
        raise Unusable("invalid", f"expected one JSON object; got {len(reply)} characters, more than {_LONGEST}")
    extents = list(extents_of(reply))
    found = _last(extents, keys)
    if found is None:
        raise _nothing(reply, extents, keys, finish_reason)
    answer, is_open = _valid(found, validate), not extents[-1].closed
    if isinstance(answer, Unusable):
        raise Unusable("truncated", f"the JSON object breaks off; {answer}") if is_open else answer
    if is_open and finish_reason != "stop":
        raise Unusable("truncated", "the JSON object breaks off before it is closed")
    if any(essence(other) != essence(answer) for other in _complete(extents, keys, validate)):
        raise Unusable("invalid", "the reply holds more than one complete answer, and they differ; expected one object")
    if quoted and _is_copy(found, answer, quoted, keys, validate):
        raise Unusable("invalid", "the answer is copied from a text that was to be treated as data; expected your own")
    return answer


def _last(extents: Sequence[Extent], keys: Collection[str]) -> Found | None:
    """The last object with any of the keys, or, where it can't be read, with any of them written in it."""
    for extent in reversed(extents):
        if extent.mentions(any, keys):
            found = read_extent(extent, MENDABLE)
            if found.value is None or not found.value.keys().isdisjoint(keys):
                return found
    return None


def _complete(extents: Sequence[Extent], keys: Collection[str], validate: Callable[[Found], T]) -> Iterator[T]:
    """The results of all objects that are valid."""
    budget = MENDABLE
    for extent in extents:
        if extent.mentions(all, keys):
            found = read_extent(extent, budget)
            budget -= 0 if found.strict else len(extent.text)
            result = _valid(found, validate)
            if not isinstance(result, Unusable):
                yield result


def _is_copy(found: Found, answer: T, quoted: str, keys: Collection[str], validate: Callable[[Found], T]) -> bool:
    if "".join(found.text.split()) in "".join(quoted.split()):
        return True
    return any(copy == answer for copy in _complete(list(extents_of(quoted)), keys, validate))


def read_fields(text: str | None, required: Collection[str], *, finish_reason: str | None = None) -> dict[str, Any]:
    """The object in a reply that has all `required` keys, whatever their values.

    >>> read_fields('Sure:\\n```json\\n{"output_text": "A nodule.",}\\n```', ["output_text"])
    {'output_text': 'A nodule.'}

    Raises:
        Unusable: as `read_object`.
    """

    def validate(found: Found) -> dict[str, Any]:
        value = found.value or {}
        if missing := [key for key in required if key not in value]:
            raise ValueError(f"missing: {', '.join(missing)}; got the keys {_shown(value)}")
        return value

    return read_object(text, required, validate, finish_reason=finish_reason)


def _nothing(reply: str, extents: Sequence[Extent], keys: Collection[str], finish_reason: str | None) -> Unusable:
    if not extents and (finish_reason == "content_filter" or is_refusal(reply.lstrip())):
        return Unusable("refusal", f"the reply declines: {reply.strip()[:120]!r}")
    if finish_reason == "length" or (extents and not extents[-1].closed):
        return Unusable("truncated", "the reply breaks off before the JSON object is complete")
    if not extents:
        return Unusable("no_json", f"no JSON object in the reply; it begins {reply.strip()[:80]!r}")
    last = read_extent(extents[-1], MENDABLE)
    got = last.fault if last.value is None else f"the keys {_shown(last.value)}"
    return Unusable("invalid", f"expected a JSON object with the keys {', '.join(keys)}; got {got}")


def _shown(value: dict[str, Any]) -> str:
    return f"{list(value)[:12]!r:.200}"


def _valid(found: Found, validate: Callable[[Found], T]) -> T | Unusable:
    if found.value is None:
        return Unusable("invalid", found.fault)
    try:
        return validate(found)
    except ValueError as error:
        return Unusable("invalid", str(error))
