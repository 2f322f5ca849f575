"""The sections FINDINGS and IMPRESSION of a report.

A heading is a known name (`FINDINGS`, `Conclusion`, …) in one of the forms that reports and models use:

- at the start of a line, before a colon or a dash: `FINDINGS: …`, `impression: …`, `2. Findings - …`,
  `**Impression:** …`, `- __Findings__: …`;
- a line of its own: `## Findings`, `IMPRESSION`, `**Conclusion**`;
- within a line, before a colon: in capitals anywhere, else where a sentence begins (`… clear. Impression: normal.`).
In lower case a line of its own is one only below a blank line: reports are wrapped, and `study.` ends many a sentence.
Simple HTML (`<h2>`, `<b>`, `<br>`, `<p>`, `<li>`) is read as the Markdown that it stands for; of an answer that is one
JSON object, fenced or not, each key is a heading.

`DIAGNOSIS`, `SUMMARY` and `ASSESSMENT` name the impression of a report without a heading IMPRESSION, CONCLUSION or
OPINION, and mean nothing elsewhere: not beside one of these, nor in a text without FINDINGS or a report's head
(`TECHNIQUE`, `INDICATION`, …), nor within a line unless a sentence begins (`BI-RADS ASSESSMENT: 2`).

A section ends where the next known heading begins, of whatever kind (`TECHNIQUE`, `RECOMMENDATION`, …), or a Markdown
heading of the same or a higher level. Other labels (`Lungs:`, `Note:` in running text) belong to the section that they
stand in; so do list items called like another kind (`2. Follow-up: CT`), unless the section is an item itself. Rules
(`---`) at its ends don't. Sections of one kind are joined; `Findings and impression` is both. Every pass is linear in
the text's length.
"""

import json
import re
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from typing import NamedTuple

from .answer_text import after_thought
from .sources.answers import flatten

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
# The impression, unless another heading is.
_STAND_INS = (
    r"(?:(?:final|overall|primary|principal|main|likely|most[ _]likely|probable|imaging|radiological|radiologic|"
    r"radiographic|pathological|pathologic|histological|histologic|histopathological|histopathologic)[ _])?"
    r"(?:diagnos[ie]s|assessment)|"
    r"(?:(?:final|overall|brief|report)[ _])?summary"
)
# Neither, but they end a section: what stands at a report's head, and the rest.
_HEAD = (
    r"study|exam|examination|(?:type|name)[ _]of[ _](?:study|exam|examination)|procedure|modality|"
    r"(?:relevant[ _])?clinical[ _](?:history|information|indications?|data|details|context|background|correlation|"
    r"diagnos[ie]s|assessment|summary)|"
    r"(?:provisional|referring|referral|admission|admitting|pre-?operative)[ _]diagnos[ie]s|"
    r"indications?|(?:patient[ _])?history|reason[ _]for[ _](?:the[ _])?(?:exam|examination|study)|"
    r"(?:imaging[ _])?techniques?|methods?|protocol|comparisons?"
)
_REST = (
    r"contrast|limitations?|differential(?:[ _]diagnos[ie]s)?|recommendations?(?:\(s\))?|follow[ _-]?up|plan|"
    r"notifications?|communications?|addendum|disclaimer|notes?|report|patient(?:[ _](?:information|data|details))?"
)
_OTHERS = rf"{_HEAD}|{_REST}"
_SCORED = rf"{_FINDINGS}|{_IMPRESSION}|{_STAND_INS}"
_BOTH = rf"(?:{_SCORED})[ ]?(?:and|&|/)[ ]?(?:{_SCORED}|plan|recommendations?)"
_NAME = rf"(?:{_BOTH}|{_SCORED}|{_OTHERS})"
_MARK = r"[*_`]{0,5}"  # bold, italic, code
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
# `FINDINGS The heart …`, `**FINDINGS** The heart …`: without a sign only in capitals, and only these.
_BARE = re.compile(
    rf"[ \t]{{0,20}}(?P<level>){_MARK}(?P<name>FINDINGS|IMPRESSION|CONCLUSION){_MARK}[ \t]{{1,4}}(?=[A-Z0-9(])"
)
_WITHIN = re.compile(
    rf"(?P<start>(?<=[.;!?])[ \t]{{1,4}}|[ \t]{{1,4}}(?=[*_]{{0,3}}(?-i:[A-Z]{{4}})))(?P<mark>{_MARK})"
    rf"(?P<name>{_NAME})[ ]?{_MARK}[ ]?[:：]{_MARK}",
    re.IGNORECASE,
)
# Labels of remarks as much as of sections.
_REMARK = re.compile(r"notes?|contrast", re.IGNORECASE)
_RULE = re.compile(r"[-=_*]{3,}")
_MARKDOWN = re.compile(r"[ \t]{0,3}(?P<level>\#{1,6})[ \t]")
_STAND_IN, _OF_HEAD = "stand-in", "head"
_KINDS = {
    kind: re.compile(names, re.IGNORECASE)
    for kind, names in (
        ("findings", _FINDINGS),
        ("impression", _IMPRESSION),
        (_STAND_IN, _STAND_INS),
        (_OF_HEAD, _HEAD),
    )
}
_OF_ONE = re.compile(rf"{_SCORED}|{_OTHERS}", re.IGNORECASE)
_JOINT = re.compile(r"[ ]?(?:\band\b|&|/)[ ]?", re.IGNORECASE)
_TAG = re.compile(r"<(?P<name>/?(?:h[1-6]|p|div|li|ul|ol|br|b|strong|i|em|u))(?:\s[^<>]{0,200})?\s?/?>", re.IGNORECASE)
_TAGS = {
    **{f"h{level}": f"\n{'#' * level} " for level in range(1, 7)},
    **dict.fromkeys(("b", "/b", "strong", "/strong"), "**"),
    **dict.fromkeys(("i", "/i", "em", "/em"), "*"),
    **dict.fromkeys(("u", "/u"), ""),
    "li": "\n- ",
}


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
    >>> sections("FINDINGS: A nodule.\\nDIAGNOSIS: Granuloma.")
    {'findings': 'A nodule.', 'impression': 'Granuloma.'}
    >>> sections("The findings are normal.")
    {}
    """
    text = _plain(after_thought(text))
    found = _settled(_headings(text))
    parts: dict[str, list[str]] = {kind: [] for kind in SECTIONS}
    for index, heading in enumerate(found):
        for kind in heading.kinds or ():
            parts[kind].append(_body(text[heading.end : _end(found, index, len(text))]))
    # A heading without a text is no section.
    return {kind: joined for kind, bodies in parts.items() if (joined := "\n".join(filter(None, bodies)))}


def _plain(text: str) -> str:
    """A JSON object and HTML as Markdown, any other text as it is."""
    body = text.strip()
    if body.startswith("```"):
        body = body.partition("\n")[2].rstrip("` \n")
    if body.startswith("{"):
        # What is no JSON, or too deep, has lines that are read like any others.
        with suppress(ValueError, RecursionError):
            text = "\n".join(_markdown(json.loads(body, strict=False)))
    return _TAG.sub(lambda tag: _TAGS.get(tag["name"].lower(), "\n"), text)


def _markdown(record: Mapping[str, Any]) -> list[str]:
    """A heading for each key, so that one that isn't known ends a section, too."""
    lines = []
    for key, value in record.items():
        lines.append(f"# {' '.join(key.split())}")
        if isinstance(value, Mapping) and not {*_kinds(key.strip())} & {*SECTIONS, _STAND_IN}:
            lines += _markdown(value)  # {"report": {"findings": …}}
        else:
            values = value if isinstance(value, list) else [value]
            lines += [flatten(one) if isinstance(one, Mapping) else str(one) for one in values if one is not None]
    return lines


