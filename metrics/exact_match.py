"""Exact match of multiple-choice answers: which option does a free text choose?

Rules, the first that decides wins; each looks at the last place where it applies:

1. `whole`: the whole text is an option (letter, `letter. body`, body).
2. `tag`, `boxed`: the content of the last `<answer>` tag or `\\boxed{}`.
3. `final`: "Final answer: …".
4. `statement`: "the answer is …", "I choose …", "B is correct", "答案是 …".
5. `line`: the first words or a whole first or last line ("B, because …"); if they differ, nothing.
6. `conclusion`: the sentence that "therefore", "thus" or "in conclusion" opens.
7. `only`: the only option that the text names and doesn't deny.

Denied options ("not A but D", "A is wrong") are never chosen. Where the deciding place names several options, or a
letter with another option's body, the text is unparsable.
"""

import re
from collections.abc import Sequence

from .answer_text import Parsed
from .answer_text import container
from .answer_text import is_blank
from .answer_text import unwrap
from .mentions import Group
from .mentions import Marker
from .mentions import Scan
from .mentions import is_direct
from .mentions import scan
from .options import Option
from .options import whole_option

_SEVERAL = Parsed("unparsable", None, "several options named")
_NONE = Parsed("unparsable", None, "no option named")

_QUESTION = re.compile(
    r"\W{0,4}(?:is|are|was|could|would|should|can|does|do|did|what|which|why|who|where|how|maybe|perhaps|might)\b.*\?\s?",
    re.IGNORECASE | re.DOTALL,
)
_HYPOTHETICAL = re.compile(
    r"\b(?:if|unless|suppose|assuming|were\sit|had\sit|would\shave|might|may|could)\b|如果|假如", re.IGNORECASE
)
_REASON = re.compile(
    r"\b(?:because|since|as|due\sto|given|which|whereas|while|although|rather\sthan|instead\sof)\b|因为|由于",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"[\s\"'*_#>-]{0,6}(?:therefore|thus|hence|so|in\s(?:conclusion|summary)|overall|to\s(?:conclude|summari[sz]e)|"
    r"conclusion|综上|因此|所以)\b",
    re.IGNORECASE,
)


def parse_choice(text: str, options: Sequence[Option]) -> Parsed:
    """The option that `text` chooses.

    Args:
        text: a model's answer, as it came.
        options: from `options.read_options`.

    Returns:
        `answer` is the option's letter, upper case. `empty`: nothing but white space. `unparsable`: no option, or
        several.
    """
    if is_blank(text):
        return Parsed("empty", None, "empty")
    body, concluded = unwrap(text)
    if concluded and (option := whole_option(body, options)) is not None:
        return Parsed("parsed", option.letter, "whole")
    held = container(body)
    if held is not None:
        content, kind = held
        option = whole_option(content, options)
        inner = Parsed("parsed", option.letter, kind) if option is not None else _decide(content, options)
        return inner._replace(how=kind if inner.answer is not None else f"{kind}: {inner.how}")
    if not concluded:
        return Parsed("unparsable", None, "reasoning never closed")
    return _decide(body, options)


def _decide(text: str, options: Sequence[Option]) -> Parsed:
    found = scan(text, options)
    return (
        _stated(text, found)
        or _edge_lines(text, found, options)
        or _concluded(text, found)
        or _chosen([group for group in found.groups if not group.denied], "only")
        or _NONE
    )


def _chosen(groups: Sequence[Group], how: str) -> Parsed | None:
    """The one option that `groups` name; None if they name none."""
    letters = {letter for group in groups for letter in group.letters}
    if not letters or letters == {""}:
        return None
    return Parsed("parsed", letters.pop(), how) if len(letters) == 1 else _SEVERAL


def _stated(text: str, found: Scan) -> Parsed | None:
    """Rules 3 and 4: the last statement of the answer, final ones before others, assertions before suppositions."""
    statements: list[tuple[bool, bool, int, Parsed]] = []
    for marker in found.markers:
        choice = _after(text, marker, found)
        if choice is not None:
            how = "final" if marker.is_final else "statement"
            asserted = not _is_supposed(text, marker.sentence, marker.start, found)
            statements.append(
                (marker.is_final, asserted, marker.start, choice._replace(how=how) if choice.answer else choice)
            )
    for group in found.groups:
        if group.affirmed:
            choice = _chosen([group], "statement") or _NONE
            statements.append((False, not _is_supposed(text, group.sentence, group.start, found), group.start, choice))
    return max(statements, key=lambda statement: statement[:3])[3] if statements else None


