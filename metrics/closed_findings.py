"""Findings of a closed list that a text states to be present or absent, and whether an answer states the same.

A finding is `present` where any mention asserts it, else `uncertain` where any only considers it, else `absent` where
it is denied: the order of CheXpert (Irvin et al. 2019). Of a text with sections only FINDINGS and IMPRESSION are read,
so that what an INDICATION asks for is no finding. Side, size and number are not compared.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import NamedTuple

from .answer_text import after_thought
from .answer_text import plain
from .negation import ABSENT
from .negation import PRESENT
from .negation import UNCERTAIN
from .negation import polarities
from .negation import sentences
from .sections import sections
from .signature import digest

CLOSED_ANSWER = "yes or no"
"""The finding that an answer opening with "Yes" or "No" states of what it was asked for."""

LIMIT = 50_000
"""Characters of a text that are read."""

COLUMNS = ("negation_asserted", "negation_agreed", "negation_contradicted")
"""A row's columns of an `Agreement`."""

_ORDER = (ABSENT, UNCERTAIN, PRESENT)
_OPENING = re.compile(
    # Mark-up alone doesn't part the word from what follows: "**No** fracture", "no **fracture**".
    r"[\s\"'*_#>(]{0,6}(?:(?:the\s)?answer(?:\sis)?\s?:?\s?)?(yes|no)"
    r"(?=[*_\"')]{0,4}(?:[ \t]{0,4}[.,;:!]|[ \t]{0,4}-{1,3}\s|[ \t]{0,4}\n\s{0,4}\n|\s{0,4}\Z))",
    re.IGNORECASE,
)


class Agreement(NamedTuple):
    """How an answer's findings compare with the reference's.

    Attributes:
        asserted: findings that the reference states to be present or absent.
        agreed: of these, those that the answer states alike.
        contradicted: those that it states the other way round.
    The answer only considers the rest, or doesn't mention them.
    """

    asserted: int
    agreed: int
    contradicted: int


@lru_cache(maxsize=1)
def _source() -> str:
    return files(__package__ or "medgen_metrics").joinpath("findings.yaml").read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _vocabulary() -> tuple[re.Pattern[str], dict[str, tuple[str, bool]]]:
    """A pattern of all phrases, and the group name of each with its finding and whether it says that it is absent."""
    import yaml

    names, alternatives = {}, []
    phrases = [
        (phrase, finding, kind == "denied")
        for finding, kinds in yaml.safe_load(_source()).items()
        for kind, of_kind in kinds.items()
        for phrase in of_kind
    ]
    # Longest first: of phrases that contain each other the longer one is meant.
    for index, (phrase, finding, is_denied) in enumerate(sorted(phrases, key=lambda item: -len(item[0]))):
        names[f"f{index}"] = (finding, is_denied)
        alternatives.append(f"(?P<f{index}>{phrase.replace(' ', chr(92) + 's')})")
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)"), names


def findings() -> tuple[str, ...]:
    """The closed list."""
    return tuple(dict.fromkeys(finding for finding, _ in _vocabulary()[1].values()))


def statuses(text: str) -> dict[str, str]:
    """Finding -> `present`, `absent` or `uncertain`; findings that the text doesn't mention are not in it.

    >>> statuses("No pneumothorax. Small effusion; pneumonia cannot be excluded.")
    {'pneumothorax': 'absent', 'pleural effusion': 'present', 'pneumonia': 'uncertain'}
    >>> statuses("Yes, there is a fracture.")
    {'yes or no': 'present', 'fracture': 'present'}
    """
    text = plain(after_thought(text)[:LIMIT])
    read = sections(text)
    text = "\n\n".join(read.values()) or text
    found: dict[str, str] = {}
    opening = _OPENING.match(text)
    if opening is not None:
        found[CLOSED_ANSWER] = PRESENT if opening[1].lower() == "yes" else ABSENT
        # "No, there is a fracture": the word answers a question and denies nothing that follows.
        text = text[opening.end() :]
    pattern, names = _vocabulary()
    for start, end in sentences(text):
        sentence = " ".join(text[start:end].lower().split())
        mentions = list(pattern.finditer(sentence))
        said = polarities(sentence, [mention.span() for mention in mentions]) if mentions else []
        for mention, polarity in zip(mentions, said, strict=True):
            finding, is_denied = names[str(mention.lastgroup)]
            if is_denied:
                polarity = ABSENT
            found[finding] = max(found.get(finding, ABSENT), polarity, key=_ORDER.index)
    return found


def compare(answer: Mapping[str, str], reference: Mapping[str, str]) -> Agreement:
    """Of two texts' `statuses`."""
    asserted = {finding: status for finding, status in reference.items() if status != UNCERTAIN}
    agreed = sum(answer.get(finding) == status for finding, status in asserted.items())
    opposite = {PRESENT: ABSENT, ABSENT: PRESENT}
    contradicted = sum(answer.get(finding) == opposite[status] for finding, status in asserted.items())
    return Agreement(len(asserted), agreed, contradicted)


@lru_cache(maxsize=1)
def definition() -> str:
    """Digest of the closed list, whose order counts; the rules count by the extras' revision."""
    import yaml

    return digest(list(yaml.safe_load(_source()).items()))
