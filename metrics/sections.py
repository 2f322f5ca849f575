"""The sections FINDINGS and IMPRESSION of a report.

A heading is a known name (`FINDINGS`, `Conclusion`, …) in one of the forms that reports and models use:

- at the start of a line, before a colon or a dash: `FINDINGS: …`, `impression: …`, `2. Findings - …`,
  `**Impression:** …`, `- __Findings__: …`;
- a line of its own: `## Findings`, `IMPRESSION`, `**Conclusion**`;
- within a line, before a colon: in capitals anywhere, else where a sentence begins (`… clear. Impression: normal.`).
In lower case a line of its own is one only below a blank line: reports are wrapped, and `study.` ends many a sentence.

A section ends where the next known heading begins, of whatever kind (`TECHNIQUE`, `RECOMMENDATION`, …), or a Markdown
heading of the same or a higher level. Other labels (`Lungs:`, `Note:` in running text) belong to the section that they
stand in; so do list items called like another kind (`2. Follow-up: CT`), unless the section is an item itself. Rules
(`---`) at its ends don't. Sections of one kind are joined; `Findings and impression` is both. Every pass is linear in
the text's length.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from .answer_text import after_thought

SECTIONS = ("findings", "impression")
"""The sections that are scored."""

_FINDINGS = (
    r"(?:(?:imaging|radiographic|radiological|radiologic|sonographic|mri?|ct|key|main|pertinent|principal|detailed|image|"
    r"microscopic|pathological|pathologic|histological|histologic)[ _])?findings?|observations?"
)
_IMPRESSION = (
    r"(?:(?:diagnostic|radiological|radiologic|radiographic|clinical|overall|final|general|summary)[ _])?impressions?|"
    r"(?:(?:final|overall|diagnostic)[ _])?conclusions?|opinion"
)
# Neither, but they end a section.
_OTHERS = (
    r"study|exam|examination|(?:type|name)[ _]of[ _](?:study|exam|examination)|procedure|modality|"
    r"(?:relevant[ _])?clinical[ _](?:history|information|indications?|data|details|context|background|correlation)|"
    r"indications?|(?:patient[ _])?history|reason[ _]for[ _](?:the[ _])?(?:exam|examination|study)|"
    r"(?:imaging[ _])?techniques?|methods?|protocol|contrast|"
    r"comparisons?|limitations?|differential(?:[ _]diagnos[ie]s)?|recommendations?(?:\(s\))?|follow[ _-]?up|plan|"
    r"notifications?|communications?|addendum|disclaimer|notes?|report|patient(?:[ _](?:information|data|details))?"
)
_BOTH = rf"(?:{_FINDINGS}|{_IMPRESSION})[ ]?(?:and|&|/)[ ]?(?:{_FINDINGS}|{_IMPRESSION})"
_NAME = rf"(?:{_BOTH}|{_FINDINGS}|{_IMPRESSION}|{_OTHERS})"
_MARK = r"[*_`]{0,3}"  # bold, italic, code
_BEFORE = (
    r"[ \t]{0,20}(?:>[ ]?)?(?:[-*+•][ \t]{1,3})?(?P<level>\#{0,6})[ \t]{0,4}"
    r"(?:\(?(?:\d{1,2}|[A-Za-z]|[ivxIVX]{1,4})[.)][ \t]{1,4})?"
)
_LINE = re.compile(
    rf"{_BEFORE}(?P<mark>{_MARK})(?:\d{{1,2}}[.)][ ]{{1,3}})?\[?(?P<name>{_NAME})\]?"
    rf"(?P<sign>[ \t]{{0,4}}{_MARK}[ \t]{{0,4}}[:：]{_MARK}|[ \t]{{0,4}}{_MARK}[ \t]{{0,4}}[-–—](?=\s)|"
    rf"{_MARK}[.:：]?{_MARK}[ \t]{{0,20}}\#{{0,6}}[ \t]*$)",
    re.IGNORECASE,
)
# `FINDINGS The heart …`: without a sign only in capitals, and only these two.
_BARE = re.compile(r"[ \t]{0,20}(?P<name>FINDINGS|IMPRESSION|CONCLUSION)(?P<level>)[ \t]{1,4}(?=[A-Z0-9(])")
_WITHIN = re.compile(
    rf"(?P<start>(?<=[.;!?])[ \t]{{1,4}}|[ \t]{{1,4}}(?=[*_]{{0,3}}(?-i:[A-Z]{{4}})))(?P<mark>{_MARK})"
    rf"(?P<name>{_NAME})[ ]?{_MARK}[ ]?[:：]{_MARK}",
    re.IGNORECASE,
)
# Labels of remarks as much as of sections.
_REMARK = re.compile(r"notes?|contrast", re.IGNORECASE)
_RULE = re.compile(r"[-=_*]{3,}")
_MARKDOWN = re.compile(r"[ \t]{0,3}(?P<level>\#{1,6})[ \t]")
_KINDS = {"findings": re.compile(_FINDINGS, re.IGNORECASE), "impression": re.compile(_IMPRESSION, re.IGNORECASE)}
_OF_ONE = re.compile(rf"{_FINDINGS}|{_IMPRESSION}|{_OTHERS}", re.IGNORECASE)
_JOINT = re.compile(r"[ ]?(?:\band\b|&|/)[ ]?", re.IGNORECASE)


class _Heading(NamedTuple):
    start: int
    end: int
    kinds: tuple[str, ...] | None  # () of another known section, None of a Markdown heading that isn't known
    level: int  # of Markdown; 0 without
    is_item: bool = False  # of a list


def sections(text: str) -> dict[str, str]:
    """The text of each of `SECTIONS` that a report has; a reasoning block before the answer is no part of it.

    >>> sections("FINDINGS: Clear lungs.\\nHeart: normal.\\nIMPRESSION: No acute disease.")
    {'findings': 'Clear lungs.\\nHeart: normal.', 'impression': 'No acute disease.'}
    >>> sections("## Conclusion\\nNormal.\\n## Recommendations\\nNone.")
    {'impression': 'Normal.'}
    >>> sections("The findings are normal.")
    {}
    """
    text = after_thought(text)
    found = _headings(text)
    parts: dict[str, list[str]] = {kind: [] for kind in SECTIONS}
    for index, heading in enumerate(found):
        for kind in heading.kinds or ():
            parts[kind].append(_body(text[heading.end : _end(found, index, len(text))]))
    # A heading without a text is no section.
    return {kind: joined for kind, bodies in parts.items() if (joined := "\n".join(filter(None, bodies)))}


def _body(text: str) -> str:
    """A section's text without rules at its ends."""
    lines = text.split("\n")
    kept = [place for place, line in enumerate(lines) if (bare := line.strip()) and not _RULE.fullmatch(bare)]
    return "\n".join(lines[kept[0] : kept[-1] + 1]).strip() if kept else ""


