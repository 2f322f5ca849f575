import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_metrics.judge.flips import laterality
from medgen_metrics.judge.flips import negation
from medgen_metrics.judge.flips import number


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The spleen lies on the left.", "The spleen lies on the right."),
        ("Left-sided effusion; the left lung is collapsed.", "Right-sided effusion; the right lung is collapsed."),
        ("RIGHT KIDNEY", "LEFT KIDNEY"),
        ("the leftmost of three", "the rightmost of three"),
        ("It is left of the midline.", "It is right of the midline."),
        # both sides named: mirrored, both statements may be true
        ("The left kidney, at the right of the image, was filled.", None),
        # nothing that has a side
        ("Almost nothing is left of it; the heart is large.", None),
        ("The panel shows almost nothing left.", None),
        ("The upright film is the right answer.", None),
        ("The bright spot.", None),
        ("Which of them is right", None),
        # may hold of the other side as well
        ("The left lung is clear.", None),
        ("There is no effusion on the left.", None),
        ("Both lungs; the left is larger.", "Both lungs; the right is larger."),
        ("Both, the left more.", None),
        # a symmetric remark in another sentence doesn't matter
        ("The nodule lies on the left. Both kidneys enhance.", "The nodule lies on the right. Both kidneys enhance."),
    ],
)
def test_the_other_side(text: str, other: str | None) -> None:
    assert laterality(text) == other


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("The stroma is negative.", "The stroma is not negative."),
        ("There is no effusion.", "There is effusion."),
        ("No pleural effusion.", "Pleural effusion."),
        ("The rest was not changed.", "The rest was changed."),
        ("A red spot without vessels.", "A red spot with vessels."),
        ("Yes", "No."),
        ("no.", "Yes."),
        ("FINDINGS: free air. The heart is large.", "FINDINGS: free air. The heart is not large."),
        # the lead and the sentence would contradict each other
        ("No, the heart is small.", None),
        ("It may be cancer.", None),
        ("Nothing else was changed.", None),
        ("It is not only large.", None),
        ("Aorta", None),
        ("", None),
        # nothing plain: two denials
        ("It is not without risk.", None),
    ],
)
def test_the_denial(text: str, other: str | None) -> None:
    assert negation(text) == other


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("About 20 mm: it is about 23 pixels wide.", "About 60 mm: it is about 23 pixels wide."),
        ("A lesion of 0.859 mm", "A lesion of 2.577 mm"),
        ("0 lesions", None),  # at the start of a line it may be a list's
        ("There are 0 lesions", "There are 5 lesions"),
        ("25 %: cerebellum. 50 %: basal nuclei.", "75 %: cerebellum. 50 %: basal nuclei."),
        ("At 100 % nothing.", "At 50 % nothing."),
        ("Two. The darker one lies above.", "Five. The darker one lies above."),
        ("T1-weighted FHL2 at L4/5, image 2, 3-5 mm", None),
        ("1. Heart\n2. Lung", None),
        ("In 12/2020", None),
    ],
)
def test_the_other_number(text: str, other: str | None) -> None:
    assert number(text) == other


@pytest.mark.timeout(60)  # all take well under 1 s; anything quadratic takes hours
def test_flips_are_linear_in_the_texts_length() -> None:
    for text in ("left " * 40_000, "is " * 40_000, "no " * 40_000, "1." * 40_000, " " * 100_000):
        laterality(text), negation(text), number(text)


_WORDS = ["the", "left", "right", "lung", "is", "are", "no", "not", "without", "5", "20", "%", "mm", "T1", ".", ","]
_WORDS += [";", "No", "Yes", "both", "nothing", "Left-sided", "\n"]


@given(st.lists(st.sampled_from(_WORDS), max_size=14).map(" ".join))
def test_a_flip_says_something_else_and_a_side_flips_back(text: str) -> None:
    other = laterality(text)
    assert other is None or (other != text and laterality(other) == text)
    assert negation(text) != text
    assert number(text) != text
