import json
from pathlib import Path
from typing import Any

import pytest

from medgen_metrics.bleu import corpus_bleu
from medgen_metrics.bleu import statistics
from medgen_metrics.rows import Row
from medgen_scripts.tables.build import build
from medgen_scripts.tables.render_data import render_csv
from medgen_scripts.tables.render_data import render_json
from medgen_scripts.tables.show import Show
from tests.scripts.built import as_text
from tests.scripts.built import built
from tests.scripts.built import cell
from tests.scripts.built import edits
from tests.scripts.built import foot
from tests.scripts.results import config_result
from tests.scripts.results import result

FLOOR = edits("shuffled", [0.25, 0.25], [10.0, 12.0], [0.5, 0.5])
CEILING = edits("reference", [1.0, 1.0], [100.0, 100.0], [0.0, 0.0])
STILL = edits("copy-input", [0.75, 0.5], [20.0, 30.0], [0.25, 0.25])


def position(document: Any, system: str, metric: str, **place: str) -> float | None:
    return cell(document, system, metric, **place).position


def test_a_mean_lies_between_floor_and_ceiling() -> None:
    document = built(edits("alpha", [0.5, 0.75], [20.0, 22.0], [0.2, 0.3]), FLOOR, CEILING, STILL, anchors=True)
    assert position(document, "alpha", "ssim") == pytest.approx(0.5)
    assert position(document, "alpha", "lpips") == pytest.approx(0.5)  # halfway down, since less is better
    assert position(document, "shuffled", "ssim") == 0.0
    assert position(document, "reference", "lpips") == 1.0
    assert "at 50%" in as_text(document)


def test_psnr_is_a_gain_in_db_and_the_references_cap_is_none() -> None:
    document = built(edits("alpha", [0.5, 0.75], [20.0, 22.0]), FLOOR, CEILING, anchors=True)
    assert position(document, "alpha", "psnr") == pytest.approx(10.0)
    assert position(document, "reference", "psnr") is None
    assert "+10.00 dB" in as_text(document)


def test_doing_nothing_is_marked() -> None:
    document = built(edits("alpha", [0.5, 0.75]), FLOOR, CEILING, STILL, anchors=True)
    assert "Doing nothing (copy-input) is worth: SSIM at 50%, PSNR +14.00 dB, LPIPS at 50%." in foot(document)


def test_only_records_that_all_three_have_scored_count() -> None:
    floor = edits("shuffled", [0.0, 0.5, None])
    document = built(edits("alpha", [None, 0.75, 0.9]), floor, edits("reference", [1.0] * 3), anchors=True)
    assert position(document, "alpha", "ssim") == pytest.approx(0.5)


def test_groups_have_anchors_of_their_own_records() -> None:
    kinds = {"modalities": ["CT", "MRI"]}
    files = [edits("alpha", [0.5, 0.5], **kinds), edits("shuffled", [0.0, 0.25], **kinds)]
    document = built(*files, edits("reference", [1.0, 1.0], **kinds), anchors=True, by="modality")
    assert position(document, "alpha", "ssim", kind="group", group="CT") == pytest.approx(0.5)
    assert position(document, "alpha", "ssim", kind="group", group="MRI") == pytest.approx(1 / 3)


def test_no_position_without_distance_or_anchors() -> None:
    flat = edits("shuffled", [1.0, 1.0])
    assert position(built(edits("alpha", [0.5, 0.5]), flat, CEILING, anchors=True), "alpha", "ssim") is None
    document = built(edits("alpha", [0.5, 0.5], [20.0, 20.0]), FLOOR, anchors=True)
    assert position(document, "alpha", "ssim") is None
    assert position(document, "alpha", "psnr") == pytest.approx(9.0)
    assert (
        "--anchors lacks reference, copy-input over the same records. Make them: medgen-bench run reference vqa edit "
        "gen && medgen-bench run copy-input vqa edit gen. Score them: medgen-bench score out/predictions/reference "
        "out/predictions/copy-input (with --tiers as the others)."
    ) in foot(document)


