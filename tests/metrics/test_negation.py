"""Polarity of mentions: a table of sentences, scopes, and hostile texts."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_metrics.closed_findings import statuses
from medgen_metrics.negation import ABSENT
from medgen_metrics.negation import PRESENT
from medgen_metrics.negation import UNCERTAIN
from medgen_metrics.negation import polarities
from medgen_metrics.negation import sentences

from ..growth import assert_linear
from .negation_cases import CASES
from .negation_shape_cases import SHAPES

WORDS = [
    "no",
    "not",
    "without",
    "effusion",
    "mass",
    "is",
    "seen",
    "but",
    ",",
    ".",
    "and",
    "or",
    "may",
    "be",
    "?",
    "\n",
    "a",
]


@pytest.mark.parametrize(
    ("text", "finding", "polarity"), [*CASES, *(case for cases in SHAPES.values() for case in cases)]
)
def test_polarity(text: str, finding: str, polarity: str) -> None:
    assert statuses(text)[finding] == polarity


def test_the_table_is_wide_enough() -> None:
    counts = Counter(polarity for *_, polarity in CASES)
    assert len(CASES) >= 150
    assert min(counts[polarity] for polarity in (PRESENT, ABSENT, UNCERTAIN)) >= 40
    for cases in SHAPES.values():
        assert len(cases) >= 30
        (_, often), (_, less) = Counter(polarity for *_, polarity in cases).most_common(2)
        assert often >= less >= 15


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two; three? Four", ["One. ", "Two; ", "three? ", "Four"]),
        ("size 2.5 cm vs. 3 cm", ["size 2.5 cm vs. 3 cm"]),
        ("no evidence\nof a mass", ["no evidence\nof a mass"]),
        ("- one\n- two\n\nThree", ["- one\n", "- two\n\n", "Three"]),
        ("clear.Heart normal", ["clear.", "Heart normal"]),
        ("", []),
    ],
)
def test_sentences(text: str, parts: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == parts


@given(st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))
def test_any_text_has_one_polarity_a_mention(text: str) -> None:
    assert "".join(text[start:end] for start, end in sentences(text)) == text
    assert set(statuses(text).values()) <= {PRESENT, ABSENT, UNCERTAIN}


@given(st.text(max_size=60), st.text(max_size=60))
def test_a_mention_is_found_among_anything(before: str, behind: str) -> None:
    text = f"{before} mass {behind}"
    place = len(before) + 1
    assert polarities(text, [(place, place + 4)])[0] in (PRESENT, ABSENT, UNCERTAIN)


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        ("", "no pneumothorax "),
        ("", "no "),
        ("", ", a "),
        ("not ", "really "),
        ("", "heart size is "),
        ("", "no significant definite "),
        ("", "free intraperitoneal "),
        ("", "no\n\n"),
        ("", "?"),
        ("no mass", ", an old lesion of it"),
        ("", "no mass with small "),
        ("", "can reliably be "),
        ("", "cannot at any time be "),
        ("", "zero, 0 "),
    ],
)
def test_hostile_texts_take_linear_time(head: str, unit: str) -> None:
    assert_linear(statuses, unit, 50_000 // len(unit), head=head)
