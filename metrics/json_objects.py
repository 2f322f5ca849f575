"""JSON objects in a text by a model: where they seem to be, and what they hold, mended where that isn't guessing."""

import json
import re
from collections import Counter
from collections.abc import Callable
from collections.abc import Collection
from collections.abc import Iterable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from typing import NamedTuple

# json-repair takes about 1 s for 50,000 characters at its worst, and minutes for deep brackets.
MENDABLE = 50_000
_DEEPEST, _RESCANS = 32, 8
_START = re.compile(r"\{\s*(?:[\"'“”‘’]|[A-Za-z_]\w{0,60}\s*:)")
_MARKS = re.compile(r'\\.|["{}]', re.DOTALL)
_BRACKETS = re.compile(r"[({\[\])}]")
_KEY = re.compile(r"[\"'“”‘’](\w{1,64})[\"'“”‘’]\s*:|[{,]\s*(\w{1,64})\s*:")


@dataclass(frozen=True, slots=True)
class Found:
    """An object in a reply.

    Attributes:
        value: its content; None if it can't be read without guessing.
        text: the object as it stands in the reply.
        strict: whether `text` is valid JSON.
        fault: why `value` is None.
    """

    value: dict[str, Any] | None
    text: str
    strict: bool
    fault: str = ""


class Extent(NamedTuple):
    """Where an object at the top level of a text seems to be."""

    text: str
    closed: bool

    def mentions(self, how: Callable[[Iterable[bool]], bool], keys: Collection[str]) -> bool:
        """Whether any or all keys are written in it; a key spelled with escapes can't be told without parsing."""
        return "\\u" in self.text or how(key in self.text for key in keys)


def extents_of(text: str) -> Iterator[Extent]:
    """All objects at the top level, in order; an open one reaches to the end."""
    position, rescans = 0, 0
    while (start := _START.search(text, position)) is not None:
        end, closed = _close(text, start.start(), quotes=True), True
        if end is None:
            # A quote that is never closed hides all braces after it; without quotes the braces may match all the same.
            rescans, closed = rescans + 1, False
            end = _close(text, start.start(), quotes=False) if rescans <= _RESCANS else None
        yield Extent(text[start.start() : end], closed)
        if end is None:
            return
        position = end


def _close(text: str, start: int, quotes: bool) -> int | None:
    depth, inside = 0, False
    for mark in _MARKS.finditer(text, start):
        sign = mark[0]
        if sign == '"':
            inside = quotes and not inside
        elif sign == "{" and not inside:
            depth += 1
        elif sign == "}" and not inside:
            depth -= 1
            if depth == 0:
                return mark.end()
    return None


def read_extent(extent: Extent, budget: int) -> Found:
    """What an object holds.

    Args:
        extent: where it seems to be.
        budget: characters of text up to which mending is tried.
    """
    text = extent.text
    for strict in (True, False):  # False takes raw line breaks and tabs in strings
        try:
            value = _storable(json.loads(text, strict=strict, object_pairs_hook=_once))
        except json.JSONDecodeError:
            continue
        except (ValueError, RecursionError) as error:
            return Found(None, text, strict, f"not readable: {error}")
        return Found(value, text, strict)
    return _mended(text, budget)


def _mended(text: str, budget: int) -> Found:
    import json_repair

    if len(text) > budget or _depth(text) > _DEEPEST:
        return Found(None, text, False, "not valid JSON, and too long or nested too deeply to be mended")
    try:
        value = _storable(json_repair.loads(text, skip_json_loads=True))
    except Exception as error:  # a parser of anything, by others: whatever it raises means that it can't
        return Found(None, text, False, f"not valid JSON: {type(error).__name__}: {error}"[:200])
    if not isinstance(value, dict):
        return Found(None, text, False, "not a JSON object")
    # Mended text in which a key stands more often than in its value may have been put together from two objects, such
    # as one quoted within a string.
    written = Counter(quoted or bare for quoted, bare in _KEY.findall(text))
    if twice := [key for key, count in Counter(_keys(value)).items() if written[key] > count]:
        return Found(
            None, text, False, f"not valid JSON, with the key {twice[0][:60]!r} more often than can be told apart"
        )
    return Found(value, text, False)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from _keys(part)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:60]!r} stands more than once in one object")
    return made


def _depth(text: str) -> int:
    depth = deepest = 0
    for bracket in _BRACKETS.finditer(text):
        depth = depth + 1 if bracket[0] in "({[" else max(depth - 1, 0)
        deepest = max(deepest, depth)
    return deepest


def _storable(value: Any) -> Any:
    """The value with strings that can be written as UTF-8: JSON's escapes can hold half a surrogate pair."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return [_storable(part) for part in value]
    if isinstance(value, dict):
        return {_storable(key): _storable(part) for key, part in value.items()}
    return value
