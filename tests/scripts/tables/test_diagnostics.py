from typing import Any

import pytest

from medgen_metrics.rows import Row
from medgen_scripts.errors import UsageError
from medgen_scripts.tables.passes import load_marks
from tests.scripts.built import as_text
from tests.scripts.built import built
from tests.scripts.built import cell
from tests.scripts.built import edits
from tests.scripts.built import foot
from tests.scripts.results import config_result
from tests.scripts.results import result

SCORES = {"ssim": 0.9, "psnr": 30.0, "mse": 65.0}
ALL = {"changed_share": 0.25, "changed_mae": 20.0, "changed_gain": 0.5, "kept_mae": 1.0, "psnr_gain": 3.0}
METRICS = {"pixel": {"metrics": ["ssim", "psnr"]}}


def of_rows(system: str, *rows: Row) -> Any:
    return result(system, {"edit": config_result({"pixel": rows}, options=METRICS)})


def test_they_stand_beside_the_scores_and_are_not_ranked() -> None:
    better = {**ALL, "changed_gain": 0.75}
    document = built(of_rows("alpha", Row(SCORES | ALL)), of_rows("beta", Row(SCORES | better)), diagnostics=True)
    heads = [column.head for column in document.tables[0].columns]
    assert heads == [
        *("SSIM", "PSNR"),
        *("Changed (%)", "Error in (grey)", "Done in (%)", "Error out (grey)", "PSNR gain (dB)"),
    ]
    assert [column.arrow for column in document.tables[0].columns] == ["↑", "↑", "", "↓", "↑", "↓", "↑"]
    assert cell(document, "beta", "changed_gain").mean == 0.75
    assert {cell(document, system, "changed_gain").mark for system in ("alpha", "beta")} == {""}
    text = as_text(document)
    assert "75.00" in text
    assert max(map(len, text.splitlines())) <= 100
    assert "more than 10 grey levels, dilated to 7x7 pixels" in foot(document)
    assert "mean absolute error in and out of that region, in grey levels of 255" in foot(document)


def test_a_region_that_hardly_changes_does_not_rule_the_mean() -> None:
    rows = [Row(SCORES | ALL | {"changed_gain": gain}) for gain in (0.5, 0.5, 0.5, -2000.0)]
    document = built(of_rows("alpha", *rows), diagnostics=True, intervals=True)
    found = cell(document, "alpha", "changed_gain")
    assert found.mean == 0.125
    assert found.interval is not None
    assert found.interval.low is not None
    assert found.interval.low >= -1.0
    assert "a record counts as -100% at worst (the error doubled)" in foot(document)


def test_a_gain_that_is_missing_has_a_lower_bound_there() -> None:
    document = built(
        of_rows("alpha", Row(SCORES | ALL), Row({}, {"ssim": "missing", "psnr": "missing"})), diagnostics=True
    )
    assert cell(document, "alpha", "changed_gain").bounds == (-0.25, 0.75)


def test_they_are_shown_only_where_asked_for() -> None:
    document = built(of_rows("alpha", Row(SCORES | ALL)))
    assert [column.metric for column in document.tables[0].columns] == ["ssim", "psnr"]
    assert "Diagnostics" not in foot(document)


def test_an_empty_region_does_not_count_and_a_failed_output_does() -> None:
    rows = [
        Row(SCORES | ALL),
        Row(SCORES | {"changed_share": 0.0, "kept_mae": 3.0, "psnr_gain": 1.0}),
        Row({}, {"ssim": "missing", "psnr": "missing"}),
    ]
    document = built(of_rows("alpha", *rows), diagnostics=True)
    changed, kept = cell(document, "alpha", "changed_mae"), cell(document, "alpha", "kept_mae")
    assert (changed.mean, changed.scored, changed.n) == (20.0, 1, 2)
    assert (kept.mean, kept.scored, kept.n, dict(kept.failures)) == (2.0, 2, 3, {"missing": 1})


def test_results_of_before_say_so() -> None:
    document = built(edits("alpha", [0.5], [20.0]), diagnostics=True)
    assert [column.metric for column in document.tables[0].columns] == ["ssim", "psnr"]
    assert "No diagnostics: these results are from before them. Score again." in foot(document)


def test_no_ops_are_counted_in_every_foot() -> None:
    document = built(of_rows("alpha", Row(SCORES, {}, ("no_op",)), Row(SCORES)))
    assert "no_op: alpha 1/2 (50.0%)" in foot(document)
    assert "no_op: output identical to the input" in foot(document)


def test_pass_rates_have_none() -> None:
    with pytest.raises(UsageError, match="expected with --as means"):
        built(of_rows("alpha", Row(SCORES | ALL)), diagnostics=True, marks=load_marks())
