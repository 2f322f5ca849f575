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
    tokens = re.findall(r"\d+|[^\W\d_]+|[<>≤≥=+±%]", body)
    if tokens and tokens[0] in ("the", "a", "an") and len(tokens) > 1:
        tokens = tokens[1:]
    # A single Latin letter would match everywhere; such an option is found by its letter or as a whole answer.
    if not tokens or (len(tokens) == 1 and len(tokens[0]) == 1 and re.fullmatch(r"[A-Za-z\W]", tokens[0])):
        return None
    parts = [re.escape(tokens[0])]
    for left, right in pairwise(tokens):
        both_words = left[0].isalnum() and right[0].isalnum() and left[0].isdigit() == right[0].isdigit()
        parts.append(r"[^\w\n<>≤≥=+±%]" + ("{1,4}" if both_words else "{0,4}") + re.escape(right))
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
    refused_letter_end = -100  # a letter that was no mention ("image A"), so that "and B" after it isn't one either
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
            denial_end = end if _denies_what_follows(text, start, end, mentions) else None
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


def _denies_what_follows(text: str, start: int, end: int, mentions: Sequence[_Mention]) -> bool:
    # "cannot be excluded" denies nothing; "A is wrong" is about what stands before.
    if wording.CANNOT.search(text, max(0, start - 24), start):
        return False
    if not mentions or start - mentions[-1].end > 40:
        return True
    verdict = wording.DENYING.match(text, mentions[-1].end)
    return verdict is None or verdict.end() < end


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
    if right.match(text, end) is None:
        return False
    quoted, sign, word = _before(text, start)
    if direct or quoted or word in wording.LABELLING or word.endswith("选项"):
        return True
    is_upper = text[start].isupper()
    if sign in ("", "\n"):
        return is_upper or wording.SEPARATED_RIGHT.match(text, end) is not None
    if not is_upper:
        return (
            text[start] not in "ai"
            and word in wording.CHOOSING
            and wording.PUNCTUATION_RIGHT.match(text, end) is not None
        )
    joined = word in wording.JOINING or sign in ("&", "/")
    if (joined or sign == ",") and start - refused <= 8 and refused > previous:
        return False
    if joined:
        return start - previous <= 16
    return sign in wording.CLAUSE_STARTS or "\u4e00" <= sign <= "\u9fff" or word in wording.CHOOSING


def _before(text: str, start: int) -> tuple[bool, str, str]:
    """What precedes a letter: whether a quote or bracket opens, the sign before it ("" at the start), the last word."""
    window = text[max(0, start - 24) : start]
    bare = window.rstrip(wording.OPENERS)
    quoted = any(sign in wording.QUOTING for sign in window[len(bare) :])
    if bare[-2:] in (" -", "\n-", "->", "-") or bare.endswith("=>"):  # a bullet, a dash, an arrow
        bare = bare[:-2].rstrip() + ("\n" if bare[-2:] in ("\n-", "-") else ";")
    if not bare:
        return quoted, "" if start <= 24 else ";", ""
    words = bare[-16:].split()
    return quoted, bare[-1], words[-1].lstrip(wording.OPENERS).lower() if words else ""


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
    link, then = gap["link"].lower(), (gap["then"] or "").lower()
    # "D, and the right lung is clear" begins a new clause.
    may_end = "and" in (link, then) or (link == "," and not then)
    if may_end and left.letter != right.letter and wording.SINGULAR_VERB.match(text, right.end):
        return None
    if link in ("and", "or", "nor", "as well as", "及", "和", "或", "&", "/", "+", "、") or then:
        return "list"
    if link == ",":
        return "comma"
    if left.letter == right.letter:
        return "label"
    if left.is_letter and not right.is_letter:
        # "B. right lung" contradicts itself; "B. Right lung is clear" goes on to say why.
        return "label" if link in ("(", "[") or wording.BODY_ENDS.match(text, right.end) else None
    if link == ".":
        # "A. B. C."; but "B. Option A is wrong" is two sentences.
        return "comma" if left.is_letter and right.is_letter and wording.BODY_ENDS.match(text, right.end) else None
    return "comma" if left.is_letter == right.is_letter or not link else None