def _end(found: Sequence[_Heading], index: int, length: int) -> int:
    """Where a section ends."""
    own, is_item = found[index].level, found[index].is_item
    for place in range(index + 1, len(found)):
        other = found[place]
        if other.is_item and other.kinds == () and not is_item:
            continue  # "2. Follow-up: CT" of a list that the section holds
        if other.kinds is not None or (own and other.level <= own):
            return other.start
    return length


def _headings(text: str) -> list[_Heading]:
    found = []
    place = 0
    is_below_blank = True
    for line in text.splitlines(keepends=True):
        bare = line.rstrip()
        heading = _LINE.match(bare) or _BARE.match(bare)
        if heading is not None and not is_below_blank and _is_wrapped(bare):
            heading = None
        if heading is not None:
            level = len(heading["level"])
            is_item = not level and bare[: heading.start("name")].strip("> \t*_`[") != ""
            kinds = _kinds(heading["name"])
            found.append(_Heading(place, place + heading.end(), kinds, level, is_item))
        elif (other := _MARKDOWN.match(bare)) is not None:
            found.append(_Heading(place, place + len(line), None, len(other["level"])))
        found += [
            _Heading(place + within.start(), place + within.end(), _kinds(within["name"]), 0)
            for within in _WITHIN.finditer(bare, heading.end() if heading is not None else 0)
            if within["name"].isupper()
            or (bare[within.start() - 1] in ".;!?" and not _REMARK.fullmatch(within["name"]))
        ]
        place += len(line)
        is_below_blank = not bare.strip()
    return found


def _is_wrapped(line: str) -> bool:
    """Whether a heading may as well be a sentence's last words."""
    words = line.strip()
    return words[0].islower() and words.rstrip(".").replace(" ", "").isalpha()


def _kinds(name: str) -> tuple[str, ...]:
    names = [name] if _OF_ONE.fullmatch(name) else _JOINT.split(name)
    return tuple(kind for kind in SECTIONS if any(_KINDS[kind].fullmatch(part) for part in names))
