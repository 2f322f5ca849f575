"""Columns of the judge: heads, what the foot says of them, agreement, warnings, intervals of several verdicts."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import pytest

from medgen_metrics.rows import Row
from medgen_scripts.errors import UsageError
from medgen_scripts.result_file import ResultFile
from medgen_scripts.tables.passes import Mark
from medgen_scripts.tables.passes import Marks

from ..built import as_text
from ..built import built
from ..built import cell
from ..built import foot
from ..results import config_result
from ..results import result

WITH, WITHOUT = "holistic_with_reference", "holistic_without_reference"
JURY = ("first", "second")


def judged(system: str, scores: Sequence[float], **given: Any) -> ResultFile:
    """Each record scored alike in both views; of a jury the second judge gives a point less where it can."""
    options: Mapping[str, Any] = given.pop("options", {})
    rows = []
    for score in scores:
        values = {WITH: score, WITHOUT: score, "anatomical_accuracy_with_reference": score}
        if "judges" in options:
            values |= {f"{view}@{JURY[0]}": score for view in (WITH, WITHOUT)}
            values |= {f"{view}@{JURY[1]}": max(1.0, score - 1) for view in (WITH, WITHOUT)}
        rows.append(Row(values))
    made = config_result({"judge": rows}, options={"judge": options}, **given)
    return result(system, {"edit": made}, protocol=options.get("protocol", "paper"))


def test_both_views_have_a_column_and_dimensions_are_shown_on_request() -> None:
    file = judged("alpha", [4.0, 2.0])
    document = built(file)
    printed = as_text(document)
    assert "w. GT* ↑" in printed
    assert "w.o. GT* ↑" in printed
    assert "3.00" in printed, "a score of 1 to 5 is no percentage"
    assert "anatomical accuracy" not in printed
    assert "not comparable with published Holistic scores" in foot(document)
    assert "with the reference: no input" in foot(document)
    assert "anatomical accuracy w." in as_text(built(file, diagnostics=True))


def test_the_heading_says_whose_layout_the_judge_saw() -> None:
    document = built(judged("alpha", [4.0, 2.0], options={"layout": "standard"}))
    assert "w. GT* [standard]" in as_text(document)
    assert "only dimensions that apply" in foot(document)


@pytest.mark.parametrize(
    ("view", "layout", "told", "untold"),
    [
        ("with_reference", "paper", "w. GT*: a judge's overall score, 1 to 5, with the reference;", "w.o. GT*"),
        ("with_reference", "standard", "the judge sees input, output and the reference image;", "w.o. GT*"),
        ("without_reference", "paper", "w.o. GT*: a judge's overall score, 1 to 5, without the reference;", "w. GT*"),
        ("without_reference", "standard", "the judge sees input and output;", "w. GT*"),
    ],
)
def test_the_foot_explains_only_the_view_that_is_shown(view: str, layout: str, told: str, untold: str) -> None:
    rows = [Row({f"holistic_{view}": score}) for score in (4.0, 2.0)]
    options = {"judge": {"views": [view], "layout": layout}}
    file = result("alpha", {"edit": config_result({"judge": rows}, options=options)})
    mark = Mark(f"holistic_{view}", 4.0, True)
    for marks in (None, Marks((mark,), {"own": (mark,)})):
        said = foot(built(file, marks=marks))
        assert told in said
        assert untold not in said


def test_a_dimension_that_does_not_apply_is_said_to_be_so() -> None:
    """It has no column, since it has no number; who looks for it is told why."""
    file = judged("alpha", [4.0, 2.0], options={"layout": "standard"})
    assert "not applicable" not in foot(built(file))
    shown = built(file, diagnostics=True)
    (told,) = [line for line in foot(shown).splitlines() if "not applicable to these records, and not asked" in line]
    assert "cross modal consistency w., " in told
    assert "cross modal consistency w.o., " in told
    assert "anatomical accuracy w.," not in told


def test_scores_of_two_judges_never_stand_in_one_column() -> None:
    other = "medgen_judge|v:0.1.0|protocol:paper|judge:another|rubric:v2-ab|layout:paper|scale:1-5"
    with pytest.raises(UsageError, match="another"):
        built(
            judged("alpha", [4.0, 2.0]),
            judged("beta", [4.0, 3.0], signatures={"judge": other}, definition="8899aabbccddeeff"),
        )


def test_warnings_stand_in_the_foot_under_the_columns_name() -> None:
    warnings = {"judge": [f"{WITH}: all 12 records have the score 3", "judge x is of the family Y"]}
    document = built(judged("alpha", [3.0, 3.0], warnings=warnings), judged("beta", [3.0, 4.0]))
    assert "Warning: w. GT*: all 12 records have the score 3 (alpha)." in foot(document)
    assert "Warning: judge x is of the family Y (alpha)." in foot(document)


def test_a_jury_says_how_far_it_agrees() -> None:
    scores = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]
    document = built(judged("alpha", scores, options={"judges": list(JURY)}))
    (told,) = [
        line for line in foot(document).splitlines() if line.startswith("Agreement of the judges on alpha, w. GT*")
    ]
    assert "first ~ second 0.8" in told
    assert "Krippendorff's alpha 0.8" in told


def test_several_verdicts_bring_their_interval_unasked() -> None:
    scores = [1.0, 2.0, 3.0, 4.0, 5.0, 5.0]
    assert cell(built(judged("alpha", scores)), "alpha", WITH).interval is None
    made = cell(built(judged("alpha", scores, options={"samples": 3})), "alpha", WITH).interval
    assert made is not None
    assert made.low is not None
    assert made.high is not None
    assert made.low < 20 / 6 < made.high
