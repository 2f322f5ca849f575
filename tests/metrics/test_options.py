"""Options as letters and bodies, and whole answers that are one of them."""

import pytest

from medgen_metrics.options import Option
from medgen_metrics.options import read_options
from medgen_metrics.options import whole_option

ORGANS = read_options(["A. heart", "B. right lung", "C. X-ray"])


@pytest.mark.parametrize(
    ("choices", "letters", "bodies"),
    [
        (["A. Right lung", "B. Heart."], "AB", ["right lung", "heart"]),
        (["A) x", "B) y"], "AB", ["x", "y"]),
        (["(A) x", "(B) y"], "AB", ["x", "y"]),
        (["a: x", "b: y"], "AB", ["x", "y"]),
        (["Ａ．心脏", "Ｂ．左肺"], "AB", ["心脏", "左肺"]),
        (["B) y", "A) x"], "BA", ["y", "x"]),
        (["A. x", "C. z"], "AC", ["x", "z"]),
        (["right lung", "heart", "X-ray"], "ABC", ["right lung", "heart", "x-ray"]),
        # genus abbreviations are no letters
        (["E. coli", "S. aureus"], "AB", ["e. coli", "s. aureus"]),
        (["A. baumannii", "S. aureus"], "AB", ["a. baumannii", "s. aureus"]),
        (["A. x", "y"], "AB", ["a. x", "y"]),
        (["A", "B"], "AB", ["a", "b"]),
        ([], "", []),
    ],
)
def test_read_options(choices: list[str], letters: str, bodies: list[str]) -> None:
    options = read_options(choices)
    assert [option.letter for option in options] == list(letters)
    assert [option.body for option in options] == bodies


@pytest.mark.parametrize(
    ("choices", "message"), [(["A. x", " "], "option 2 of 2 is empty"), (["x"] * 27, "at most 26 options, got 27")]
)
def test_options_that_cannot_be_read(choices: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_options(choices)


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("b", "B"),
        ("(B)", "B"),
        ("**B.**", "B"),
        ("B. right lung", "B"),
        ("b) Right Lung.", "B"),
        ("right lung", "B"),
        ("Ｂ", "B"),
        ("x-ray", "C"),
        ("X-ray", "C"),
        # never a part of the answer, never a contradiction
        ("The answer is B", None),
        ("B. heart", None),
        ("A and B", None),
        ("lung", None),
        ("D", None),
        ("", None),
        ("-", None),
        ("B" * 3000, None),
    ],
)
def test_whole_option(text: str, letter: str | None) -> None:
    option = whole_option(text, ORGANS)
    assert (option.letter if option else None) == letter


def test_a_text_that_is_one_options_letter_and_anothers_body_is_neither() -> None:
    assert whole_option("b", (Option("A", "b"), Option("B", "c"))) is None
    assert whole_option("same", (Option("A", "same"), Option("B", "same"))) is None
