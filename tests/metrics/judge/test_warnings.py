import pytest

from medgen_metrics.judge.warnings import constant
from medgen_metrics.judge.warnings import contradiction
from medgen_metrics.judge.warnings import contradicts
from medgen_metrics.judge.warnings import coverage
from medgen_metrics.judge.warnings import of_rows
from medgen_metrics.rows import Row

VIEW = "with_reference"
METRIC = f"holistic_{VIEW}"
NAMES = ("anatomical_accuracy", "instruction_compliance")


def row(overall: float, *dimensions: float) -> Row:
    named = zip(NAMES, dimensions, strict=False)
    return Row({METRIC: overall, **{f"{name}_{VIEW}": score for name, score in named}})


def failed(reason: str = "judge_failed") -> Row:
    return Row(reasons={METRIC: reason})


def test_coverage_is_warned_of_below_95_percent() -> None:
    assert coverage([row(3)] * 95 + [failed()] * 5, METRIC) is None
    assert "94 of 100" in str(coverage([row(3)] * 94 + [failed()] * 6, METRIC))
    assert coverage([], METRIC) is None
    # rows to which the metric doesn't apply don't count
    assert coverage([row(3), Row()], METRIC) is None


def test_a_judge_that_always_says_the_same() -> None:
    assert "all 10 records have the score 3" in str(constant([row(3)] * 10 + [failed()], METRIC))
    assert constant([row(3)] * 9, METRIC) is None
    assert constant([row(3)] * 9 + [row(3.5)], METRIC) is None


@pytest.mark.parametrize(
    ("overall", "dimensions", "expected"),
    [
        (3, (2, 4), False),
        (2, (2, 4), False),
        (4, (2, 4), False),
        (1.9, (2, 4), True),
        (5, (2, 4), True),
        (3, (), None),
    ],
)
def test_overall_outside_the_dimensions(overall: float, dimensions: tuple[float, ...], expected: bool | None) -> None:
    assert contradicts(row(overall, *dimensions), VIEW, NAMES) is expected
    assert contradicts(failed(), VIEW, NAMES) is None


def test_contradictions_are_warned_of_above_5_percent() -> None:
    assert contradiction([row(3, 2, 4)] * 19 + [row(5, 2, 4)], VIEW, NAMES) is None
    assert "2 of 20 records (10.0%)" in str(contradiction([row(3, 2, 4)] * 18 + [row(5, 2, 4)] * 2, VIEW, NAMES))
    assert contradiction([], VIEW, NAMES) is None


def test_all_warnings_of_a_result() -> None:
    rows = [row(5, 2, 4)] * 12 + [failed()] * 2
    assert len(of_rows(rows, [VIEW], NAMES)) == 3
    assert of_rows(rows, ["without_reference"], NAMES) == []
    assert of_rows([row(3, 2, 4), row(2, 2, 4)], [VIEW], NAMES) == []
