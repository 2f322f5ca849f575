"""A stated answer turned into its opposite: another side, a denial, another number.

Each flip gives a text that says something else than the answer whatever the image shows, or None. Where that is in
doubt there is none: probes that a competent judge may get wrong would fail it unjustly.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from .. import wording

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")

# --- another side ---------------------------------------------------------------------------------------------------

_SIDE = re.compile(r"(?<![A-Za-z])(left|right)(?=(?:ward|wards|most|-sided)?(?![A-Za-z]))", re.IGNORECASE)
# "nothing is left", "the right answer": the words without the meaning
_NO_SIDE = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|remains?|nothing|anything|something|\w+ing)\s+left\b(?!\s+(?:of|side))"
    r"|\b(?:any|some|no)thing\s+(?:is|was)\s+left\b"
    r"|\bright\s+(?:angles?|away|answers?|options?|choices?|one|now|then|after|before)\b|\ball\s+right\b",
    re.IGNORECASE,
)
# A statement about one side that may hold of the other as well.
_SYMMETRIC = re.compile(
    r"\b(?:both|bilateral\w*|symmetr\w*|either|normal\w*|clear|intact|unremarkable|unchanged|similar\w*|likewise|same|"
    r"equal\w*)\b",
    re.IGNORECASE,
)


def laterality(text: str) -> str | None:
    """The other side throughout, where only one side is named and nothing is said that may hold of both.

    None too where the other word would say something else: "is right" turned into "is left".

    >>> laterality("The spleen lies on the left.")
    'The spleen lies on the right.'
    """
    sides = {found.group().lower() for found in _SIDE.finditer(text)}
    if len(sides) != 1 or _NO_SIDE.search(text):
        return None
    for sentence in _SENTENCE_END.split(text):
        if _SIDE.search(sentence) and (_SYMMETRIC.search(sentence) or _DENIAL.search(sentence)):
            return None
    flipped = _SIDE.sub(lambda found: _like(found.group(), _OTHER[found.group().lower()]), text)
    return None if _NO_SIDE.search(flipped) else flipped


_OTHER = {"left": "right", "right": "left"}


def _like(model: str, word: str) -> str:
    """`word` in the case of `model`."""
    if model.isupper():
        return word.upper()
    return word.capitalize() if model[0].isupper() else word


# --- a denial -------------------------------------------------------------------------------------------------------

_DENIAL = re.compile(wording.DENIAL, re.IGNORECASE)
# A sentence with these says something else than its words, or twice.
_TANGLED = re.compile(
    r"\b(?:nothing|none|nobody|nowhere|never|neither|nor|hardly|barely|almost|only|unless|except|if|whether|may|might|"
    r"could|possibly|probably|cannot|n't)\b|\?",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"(?<![\w-])(?:is|are|was|were)\s+(no|not)\s+(?!longer\b)|\b(without)\s|\A(No)\s+(?=[a-z])", re.IGNORECASE
)
_STATED = re.compile(r"(?<![\w-])(is|are|was|were)(?![\w'-])", re.IGNORECASE)


def negation(text: str) -> str | None:
    """The first plain sentence denied, or its denial taken back.

    >>> negation("The stroma is negative.")
    'The stroma is not negative.'
    >>> negation("There is no effusion.")
    'There is effusion.'
    """
    bare = text.strip().rstrip(".!").lower()
    if bare in ("yes", "no"):
        return {"yes": "No.", "no": "Yes."}[bare]
    if re.match(r"\s*(?:yes|no)\s*[,.;:]", text, re.IGNORECASE):
        return None  # the lead and the sentence would contradict each other
    start = 0
    for sentence in _SENTENCE_END.split(text):
        start = text.index(sentence, start)
        changed = _negated(sentence)
        if changed is not None:
            return text[:start] + changed + text[start + len(sentence) :]
        start += len(sentence)
    return None


def _negated(sentence: str) -> str | None:
    if _TANGLED.search(sentence):
        return None
    denials = list(_DENIAL.finditer(sentence))
    if len(denials) > 1:
        return None
    if denials:
        absent = _ABSENT.search(sentence)
        if absent is None or not absent.start() <= denials[0].start() < absent.end():
            return None
        which = next(group for group in (1, 2, 3) if absent.group(group))
        begin, end = absent.span(which)
        rest = sentence[end:].lstrip()
        if which == 3:
            return rest[:1].upper() + rest[1:]
        return sentence[:begin] + ("with " if which == 2 else "") + rest
    stated = _STATED.search(sentence)
    if stated is None:
        return None
    return f"{sentence[: stated.end()]} not{sentence[stated.end() :]}"


# --- another number -------------------------------------------------------------------------------------------------

# No part of a name (T1, FHL2), a range, a date, a ratio, and no label of a list, an image or a panel.
_NUMBER = re.compile(r"(?<![\w.,/:#+-])(\d{1,6})(\.\d{1,4})?(?![\w]|[.,/:]\d|\s?[-–/x×]\s?\d)")
_LABEL = re.compile(
    r"(?:\b(?:images?|figures?|panels?|options?|series|slices?|sections?|pages?|no)\.?\s*|(?:\A|\n)\s*)\Z", re.I
)
_WORDS = {"one": "four", "two": "five", "three": "seven", "four": "nine", "five": "two", "six": "two"}
_WORD = re.compile(rf"\A({'|'.join(_WORDS)})\b(?=\s*[.,:;])", re.IGNORECASE)


def number(text: str) -> str | None:
    """Another value for the first number that counts or measures, far from the stated one.

    Three times the number (5 for 0), or of a percentage one that lies 50 points off.

    >>> number("About 20 mm: it is about 23 pixels wide.")
    'About 60 mm: it is about 23 pixels wide.'
    """
    word = _WORD.match(text)  # "Two. The darker one …"
    if word is not None:
        return _like(word.group(), _WORDS[word.group().lower()]) + text[word.end() :]
    for found in _NUMBER.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        if _LABEL.search(before) and not after.lstrip().startswith("%"):
            continue
        places = len(found.group(2) or ".") - 1
        value = float(found.group())
        if after.lstrip().startswith("%") and value <= 100:
            other = value + 50 if value <= 50 else value - 50
        else:
            other = value * 3 if value else 5.0
        return f"{before}{other:.{places}f}{after}"
    return None


class Flip(NamedTuple):
    """A flip and whether an image alone, without the reference answer, shows which text is right."""

    change: Callable[[str], str | None]
    shows: bool


FLIPS = {
    "laterality": Flip(laterality, True),
    "negation": Flip(negation, True),
    # A length in millimetres or a share can't be read off a picture.
    "number": Flip(number, False),
}
