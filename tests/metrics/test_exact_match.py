"""The multiple-choice parser: a table of what models write, ways to fool it, and hostile texts."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_metrics.exact_match import parse_choice
from medgen_metrics.mentions import scan
from medgen_metrics.options import Option
from medgen_metrics.options import read_options

from ..growth import assert_linear
from .exact_match_cases import CASES
from .exact_match_cases import ORGANS

OPTIONS = read_options(ORGANS)


@pytest.mark.parametrize(("choices", "text", "expected"), CASES)
def test_table(choices: tuple[str, ...], text: str, expected: str) -> None:
    parsed = parse_choice(text, read_options(choices))
    if len(expected) == 1:
        assert (parsed.status, parsed.answer) == ("parsed", expected), parsed
        assert parsed.how
    else:
        assert parsed.status == ("empty" if expected == "empty" else "unparsable"), parsed
        assert parsed.answer is None
        assert parsed.how.endswith(expected)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("D", "whole"),
        ("<answer>D</answer>", "tag"),
        ("so \\boxed{D}", "boxed"),
        ("Final answer: D. The answer is A.", "final"),
        ("The answer is D.", "statement"),
        ("D, since it is opaque", "line"),
        ("The heart is clear. The lungs are, too. In summary, the left lung.", "conclusion"),
        ("A shadow in the left lung", "only"),
    ],
)
def test_says_which_rule_decided(text: str, how: str) -> None:
    assert parse_choice(text, OPTIONS)[1:] == ("D", how)


def test_letters_beyond_d_and_26_options() -> None:
    options = read_options([f"finding number {letter}{letter}" for letter in string.ascii_uppercase])
    assert [parse_choice(f"The answer is {letter}.", options).answer for letter in string.ascii_uppercase] == list(
        string.ascii_uppercase
    )
    # the pronoun
    assert parse_choice("I see nothing of the kind, I am afraid.", options).answer is None


def test_scan_joins_and_denies() -> None:
    found = scan("not A or B, but C (stomach)", OPTIONS)
    assert [(group.letters, group.denied) for group in found.groups] == [(("A", "B"), True), (("C",), False)]


HOSTILE = [
    "x",
    "A ",
    "A, ",
    "A\n",
    "A.",
    "A and B, ",
    "not ",
    "not A ",
    "the answer is ",
    "answer: ",
    "answer is B. ",
    "final answer ",
    " ",
    "\n",
    "**",
    "(",
    "((A)",
    "\\boxed{",
    "\\boxed{A} ",
    "<answer>",
    "<answer>A</answer>",
    "<think>",
    '{"a":',
    "\\text{",
    "- ",
    "left lung ",
    "right lung, ",
    "cannot be ",
    "答案",
    "选A",
    "\u200b",
    "e.g. ",
    "A is wrong. ",
    "B is correct. ",
    "therefore ",
    "if ",
    "0.5 ",
    "a" * 50 + " ",
    "'",
    "Ａ",
    "ﬀ",
]


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("tail", ["", "B"])
def test_a_megabyte_is_parsed_in_linear_time(unit: str, tail: str) -> None:
    assert_linear(lambda text: parse_choice(text, OPTIONS), unit, 1_000_000 // len(unit), tail=tail)


def test_both_ends_of_a_long_answer_are_read() -> None:
    filler = "Nothing to see. " * 100_000
    assert parse_choice(filler + "The answer is D.", OPTIONS).answer == "D"
    assert parse_choice("The answer is D. " + filler, OPTIONS).answer == "D"
    assert parse_choice("<think>" + filler + "</think>D", OPTIONS).answer == "D"


PIECES = [
    *"ABCDEabcd .,;:!?()[]{}*\n'\"-<>/\\",
    "not ",
    "the answer is ",
    "left lung",
    "heart",
    "选",
    "\ud800",
    "<answer>",
]


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_is_parsed_into_an_option_or_a_reason(text: str) -> None:
    parsed = parse_choice(text, OPTIONS)
    assert (parsed.status == "parsed") == (parsed.answer in {option.letter for option in OPTIONS})
    assert parsed.status in ("parsed", "unparsable", "empty")
    assert parse_choice(text, OPTIONS) == parsed


WRAPPERS = [
    "{}",
    "The answer is {}",
    "The answer is {}.",
    "**Answer:** {}",
    "Answer: **{}**",
    "<answer>{}</answer>",
    "\\boxed{{{}}}",
    "Nothing else fits.\n\nFinal answer: {}",
    "<think>maybe E</think>\n{}",
    "{}\n\nExplanation: this is what is seen.",
    "正确答案：{}。",
    "I would choose {}.",
]
WORDS = st.sampled_from(["kidney", "spleen", "femur", "cyst", "nodule", "fracture", "mass", "axial", "lateral", "mild"])
BODIES = st.lists(st.lists(WORDS, min_size=1, max_size=4).map(" ".join), min_size=2, max_size=8, unique=True)


@given(BODIES, st.data(), st.sampled_from(WRAPPERS), st.sampled_from(["letter", "body", "both", "bracket"]))
def test_an_option_in_any_wrapper_is_found(bodies: list[str], data: st.DataObject, wrapper: str, form: str) -> None:
    options = read_options(bodies)
    option: Option = data.draw(st.sampled_from(options))
    said = {
        "letter": option.letter,
        "body": option.body,
        "both": f"{option.letter}. {option.body}",
        "bracket": f"({option.letter})",
    }[form]
    assert parse_choice(wrapper.format(said), options).answer == option.letter


@given(BODIES, st.data())
def test_a_denied_option_is_not_chosen(bodies: list[str], data: st.DataObject) -> None:
    options = read_options(bodies)
    wrong, right = data.draw(st.permutations(options))[:2]
    for text in (
        f"not {wrong.letter} but {right.letter}",
        f"{wrong.letter} is wrong; the answer is {right.letter}",
        f"Answer {wrong.letter} is wrong; {right.letter}",
        f"The answer isn't {wrong.letter}, it's {right.letter}.",
    ):
        assert parse_choice(text, options).answer == right.letter, text