def _is_supposed(text: str, sentence: int, position: int, found: Scan) -> bool:
    start, end = found.sentences[sentence]
    if end - start > 2000:
        start, end = max(start, position - 1000), min(end, position + 1000)
    return _HYPOTHETICAL.search(text, start, position) is not None or _QUESTION.fullmatch(text, start, end) is not None


def _after(text: str, marker: Marker, found: Scan) -> Parsed | None:
    """What a marker announces: the options that follow it directly, else those that its sentence names."""
    following = [group for group in _from(found.groups, marker.end) if group.start - marker.end < 2000]
    if not following:
        return None
    first = following[0]
    if not first.denied and is_direct(text, marker.end, first.start):
        if _is_listing(text, first, following[1:]):
            return None
        return _chosen([first], "statement") or _NONE
    sentence = marker.sentence
    end = found.sentences[sentence][1]
    if not text[marker.end : end].strip(" \n\"'*_#:>`.") and sentence + 1 < len(found.sentences):
        end = found.sentences[sentence + 1][1]
    reason = _REASON.search(text, marker.end, end)
    inside = [group for group in following if group.start < end and not group.denied]
    before_reason = [group for group in inside if reason is None or group.start < reason.start()]
    return _chosen(before_reason, "statement")


def _from(groups: Sequence[Group], position: int) -> Sequence[Group]:
    low, high = 0, len(groups)
    while low < high:
        middle = (low + high) // 2
        if groups[middle].start < position:
            low = middle + 1
        else:
            high = middle
    return groups[low : low + 50]


def _is_listing(text: str, group: Group, following: Sequence[Group]) -> bool:
    """Whether the group opens a repetition of the options, one a line, not an answer."""
    if not following or not group.is_label or not following[0].is_label or following[0].denied:
        return False
    between = text[group.end : following[0].start]
    return following[0].letters != group.letters and "\n" in between and not between.strip(" \n\"'*_#:>`.,;()[]-")


def _edge_lines(text: str, found: Scan, options: Sequence[Option]) -> Parsed | None:
    """Rule 5."""
    lines = text.split("\n")
    letters = {
        option.letter for option in (whole_option(lines[0], options), whole_option(lines[-1], options)) if option
    }
    opening = _opening(text, found)
    if opening is not None:
        letters.update(opening.letters)
        labels = [
            group for group in found.groups[1:51] if group.is_label and not group.denied and _starts_line(text, group)
        ]
        letters.update(letter for group in labels for letter in group.letters)
    if not letters or letters == {""}:
        return None
    return Parsed("parsed", letters.pop(), "line") if len(letters) == 1 else _SEVERAL


def _starts_line(text: str, group: Group) -> bool:
    start = text.rfind("\n", max(0, group.start - 12), group.start) + 1
    return not text[start : group.start].strip(" \"'*_#>`([{-") and (start > 0 or group.start < 12)


_AFTER_OPENING = re.compile(
    r"[\"'*_`)\]}]{0,4}(?:\s?[.,;:!)\n。(]|\s-|\s?\Z|\s(?:because|since|as|due\sto|based\son)\b)", re.IGNORECASE
)


def _opening(text: str, found: Scan) -> Group | None:
    """The group that the text begins with, if it stands there as an answer."""
    if not found.groups:
        return None
    first = found.groups[0]
    if first.denied or not is_direct(text, 0, first.start):
        return None
    return first if _AFTER_OPENING.match(text, first.end) else None


def _concluded(text: str, found: Scan) -> Parsed | None:
    """Rule 6."""
    for index in range(len(found.sentences) - 1, -1, -1):
        start, end = found.sentences[index]
        if _CONCLUSION.match(text, start) is None:
            continue
        inside = [group for group in found.groups if start <= group.start < end and not group.denied]
        choice = _chosen(inside, "conclusion")
        if choice is not None:
            return choice
    return None
