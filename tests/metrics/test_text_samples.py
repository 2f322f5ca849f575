import evaluate
import pytest

import medgen_bench
from medgen_metrics.text import TextTier
from medgen_metrics.text_samples import CHOICE
from medgen_metrics.text_samples import CLOSED

ORGANS = ["A. heart", "B. right lung", "C. stomach", "D. left lung"]


def bare() -> TextTier:
    return TextTier(metrics=("em",))


@pytest.mark.parametrize(
    "task",
    [
        "multi-choice",
        "Multiple-Choices",
        "multiplechoice",
        "mutiple-choice",
        "MCQ",
        "single choice",
        "fill-in-the-blank",
    ]
    + ["fill-in-the-blank", "blank_filing", "blankfilling", "cloze", "vqa_multiple-choice"],
)
def test_a_name_that_is_nearly_a_closed_tasks_is_an_error(task: str) -> None:
    with pytest.raises(ValueError, match="expected 'multiple-choice' or 'blank-filling' of closed questions") as error:
        bare().score(["D", "D"], ["D", "D"], [ORGANS, ORGANS], [CHOICE, task])
    assert f"tasks[1]: {task!r}" in str(error.value)
    assert "tasks[0]" not in str(error.value)
    with pytest.raises(ValueError, match="expected 'multiple-choice'"):
        evaluate.load("metrics/medgen_text", metrics=["em"]).add_batch(
            predictions=["D"], references=["D"], choices=[ORGANS], tasks=[task]
        )


def test_all_misnamed_tasks_are_told_at_once() -> None:
    with pytest.raises(ValueError, match="and 30 more") as error:
        bare().score(["D"] * 50, ["D"] * 50, None, ["mcq"] * 50)
    assert str(error.value).count("tasks[") == 20


@pytest.mark.filterwarnings("error")
def test_tasks_of_the_data_set_and_any_other_names_are_taken() -> None:
    names = [*medgen_bench.TASKS, "my-own", "", "重", "report", "visual question answering", "impression"]
    for row, task in zip(bare().score(["D"] * len(names), ["D"] * len(names), None, names), names, strict=True):
        assert ("em" in row.values or "em" in row.reasons) == (task in CLOSED)


def test_options_that_nothing_uses_are_told() -> None:
    with pytest.warns(UserWarning, match=r"are not used.*tasks\[1\]: 'vqa' with 4 options"):
        bare().score(["D", "D"], ["D", "D"], [ORGANS, ORGANS], [CHOICE, "vqa"])
