r"""Whether a sentence asserts, denies or only considers what it mentions: rules in the manner of NegEx and ConText.

Trigger phrases have a direction and a scope. One before a mention reaches forward, one behind it backward, until a
contrast ("but", "except"), a new clause or the sentence's end. Behind a comma a subject with a verb opens a clause ("no
effusion, cardiomegaly is present"), unless a list is open ("no effusion, mass, fracture is seen"), and so does what has
a size or a degree ("no fracture with small effusion"). Phrases that only look like negations ("no change in", "not
only", "not without") are found first and deny nothing. Of two triggers that reach a mention the nearer one counts, but
what "can be excluded" is absent even if it was possible.

Sources: Chapman et al. 2001 (NegEx: phrases before and behind, pseudo-negations, ending conjunctions), Harkema et al.
2009 (ConText: scope to the sentence's end; hypothetical and historical mentions), Peng et al. 2018 (NegBio) and Irvin
et al. 2019 (CheXpert) for radiology, among it that "likely" and "consistent with" assert. The wording of the rules is
this project's own, English only (`negation_triggers`). The work is linear in the text's length.
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .negation_triggers import EVENTS
from .negation_triggers import MASK

PRESENT, ABSENT, UNCERTAIN = "present", "absent", "uncertain"

_BEHIND = {
    "uncertain_behind": UNCERTAIN,
    "excluded_behind": ABSENT,
    "absent_behind": ABSENT,
    "free": ABSENT,
    "both": UNCERTAIN,
}
_BEFORE = {
    "uncertain": UNCERTAIN,
    "implied": UNCERTAIN,
    "supposed": UNCERTAIN,
    "past": UNCERTAIN,
    "absent": ABSENT,
    "both": UNCERTAIN,
}
_ENDING = frozenset(("pseudo", "stop", "clause", "uncertain_behind", "excluded_behind", "absent_behind"))
_VERBAL = frozenset(("verb", "active"))


class _Event(NamedTuple):
    start: int
    end: int
    kind: str


class _Reached(NamedTuple):
    """What a trigger says of a mention, of what kind it is, and how many characters lie between."""

    polarity: str
    kind: str
    distance: int


_SENTENCE_END = re.compile(
    r"\n{2,8}|(?<=[.!?;])(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)\s{1,8}|(?<=[a-z]{2}\.)(?=[A-Z][a-z])|"
    r"\n(?=\s{0,8}(?:\n|[-*+•#>|]|\d{1,2}[.)]|[A-Z]))"
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Where sentences are; a line break ends one only before a bullet, a capital or a blank line."""
    cuts = [0, *(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]
    return [(start, end) for start, end in pairwise(cuts) if end > start]


def polarities(sentence: str, mentions: Sequence[tuple[int, int]]) -> list[str]:
    """What one sentence says of each of its mentions: `present`, `absent` or `uncertain`.

    Args:
        sentence: in plain signs (`answer_text.plain`), white space single.
        mentions: where the mentions start and end, in order, none overlapping.

    >>> polarities("No effusion, but a small pneumothorax.", [(3, 11), (25, 37)])
    ['absent', 'present']
    """
    events = _events(sentence, mentions)
    before, behind = _forward(events), _backward(events)
    is_asked = any(event.kind == "asked" for event in events)
    found = []
    for first, second in zip(before, behind, strict=True):
        reached = [trigger for trigger in (first, second) if trigger is not None]
        if first is not None and second is not None and second.kind == "excluded_behind":
            # "The possibility of a fracture can be excluded", but "until a fracture is excluded".
            reached = [first if first.kind == "supposed" else second]
        nearest = min(reached, key=lambda trigger: trigger.distance, default=None)
        polarity = PRESENT if nearest is None else nearest.polarity
        found.append(UNCERTAIN if is_asked and polarity == PRESENT else polarity)
    return found


def _events(sentence: str, mentions: Sequence[tuple[int, int]]) -> list[_Event]:
    """Triggers and mentions in order; what stands within a mention is no trigger."""
    parts, place = [], 0
    for start, end in mentions:
        parts += [sentence[place:start], MASK * (end - start)]
        place = end
    masked = "".join([*parts, sentence[place:]])
    found = [_Event(match.start(), match.end(), str(match.lastgroup)) for match in EVENTS.finditer(masked)]
    return sorted([*found, *(_Event(start, end, "mention") for start, end in mentions)])


def _forward(events: Sequence[_Event]) -> list[_Reached | None]:
    reached: list[_Reached | None] = []
    # Fresh: nothing that the last trigger could be about lies behind it yet. Parted: a comma, "and" or "or" does.
    # Listed: a mention does. Open: a comma does behind that, and no "and" or "or" behind the comma.
    kind, end, is_fresh, is_parted, is_listed, is_open = "", 0, True, False, False, False
    for event in events:
        if event.kind == "mention":
            reached.append(_Reached(_BEFORE[kind], kind, event.start - end) if kind else None)
            is_fresh, is_listed = False, True
        elif event.kind in _BEFORE:
            # "may not have" considers, "no suspicion of" denies: of triggers with nothing between the first counts.
            goes_on = is_fresh or kind == "supposed" or (event.kind == "implied" and kind == "absent" and not is_parted)
            if not kind or not goes_on:
                kind = event.kind
            end, is_fresh, is_parted, is_listed, is_open = event.end, True, False, False, False
        elif event.kind in _ENDING or event.kind in _VERBAL:
            goes_on = kind == "supposed" or (is_fresh and event.kind == "active")
            kind = kind if goes_on and event.kind in _VERBAL else ""
        elif event.kind == "beside":
            kind = "" if kind == "absent" else kind
        elif event.kind in ("comma", "join", "item", "own", "own_or_list"):
            # A list of what may be goes on with articles: "the differential includes an abscess, a cyst".
            kind = "" if event.kind == "item" and kind == "absent" else kind
            # "No definite, displaced fracture is seen", "no mass, infarct, hemorrhage is seen" are one clause.
            is_clause = (event.kind == "own" or (event.kind == "own_or_list" and is_listed)) and not is_open
            kind = "" if is_clause and kind != "supposed" else kind
            is_fresh, is_parted, is_open = False, True, is_listed and event.kind != "join"
    return reached


def _backward(events: Sequence[_Event]) -> list[_Reached | None]:
    reached: list[_Reached | None] = []
    kind, start, is_fresh, is_list = "", 0, True, False
    for event in reversed(events):
        if event.kind == "mention":
            reached.append(_Reached(_BEHIND[kind], kind, start - event.end) if kind else None)
            is_fresh = False
        elif event.kind in _BEHIND:
            kind, start, is_fresh, is_list = event.kind, event.start, True, False
        elif event.kind in _ENDING or event.kind in _BEFORE or (event.kind in _VERBAL and not is_fresh):
            kind = ""
        elif event.kind == "join":
            is_list = True
        elif event.kind in ("comma", "item", "own", "own_or_list") and not is_list:
            # "Small effusion, pneumothorax not seen" is no list; "A, B and C are not seen" is one.
            kind = ""
    return reached[::-1]
