"""The blank-filling parser."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_metrics.blank import normal_filling
from medgen_metrics.blank import parse_blank

from ..growth import assert_linear

CASES = [
    ("left lung", "left lung"),
    ("Left Lung.", "left lung"),
    ("  left   lung \n", "left lung"),
    ("**left lung**", "left lung"),
    ('"left lung"', "left lung"),
    ("“left lung”", "left lung"),
    ("`left lung`", "left lung"),
    ("(left lung)", "left lung"),
    ("ＬＥＦＴ　ｌｕｎｇ", "left lung"),
    ("left lung</s>", "left lung"),
    ("Answer: left lung", "left lung"),
    ("answer is: left lung", "left lung"),
    ("The answer is left lung.", "left lung"),
    ("The answer is: **left lung**", "left lung"),
    ("**Answer:** left lung", "left lung"),
    ("Answer:\nleft lung", "left lung"),
    ("### Answer\nleft lung", "left lung"),
    ("Final answer: left lung", "left lung"),
    ("**Final Answer**: left lung", "left lung"),
    ("Response: left lung", "left lung"),
    ("The blank is left lung", "left lung"),
    ("Blank: left lung", "left lung"),
    ("Blank 1: left lung", "left lung"),
    ("The blank should be filled with left lung.", "left lung"),
    ("Fill in the blank with: left lung", "left lung"),
    ("The missing word is lung", "lung"),
    ("The missing word is 'lung'.", "lung"),
    ("\\boxed{left lung}", "left lung"),
    ("$\\boxed{\\text{Left lung}}$", "left lung"),
    ("<answer>left lung</answer>", "left lung"),
    ("<answer>The answer is left lung.</answer>", "left lung"),
    ("<think>right lung?</think>left lung", "left lung"),
    ("<think>The answer is right lung</think>\n\nAnswer: left lung", "left lung"),
    ('{"answer": "left lung"}', "left lung"),
    ('```json\n{"response": "left lung"}\n```', "left lung"),
    ("The image shows the chest.\nThere is a mass.\nleft lung", "left lung"),
    ("The image shows the chest.\n\nAnswer: left lung", "left lung"),
    ("Answer: right lung\nNo, wait.\nAnswer: left lung", "left lung"),
    ("left lung\n\nExplanation: a mass is seen there.", "left lung"),
    ("Answer: left lung\nReason: the answer is obvious.", "left lung"),
    ("答案：左肺", "左肺"),
    ("答案是左肺。", "左肺"),
    ("正确答案是：左肺", "左肺"),
    ("空格处应填：左肺", "左肺"),
    ("-5", "-5"),
    ("<3 cm", "<3 cm"),
    ("+", "+"),
    ("3.5 cm", "3.5 cm"),
    ("T2‑weighted", "t2-weighted"),
    ("X-ray", "x-ray"),
    ("a", "a"),
    ("12", "12"),
    (" ".join(["word"] * 20), " ".join(["word"] * 20)),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_table(text: str, expected: str) -> None:
    parsed = parse_blank(text)
    assert (parsed.status, parsed.answer) == ("parsed", expected), parsed


@pytest.mark.parametrize(
    ("text", "status", "how"),
    [
        ("", "empty", "empty"),
        (" \n\t\u200b", "empty", "empty"),
        ("...", "unparsable", "nothing but punctuation"),
        (" ".join(["word"] * 21), "unparsable", "21 words"),
        ("<think>left lung", "unparsable", "reasoning never closed"),
        ("Answer: " + "word " * 30, "unparsable", "30 words"),
    ],
)
def test_no_filling(text: str, status: str, how: str) -> None:
    assert parse_blank(text) == (status, None, how)


@given(st.text())
def test_any_text_is_parsed(text: str) -> None:
    parsed = parse_blank(text)
    assert (parsed.answer is not None) == (parsed.status == "parsed")
    if parsed.answer is not None:
        assert parsed.answer == normal_filling(parsed.answer)


HOSTILE = ["x", "answer: ", "answer is ", "the answer is\n", "\\boxed{", "<answer>", "<think>", " ", "\n", "blank 1 "]
HOSTILE += ["fill in ", "答案", "\u200b", "Ａ", "*", "(1)"]


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_megabyte_is_parsed_in_linear_time(unit: str) -> None:
    assert_linear(parse_blank, unit, 1_000_000 // len(unit))
