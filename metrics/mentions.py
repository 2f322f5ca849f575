"""Where an answer names options, and which of those mentions it denies.

One pass over the text finds letters, option bodies, negations, contrasts, sentence ends and answer markers; mentions
that stand together ("A and B", "B (left lung)") are joined into groups. All look-arounds are bounded, so that the
work is linear in the text's length.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from . import wording
from .options import Option


class Group(NamedTuple):
    """Mentions that stand together.

    Attributes:
        letters: the options named; "" stands for a letter that is no option.
        start, end: where in the text.
        sentence: index of the sentence.
        denied: negated ("not A", "A is wrong", "rules out A").
        affirmed: called right ("B is correct").
        is_label: begins with a letter, not a body.
    """

    letters: tuple[str, ...]
    start: int
    end: int
    sentence: int
    denied: bool
    affirmed: bool
    is_label: bool


class Marker(NamedTuple):
    """A phrase that announces the answer: "the answer is", "Final answer:", "I choose", "答案是"."""

    start: int
    end: int
    sentence: int
    is_final: bool


class Scan(NamedTuple):
    """What a text names. `sentences` holds (start, end) of each."""

    groups: tuple[Group, ...]
    markers: tuple[Marker, ...]
    sentences: tuple[tuple[int, int], ...]


class _Mention(NamedTuple):
    letter: str
    start: int
    end: int
    sentence: int
    denied: bool
    is_letter: bool


def is_direct(text: str, start: int, end: int) -> bool:
    """Whether nothing but articles, mark-up and "option" stands between a marker's end and a mention's start."""
    return end - start <= 60 and wording.DIRECT.fullmatch(text, start, end) is not None


_ONLY_AT_START = {"yes", "no", "true", "false", "none", "other", "others", "normal", "abnormal"}


def body_pattern(body: str) -> str | None:
    """A pattern for a body in running text: its words, and signs that carry meaning, with free punctuation between."""
    tokens = re.findall(r"[^\W_]+|[<>≤≥=+±%]", body)
    if tokens and tokens[0] in ("the", "a", "an") and len(tokens) > 1:
        tokens = tokens[1:]
    # One character would match everywhere; such options are found by their letter or as a whole answer.
    if len("".join(tokens)) < 2:
        return None
    parts = [re.escape(tokens[0])]
    for left, right in pairwise(tokens):
        free = r"[^\w\n<>≤≥=+±%]" + ("{1,4}" if left[0].isalnum() and right[0].isalnum() else "{0,2}")
        parts.append(free + re.escape(right))
    head = r"(?<![A-Za-z0-9])" if tokens[0][0].isascii() and tokens[0][0].isalnum() else ""
    tail = r"(?![A-Za-z0-9])" if tokens[-1][-1].isascii() and tokens[-1][-1].isalnum() else ""
    head = r"(?<![A-Za-z0-9])(?<!\d[.,])" if tokens[0][0].isdigit() else head
    tail = r"(?![A-Za-z0-9])(?![.,]\d)" if tokens[-1][-1].isdigit() else tail
    return head + "".join(parts) + tail


@lru_cache(maxsize=4096)
def _pattern(options: tuple[Option, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """The pass's pattern, and the group name of each body with its option's letter; shared bodies name no option."""
    bodies: dict[str, list[str]] = {}
    for option in options:
        pattern = body_pattern(option.body)
        if pattern is not None:
            bodies.setdefault(pattern, []).append(option.letter)
    # Longest first: of options that contain each other the longer one is meant.
    order = sorted(bodies, key=len, reverse=True)
    names = {f"body{index}": bodies[pattern][0] for index, pattern in enumerate(order) if len(bodies[pattern]) == 1}
    alternatives = [f"(?P<body{index}>{pattern})" for index, pattern in enumerate(order)]
    events = [
        r"(?P<end>\n|[!?;。]|\.(?=[\s\"'*)\]]|\Z))",
        r"(?P<comma>,)",
        rf"(?P<marker>{wording.MARKER})",
        *alternatives,
        rf"(?P<denial>{wording.DENIAL})",
        rf"(?P<contrast>{wording.CONTRAST})",
        r"(?P<letter>(?<![A-Za-z0-9])[A-Za-z](?![A-Za-z0-9]))",
    ]
    return re.compile("|".join(events), re.IGNORECASE), names


def scan(text: str, options: Sequence[Option]) -> Scan:
    """All mentions of options in an unwrapped text (`answer_text.unwrap`)."""
    pattern, names = _pattern(tuple(options))
    letters = {option.letter for option in options}
    mentions: list[_Mention] = []
    markers: list[Marker] = []
    sentences: list[tuple[int, int]] = []
    sentence_start = 0
    denial_end: int | None = None
    refused_letter_end = -1  # a letter that was no mention ("image A"), so that "and B" after it isn't one either
    for event in pattern.finditer(text):
        kind, start, end = str(event.lastgroup), event.start(), event.end()
        if kind == "end":
            sentences.append((sentence_start, end))
            sentence_start, denial_end = end, None
        elif kind in ("comma", "contrast"):
            denial_end = None
        elif kind == "marker":
            markers.append(Marker(start, end, len(sentences), _is_final(event.group())))
            denial_end = None
        elif kind == "denial":
            # "cannot be excluded" denies nothing.
            denial_end = None if wording.CANNOT.search(text, max(0, start - 24), start) else end
        else:
            is_letter = kind == "letter"
            marker_end = markers[-1].end if markers else -100
            direct = is_direct(text, marker_end, start)
            if is_letter:
                previous = mentions[-1].end if mentions else -100
                if not _is_option_letter(text, start, end, direct, previous, refused_letter_end):
                    refused_letter_end = end
                    continue
                letter = event.group().upper() if event.group().upper() in letters else ""
            elif event.group().lower() in _ONLY_AT_START and not (direct or _stands_alone(text, start, end)):
                denial_end = end if event.group().lower() == "no" else denial_end
                continue
            elif kind not in names:
                continue
            else:
                letter = names[kind]
            denied = denial_end is not None and start - denial_end <= 80
            mentions.append(_Mention(letter, start, end, len(sentences), denied, is_letter))
            denial_end = None
    sentences.append((sentence_start, len(text)))
    return Scan(tuple(_groups(text, mentions)), tuple(markers), tuple(sentences))


def _is_final(marker: str) -> bool:
    return marker.lower().startswith("final") or "最终" in marker


def _stands_alone(text: str, start: int, end: int) -> bool:
    return (
        wording.LINE_START.search(text, max(0, start - 12), start) is not None
        and wording.BODY_ENDS.match(text, end) is not None
    )


def _is_option_letter(text: str, start: int, end: int, direct: bool, previous: int, refused: int) -> bool:
    before = text[start - 1] if start else ""
    before2 = text[start - 2] if start > 1 else ""
    after, after2 = text[end : end + 1], text[end + 1 : end + 2]
    # X-ray, T-shaped, type-B; I'm, d'; e.g., i.e.
    if (after == "-" or after == "'") and after2.isalnum():
        return False
    if before in ("-", "'") and before2.isalnum():
        return False
    if (after == "." and after2.isalnum()) or (
        before == "." and before2.isalnum() and text[start - 2 : start - 1].isalpha()
    ):
        return False
    right = wording.PUNCTUATION_RIGHT if text[start] in "Ii" and not direct else wording.RIGHT
    window = max(0, start - 40)
    # "A left lung": a letter straight before a body is judged where groups are formed; here only spaced labels count.
    if right.match(text, end) is None:
        return False
    if direct or wording.STRONG_LEFT.search(text, window, start) is not None:
        return True
    if wording.LINE_START.search(text, window, start) is not None:
        return text[start].isupper() or wording.SEPARATED_RIGHT.match(text, end) is not None
    if not text[start].isupper():
        return False
    joined = (
        wording.JOINED_LEFT.search(text, window, start) is not None or before == "," or text[start - 2 : start] == ", "
    )
    if joined and 0 <= start - refused <= 8 and refused > previous:
        return False
    if wording.JOINED_LEFT.search(text, window, start) is not None:
        return 0 <= start - previous <= 16
    return wording.LEFT.search(text, window, start) is not None


def _groups(text: str, mentions: Sequence[_Mention]) -> list[Group]:
    groups: list[Group] = []
    index = 0
    while index < len(mentions):
        members = [mentions[index]]
        spreads = members[0].denied  # whether a denial covers the whole group ("not A or B")
        listed = False
        while index + 1 < len(mentions):
            link = _link(text, members[-1], mentions[index + 1])
            if link is None:
                break
            index += 1
            members.append(mentions[index])
            listed = listed or link == "list"
        index += 1
        parts = [members] if not spreads or listed else _split_same(members)
        groups.extend(_group(text, part, spreads and part is parts[0]) for part in parts)
    return groups


def _split_same(members: list[_Mention]) -> list[list[_Mention]]:
    """Part the leading mentions of one option from the rest: in "not A, D" only A is denied."""
    count = 1
    while count < len(members) and members[count].letter == members[0].letter:
        count += 1
    return [members[:count], members[count:]] if count < len(members) else [members]


def _group(text: str, members: Sequence[_Mention], denied: bool) -> Group:
    end = members[-1].end
    denied = denied or any(member.denied for member in members) or wording.DENYING.match(text, end) is not None
    return Group(
        letters=tuple(dict.fromkeys(member.letter for member in members)),
        start=members[0].start,
        end=end,
        sentence=members[0].sentence,
        denied=denied,
        affirmed=not denied and wording.AFFIRMING.match(text, end) is not None,
        is_label=members[0].is_letter,
    )


def _link(text: str, left: _Mention, right: _Mention) -> str | None:
    """How two neighbours are joined: "list" (and, or), "comma", "label" (a letter and its body), or None."""
    if right.start - left.end > 24 or right.denied:
        return None
    gap = wording.GAP.fullmatch(text, left.end, right.start)
    if gap is None or "\n" in text[left.end : right.start]:
        return None
    words = ("and", "or", "nor", "as well as", "及", "和", "或", "&", "/", "+", "、")
    if gap["link"].lower() in words or gap["then"]:
        return "list"
    if gap["link"] == ",":
        return "comma"
    if left.letter == right.letter:
        return "label"
    if left.is_letter and not right.is_letter:
        # "B. right lung" contradicts itself; "B. Right lung is clear" goes on to say why.
        return "label" if gap["link"] in ("(", "[") or wording.BODY_ENDS.match(text, right.end) else None
    return "comma" if left.is_letter == right.is_letter or not gap["link"] else None