def _settled(found: Sequence[_Heading]) -> list[_Heading]:
    """Without items of a list that a section holds, and with stand-ins as what they are here."""
    known = {kind for heading in found for kind in heading.kinds or ()}
    is_stand_in = "impression" not in known and not known.isdisjoint({"findings", _OF_HEAD})
    settled: list[_Heading] = []
    is_in_section = False
    for heading in found:
        kinds = heading.kinds
        if kinds is not None and heading.is_item and is_in_section and not set(kinds) & set(SECTIONS):
            continue  # "2. Follow-up: CT"
        if kinds == (_STAND_IN,) and not is_stand_in:
            if not heading.level:
                continue
            kinds = None
        elif kinds is not None:
            named = {"impression" if kind == _STAND_IN and is_stand_in else kind for kind in kinds}
            kinds = tuple(kind for kind in SECTIONS if kind in named)
        if kinds is not None:
            is_in_section = not heading.is_item
        settled.append(heading._replace(kinds=kinds))
    return settled


def _body(text: str) -> str:
    """A section's text without rules at its ends."""
    lines = text.split("\n")
    kept = [place for place, line in enumerate(lines) if (bare := line.strip()) and not _RULE.fullmatch(bare)]
    return "\n".join(lines[kept[0] : kept[-1] + 1]).strip() if kept else ""


def _end(found: Sequence[_Heading], index: int, length: int) -> int:
    """Where a section ends."""
    own = found[index].level
    for place in range(index + 1, len(found)):
        other = found[place]
        if other.kinds is not None or (own and other.level <= own):
            return other.start
    return length


def _headings(text: str) -> list[_Heading]:
    found = []
    place = 0
    above = ""
    for line in text.splitlines(keepends=True):
        bare = line.rstrip()
        heading = _LINE.match(bare) or _BARE.match(bare)
        if heading is not None and above and _is_wrapped(bare, heading["name"], above):
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
            if (within["name"].isupper() and not _KINDS[_STAND_IN].fullmatch(within["name"]))
            or (bare[within.start() - 1] in ".;!?" and not _REMARK.fullmatch(within["name"]))
        ]
        place += len(line)
        above = bare.strip()
    return found


def _is_wrapped(line: str, name: str, above: str) -> bool:
    """Whether a heading may as well be words of the sentence that the line above begins."""
    words = line.strip()
    if not words[0].islower():
        return False
    # "The differential\ndiagnosis: …"
    goes_on = above[-1].isalnum() or above[-1] == ","
    return words.rstrip(".").replace(" ", "").isalpha() or (goes_on and _KINDS[_STAND_IN].fullmatch(name) is not None)


def _kinds(name: str) -> tuple[str, ...]:
    names = [name] if _OF_ONE.fullmatch(name) else _JOINT.split(name)
    return tuple(kind for kind, known in _KINDS.items() if any(known.fullmatch(part) for part in names))
