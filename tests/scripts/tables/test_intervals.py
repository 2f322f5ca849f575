import csv
import io
import json

import pytest

from medgen_metrics.bleu import statistics
from medgen_metrics.bootstrap import mean_interval
from medgen_metrics.rows import Row
from medgen_scripts.tables.render_data import render_csv
from medgen_scripts.tables.render_data import render_json
from tests.scripts.built import as_text
from tests.scripts.built import built
from tests.scripts.built import cell
from tests.scripts.built import edits
from tests.scripts.built import foot
from tests.scripts.results import config_result
from tests.scripts.results import result

VALUES = [0.1, 0.2, 0.9, 0.8, 0.5, 0.6]
GROUPS = ["a", "a", "b", "b", "c", "d"]


def test_intervals_resample_groups_and_stand_beside_the_mean() -> None:
    document = built(edits("alpha", VALUES, groups=GROUPS), intervals=True)
    expected = mean_interval(VALUES, GROUPS)
    assert cell(document, "alpha", "ssim").interval == expected
    assert expected.low is not None
    assert expected.high is not None
    assert f"{expected.low * 100:.2f}–{expected.high * 100:.2f}" in as_text(document)
    assert "SSIM: 4 groups, the largest of 2 records." in foot(document)
    assert "Patients that records share unknown to the data set make intervals too narrow." in foot(document)


def test_they_are_given_only_where_asked_for() -> None:
    document = built(edits("alpha", VALUES, groups=GROUPS))
    assert cell(document, "alpha", "ssim").interval is None
    assert "bootstrap" not in foot(document)
    assert "interval_low" not in render_csv(document)
    assert "interval_low" not in render_json(document)


def test_the_sample_has_none_unless_illustrative() -> None:
    file = edits("alpha", VALUES, groups=GROUPS, edition="sample")
    document = built(file, intervals=True)
    assert cell(document, "alpha", "ssim").interval is None
    assert "On edition sample no best and second are set, and no intervals given (--illustrative does it)." in foot(
        document
    )
    assert cell(built(file, intervals=True, illustrative=True), "alpha", "ssim").interval is not None


def test_groups_of_a_grouped_table_are_those_of_its_records() -> None:
    file = edits("alpha", VALUES, groups=GROUPS, modalities=["CT", "CT", "CT", "CT", "MRI", "MRI"])
    document = built(file, intervals=True, by="modality")
    assert cell(document, "alpha", "ssim", kind="group", group="CT").interval == mean_interval(VALUES[:4], GROUPS[:4])
    assert cell(document, "alpha", "ssim", kind="micro").interval == mean_interval(VALUES, GROUPS)
    assert cell(document, "alpha", "ssim", kind="macro").interval is None


def test_one_group_has_no_interval_and_says_so() -> None:
    document = built(edits("alpha", [0.1, 0.2], groups=["a", "a"]), intervals=True)
    assert "No interval (fewer than two groups, or no mean over records): alpha SSIM." in foot(document)


def test_em_of_nothing_but_right_answers_has_wilsons_interval() -> None:
    rows = [Row({"em": 1.0}) for _ in range(10)]
    file = result("alpha", {"vqa": config_result({"text": rows}, options={"text": {"metrics": ["em"]}})})
    made = cell(built(file, intervals=True), "alpha", "em").interval
    assert made is not None
    assert made[:2] == pytest.approx((10 / 13.841459, 1.0), abs=1e-6)


def test_corpus_bleu_has_one_too() -> None:
    pairs = [("a b c d e", "a b c d f"), ("a b c d", "a b c d"), ("x y z u v w", "x y z w")]
    rows = [Row(statistics(*pair)) for pair in pairs * 3]
    options = {"text": {"metrics": ["bleu"]}}
    file = result("alpha", {"vqa": config_result({"text": rows}, options=options, protocol="standard")})
    found = cell(built(file, intervals=True), "alpha", "bleu")
    assert found.interval is not None
    assert found.mean is not None
    assert found.interval.low is not None
    assert found.interval.high is not None
    assert found.interval.low < found.mean < found.interval.high


def test_machines_get_the_ends_and_the_groups() -> None:
    document = built(edits("alpha", VALUES, groups=GROUPS), intervals=True)
    low, high, *_ = mean_interval(VALUES, GROUPS)
    (row,) = csv.DictReader(io.StringIO(render_csv(document)))
    assert (float(row["interval_low"]), float(row["interval_high"])) == (low, high)
    assert (row["groups"], row["largest_group"]) == ("4", "2")
    found = json.loads(render_json(document))["tables"][0]["rows"][0]["cells"]["ssim"]
    assert (found["interval_low"], found["largest_group"]) == (low, 2)
