"""The options of a multiple-choice question, and whether a whole answer is one of them."""

import re
from collections.abc import Sequence
from functools import lru_cache
from string import ascii_uppercase
from typing import NamedTuple

from .answer_text import fold
from .answer_text import plain
from .answer_text import strip_edges


class Option(NamedTuple):
    """One option: its letter, upper case, and its body, folded (`answer_text.fold`)."""

    letter: str
    body: str

    @property
    def text(self) -> str:
        """The canonical form, lower-cased: `b. left lung`."""
        return f"{self.letter.lower()}. {self.body}"


_LABELLED = re.compile(r"\s*[(\[]?\s*([A-Za-z])\s*([.)\]:]|-(?=\s))\s*(.*)", re.DOTALL)
_WHOLE = re.compile(r"[(\[]?([a-z])(?:[)\].:,=\- ]+)(.+)", re.DOTALL)


def read_options(choices: Sequence[str]) -> tuple[Option, ...]:
    """Options as letter and body.

    Choices that carry letters (`A. left lung`, `(B) heart`) keep them; choices without get A, B, C … in order. Genus
    abbreviations (`E. coli`) are no letters: with full stops, letters count only if they begin with A and ascend
    without a wide gap.

    Args:
        choices: the options in their order.

    Raises:
        ValueError: more than 26 options, or an empty one.
    """
    return _read_options(tuple(choices))


@lru_cache(maxsize=4096)
def _read_options(choices: tuple[str, ...]) -> tuple[Option, ...]:
    if len(choices) > len(ascii_uppercase):
        raise ValueError(f"expected at most 26 options, got {len(choices)}")
    texts = [plain(choice) for choice in choices]
    for index, text in enumerate(texts):
        if not text.strip():
            raise ValueError(f"option {index + 1} of {len(texts)} is empty; leave it out or give its text")
    matches = [_LABELLED.match(text) for text in texts]
    labels = [match.group(1).upper() if match else "" for match in matches]
    if all(labels) and _is_lettering(labels, {match.group(2) for match in matches if match}):
        return tuple(
            Option(label, strip_tail(fold(match.group(3))))
            for label, match in zip(labels, matches, strict=True)
            if match
        )
    return tuple(Option(letter, strip_tail(fold(text))) for letter, text in zip(ascii_uppercase, texts, strict=False))


def strip_tail(body: str) -> str:
    """A body without a closing full stop."""
    return body.rstrip(" .;,") or body


def _is_lettering(labels: list[str], separators: set[str]) -> bool:
    if len(set(labels)) != len(labels):
        return False
    if "." not in separators:
        return True
    ascending = labels == sorted(labels)
    return ascending and labels[0] == "A" and ord(labels[-1]) - ord("A") < len(labels) + 2


def whole_option(text: str, options: Sequence[Option]) -> Option | None:
    """The option that the *whole* text is: a letter, `letter. body`, or a body; None otherwise.

    Nothing is searched for inside the text; case, brackets and edge punctuation don't matter.
    """
    if len(text) > 2000:
        return None
    answer = strip_edges(fold(text))
    by_body = [option for option in options if answer and answer == strip_edges(option.body)]
    by_letter = [option for option in options if answer == option.letter.lower()]
    if by_body or by_letter:
        found = {option.letter: option for option in by_body + by_letter}
        return next(iter(found.values())) if len(found) == 1 else None
    match = _WHOLE.fullmatch(answer)
    if match is None:
        return None
    body = strip_edges(match.group(2))
    return next(
        (option for option in options if option.letter.lower() == match.group(1) and strip_edges(option.body) == body),
        None,
    )
