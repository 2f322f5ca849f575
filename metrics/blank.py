"""Exact match of blank filling: what does a free text put into the blank?

The content of the last answer tag or box, else what follows the last "answer is:", else the last line; a line that
only explains ("Explanation: …") is no answer. Edge punctuation, case and width don't count. More than 20 words are
no filling.
"""

import re

from .answer_text import Parsed
from .answer_text import container
from .answer_text import fold
from .answer_text import is_blank
from .answer_text import strip_filling
from .answer_text import unwrap

MAX_WORDS = 20

_MARKER = re.compile(
    r"\b(?:final\s|correct\s)?(?:answer|ans|response|filling|blank|missing\s(?:word|term|phrase|part)s?)\b\.?[\"'*_)\]`]{0,4}"
    r"(?:\s?(?:\(\d{1,2}\)|\d{1,2}))?"
    r"(?:(?:\s?[:=]|\s?-+>|\s?→|\s-(?=\s)|\s(?:is|are|was|would\sbe|should\s(?:be|read)|must\sbe)\b(?:\s(?:filled|completed)\s(?:with|by|in\swith)\b)?)"
    r"[\"'*_`]{0,4}){1,4}"
    r"|\b(?:final\s)?answer[\"'*_#:`]{0,6}(?=\n)"
    r"|\bfill(?:ed)?\s(?:in\s)?(?:the\sblank\s)?with\b:?"
    r"|(?:正确|最终)?答案(?:应该|应当|应)?(?:是|为|[:=])+|(?:空格|横线|空白)?处?(?:应该|应当|应)?填(?:入|写|的是|为|:)+",
    re.IGNORECASE,
)
_EXPLANATION = re.compile(
    r"[\s\"'*_#>`(-]{0,6}(?:explanation|rationale|reason(?:ing)?|note|justification|because|this\sis\sbecause|解释|理由|说明)\b",
    re.IGNORECASE,
)


def parse_blank(text: str) -> Parsed:
    """The filling that `text` gives, normalised (`normal_filling`); `empty` or `unparsable` if there is none."""
    if is_blank(text):
        return Parsed("empty", None, "empty")
    body, concluded = unwrap(text)
    held = container(body)
    if held is not None:
        content, how = held
        marked = _marked(content)
        return _filling(marked if marked is not None else " ".join(content.split("\n")), how)
    if not concluded:
        return Parsed("unparsable", None, "reasoning never closed")
    lines = body.split("\n")
    kept = _without_explanation(lines)
    marked = _marked("\n".join(kept))
    if marked is not None:
        return _filling(marked, "statement")
    return _filling(kept[-1] if kept else "", "whole" if len(lines) == 1 else "line")


def normal_filling(text: str) -> str:
    """Lower case, NFKC, white space collapsed, edge punctuation dropped."""
    return strip_filling(fold(text))


def _without_explanation(lines: list[str]) -> list[str]:
    for index, line in enumerate(lines):
        if index and _EXPLANATION.match(line):
            return lines[:index]
    return lines


def _marked(text: str) -> str | None:
    """What follows the last marker, on its line or the next; None without a marker or with nothing behind it."""
    for marker in reversed(list(_MARKER.finditer(text))):
        line, _, rest = text[marker.end() :].partition("\n")
        following = line if strip_filling(line) else rest.partition("\n")[0]
        if strip_filling(following):
            return following
    return None


def _filling(text: str, how: str) -> Parsed:
    filling = normal_filling(text)
    words = len(filling.split())
    if not filling:
        return Parsed("unparsable", None, "nothing but punctuation")
    if words > MAX_WORDS:
        return Parsed("unparsable", None, f"{words} words")
    return Parsed("parsed", filling, how)
