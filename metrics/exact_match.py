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
from bisect import bisect_left
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
_BETWEEN = " \n\"'*_#:>`.,;()[]-"
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
    found, echoed = _without_echo(text, scan(text, options), options)
    return (
        _stated(text, found)
        or _edge_lines(text, found, options, echoed)
        or _concluded(text, found)
        or _chosen([group for group in found.groups if not group.denied], "only")
        or _NONE
    )


def _without_echo(text: str, found: Scan, options: Sequence[Option]) -> tuple[Scan, list[Group]]:
    """Drop the options where a model only repeats all of them in their order, unless that is all it names.

    Returns:
        The rest, and what was dropped.
    """
    letters = tuple(option.letter for option in options)
    kept: list[Group] = []
    run: list[Group] = []
    echoed: list[Group] = []
    for group in found.groups:
        is_next = (
            not (group.denied or group.affirmed) and group.letters == letters[len(run) : len(run) + len(group.letters)]
        )
        if run and not (is_next and not text[run[-1].end : group.start].strip(_BETWEEN)):
            kept.extend(run)
            run = []
            is_next = not (group.denied or group.affirmed) and group.letters == letters[: len(group.letters)]
        if not (is_next and group.is_label):
            kept.append(group)
            continue
        run.append(group)
        if sum(len(part.letters) for part in run) == len(letters):
            echoed.extend(run)
            run = []
    kept += run
    return (found._replace(groups=tuple(kept)), echoed) if kept else (found, [])


def _chosen(groups: Sequence[Group], how: str) -> Parsed | None:
    """The one option that `groups` name; None if they name none."""
    letters = {letter for group in groups for letter in group.letters}
    if not letters or letters == {""}:
        return None
    return Parsed("parsed", letters.pop(), how) if len(letters) == 1 else _SEVERAL


_SPAN = 400  # characters behind a marker in which the announced option is looked for, and before it a supposition


def _stated(text: str, found: Scan) -> Parsed | None:
    """Rules 3 and 4: the last statement of the answer, final ones before others, assertions before suppositions."""
    others: list[Marker | Group] = [marker for marker in found.markers if not marker.is_final]
    others += [group for group in found.groups if group.affirmed]
    finals: list[Marker | Group] = [marker for marker in found.markers if marker.is_final]
    for how, places in (("final", finals), ("statement", others)):
        supposed = None
        for place in sorted(places, key=lambda place: place.start, reverse=True):
            is_supposed = _is_supposed(text, place, found)
            if is_supposed and supposed is not None:
                continue
            choice = _after(text, place, found, how) if isinstance(place, Marker) else _chosen([place], how) or _NONE
            if choice is not None and not is_supposed:
                return choice
            supposed = supposed or choice
        if supposed is not None:
            return supposed
    return None


def _is_supposed(text: str, place: Marker | Group, found: Scan) -> bool:
    start, end = found.sentences[place.sentence]
    start, end = max(start, place.start - _SPAN), min(end, place.start + _SPAN)
    return (
        _HYPOTHETICAL.search(text, start, place.start) is not None or _QUESTION.fullmatch(text, start, end) is not None
    )


def _after(text: str, marker: Marker, found: Scan, how: str) -> Parsed | None:
    """What a marker announces: the options that follow it directly, else those that its sentence names."""
    following = _from(found.groups, marker.end, marker.end + _SPAN)
    if not following:
        return None
    first = following[0]
    if not first.denied and is_direct(text, marker.end, first.start):
        return None if _is_listing(text, first, following[1:]) else _chosen([first], how) or _NONE
    end = min(found.sentences[marker.sentence][1], marker.end + _SPAN)
    if not text[marker.end : end].strip(" \n\"'*_#:>`.") and marker.sentence + 1 < len(found.sentences):
        end = min(found.sentences[marker.sentence + 1][1], marker.end + _SPAN)
    reason = _REASON.search(text, marker.end, end)
    stop = reason.start() if reason is not None else end
    return _chosen([group for group in following if group.start < stop and not group.denied], how)


def _from(groups: Sequence[Group], start: int, end: int) -> Sequence[Group]:
    """The groups that begin in a span of the text."""
    return groups[bisect_left(groups, start, key=_start) : bisect_left(groups, end, key=_start)]


def _start(group: Group) -> int:
    return group.start


def _is_listing(text: str, group: Group, following: Sequence[Group]) -> bool:
    """Whether the group opens a repetition of the options, one a line, not an answer."""
    if not following or not group.is_label or not following[0].is_label or following[0].denied:
        return False
    between = text[group.end : following[0].start]
    return following[0].letters != group.letters and "\n" in between and not between.strip(_BETWEEN)


def _edge_lines(text: str, found: Scan, options: Sequence[Option], echoed: Sequence[Group]) -> Parsed | None:
    """Rule 5."""
    first, last = text.partition("\n")[0], text.rpartition("\n")[2]
    edges = {0: first, len(text) - len(last): last}
    letters = {
        option.letter
        for start, line in edges.items()
        if not any(start <= group.start < start + len(line) for group in echoed)
        and (option := whole_option(line, options)) is not None
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
        inside = [group for group in _from(found.groups, start, end) if not group.denied]
        choice = _chosen(inside, "conclusion")
        if choice is not None:
            return choice
    return None