def test_anchors_that_lie_beside_the_results_are_to_be_passed(tmp_path: Path) -> None:
    alpha = edits("alpha", [0.5, 0.5])
    (tmp_path / "shuffled.json").write_text(FLOOR.model_dump_json())
    others = edits("reference", [1.0, 1.0, 1.0])  # over other records
    (tmp_path / "reference.json").write_text(others.model_dump_json())
    (tmp_path / "copy-input.json").write_text("{}")
    document = build([(tmp_path / "alpha.json", alpha)], Show(anchors=True))
    said = foot(document)
    assert f"Pass them: {tmp_path}/shuffled.json. Make them: medgen-bench run reference vqa edit gen && " in said
    assert "run copy-input" in said
    assert "run shuffled" not in said
    practical = build([(tmp_path / "alpha.json", edits("alpha", [0.5, None]))], Show(practical=True))
    assert f"Pass them: {tmp_path}/shuffled.json." in foot(practical)
    assert "Pass them" not in foot(build([(tmp_path / "alpha.json", alpha), (tmp_path / "f.json", FLOOR)], Show()))


def test_anchors_are_made_of_the_same_records() -> None:
    some = edits("alpha", [0.5, 0.5], edition="release", protocol="standard", limit=2)
    said = foot(built(some, anchors=True))
    same = "--edition release --limit 2 --seed 0"
    assert f"medgen-bench run shuffled vqa edit gen {same} && " in said
    assert f"out/predictions/copy-input {same} --protocol standard (with" in said


def test_positions_are_given_only_where_asked_for() -> None:
    document = built(edits("alpha", [0.5, 0.75]), FLOOR, CEILING)
    assert position(document, "alpha", "ssim") is None
    assert "position" not in render_csv(document) + render_json(document)


def test_machines_get_them() -> None:
    document = built(edits("alpha", [0.5, 0.75], [20.0, 22.0]), FLOOR, CEILING, anchors=True)
    cells = json.loads(render_json(document))["tables"][0]["rows"][0]["cells"]
    assert cells["ssim"]["position"] == pytest.approx(0.5)
    assert cells["psnr"]["gain_db"] == pytest.approx(10.0)


def test_a_corpus_score_lies_between_corpus_scores() -> None:
    reference = ["a b c d e f", "u v w x y z"]
    texts = {"alpha": ["a b c d e", "u v w z"], "shuffled": ["u v w x", "a b c d e z z"], "reference": reference}
    options = {"text": {"metrics": ["bleu"]}}
    scores, files = {}, []
    for system, answers in texts.items():
        rows = [statistics(*pair) for pair in zip(answers, reference, strict=True)]
        scores[system] = corpus_bleu(rows) or 0.0
        made = config_result({"text": [Row(row) for row in rows]}, options=options, protocol="standard")
        files.append(result(system, {"vqa": made}, protocol="standard"))
    expected = (scores["alpha"] - scores["shuffled"]) / (scores["reference"] - scores["shuffled"])
    assert position(built(*files, anchors=True), "alpha", "bleu") == pytest.approx(expected)


# --- practical bounds -----------------------------------------------------------------------------------------------


def test_practical_bounds_end_at_the_floor() -> None:
    alpha = edits("alpha", [0.75, None], [20.0, None], [0.2, None])
    document = built(alpha, FLOOR, practical=True)
    assert cell(document, "alpha", "ssim").bounds == (0.5, 0.875)
    assert cell(document, "alpha", "psnr").bounds == (15.5, 60.0)
    assert cell(document, "alpha", "lpips").bounds == pytest.approx((0.1, 0.35))
    assert "an assumption: that no unscored record is worse than shuffled outputs" in foot(document)
    assert "alpha (SSIM 50.00 to 87.50" in foot(document)
    found = json.loads(render_json(document))["tables"][0]["rows"][0]["cells"]["ssim"]
    assert (found["bound_low"], found["bounds"]) == (0.5, "practical")


def test_practical_bounds_may_settle_an_order() -> None:
    many = [0.75] * 9
    files = [edits("alpha", [*many, 0.75]), edits("beta", [*many, None]), edits("gamma", [0.6] * 10)]
    floor = edits("shuffled", [0.5] * 10)
    warning = "the order in SSIM could flip: beta before gamma"
    assert warning in foot(built(*files, floor))
    assert warning not in foot(built(*files, floor, practical=True))


def test_practical_bounds_need_the_floor() -> None:
    document = built(edits("alpha", [0.75, None]), practical=True)
    assert cell(document, "alpha", "ssim").bounds == (-0.125, 0.875)
    assert "No practical bounds: they need shuffled's result over the same records." in foot(document)
    assert "at the worst and at the best of the range" in foot(document)
