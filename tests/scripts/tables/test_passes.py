from pathlib import Path
from typing import Any

import pytest

from medgen_metrics.rows import Row
from medgen_scripts.cli import main
from medgen_scripts.errors import UsageError
from medgen_scripts.tables.model import Document
from medgen_scripts.tables.passes import Marks
from medgen_scripts.tables.passes import load_marks
from tests.scripts.built import as_text
from tests.scripts.built import built
from tests.scripts.built import cell
from tests.scripts.built import edits
from tests.scripts.built import foot
from tests.scripts.results import config_result
from tests.scripts.results import result


def rates(*files: Any, marks: Marks | None = None, **options: Any) -> Document:
    return built(*files, marks=marks or load_marks(), **options)


def of_rows(*rows: Row, protocol: str = "paper", tier: str = "pixel", **options: Any) -> Any:
    config = {"pixel": "edit", "text": "vqa"}[tier]
    made = config_result({tier: rows}, protocol=protocol, **options)
    return result("alpha", {config: made}, protocol=protocol)


def test_published_marks() -> None:
    made = load_marks()
    assert {name: [mark.name for mark in marks] for name, marks in made.sets.items()} == {
        "published": ["ssim>=0.7", "psnr>=28", "lpips<=0.6", "mii>=0.7", "bleu>=0.09", "bertscore>=0.9"],
        "first": ["ssim>=0.1"],
    }


def test_both_ssim_marks_are_columns_and_a_value_on_the_mark_passes() -> None:
    document = rates(edits("alpha", [0.7, 0.69, 0.1, 0.05], [28.0, 27.9, 30.0, 10.0], [0.6, 0.61, 0.1, 0.9]))
    heads = [column.head for column in document.tables[0].columns]
    # In the units of the metrics' own cells.
    assert heads == ["SSIM≥10%", "SSIM≥70%", "PSNR≥28 dB", "LPIPS≤60%"]
    assert [column.unit for column in document.tables[0].columns] == ["%"] * 4
    assert cell(document, "alpha", "ssim>=0.7").mean == 0.25
    assert cell(document, "alpha", "ssim>=0.1").mean == 0.75
    assert cell(document, "alpha", "psnr>=28").mean == 0.5
    assert cell(document, "alpha", "lpips<=0.6").mean == 0.5
    assert (
        "published (the marks of the published evaluator's newest version): SSIM≥70%, PSNR≥28 dB, LPIPS≤60%; "
        "first (those of its first two versions, where they differ): SSIM≥10%."
    ) in foot(document)
    assert "Units:" not in foot(document)
    assert "75.00" in as_text(document)


def test_more_passes_are_better_also_where_less_of_the_metric_is() -> None:
    document = rates(edits("alpha", [0.9], None, [0.7]), edits("beta", [0.9], None, [0.5]))
    assert cell(document, "beta", "lpips<=0.6").mark == "best"


def test_a_systems_failure_fails() -> None:
    document = rates(edits("alpha", [0.9, None, None, None], [30.0, None, None, None], reason="unreadable"))
    found = cell(document, "alpha", "ssim>=0.7")
    assert (found.mean, found.scored, found.n) == (0.25, 4, 4)
    assert "Failed without regard to a score: alpha (unreadable 3)." in foot(document)


def test_an_evaluations_reason_is_left_out_with_its_coverage() -> None:
    rows = [Row({"ssim": 0.9, "psnr": 30.0}), Row({"psnr": 30.0}, {"ssim": "too_small"})]
    document = rates(of_rows(*rows, options={"pixel": {"metrics": ["ssim", "psnr"]}}))
    found = cell(document, "alpha", "ssim>=0.7")
    assert (found.mean, found.scored, found.n, dict(found.failures)) == (1.0, 1, 2, {"too_small": 1})
    assert "1/2" in as_text(document)
    assert cell(document, "alpha", "psnr>=28").complete


def test_a_metric_that_nobody_has_weights_for_is_left_out() -> None:
    document = rates(edits("alpha", [0.9], [30.0]))
    assert "lpips<=0.6" not in [column.metric for column in document.tables[0].columns]
    assert "weights fetch lpips-alex" in foot(document)


def test_failed_outputs_alone_make_no_rate_of_a_metric_without_weights() -> None:
    rows = [
        Row({"ssim": 0.9, "psnr": 30.0}, {"lpips": "weights_missing"}),
        Row({}, {"ssim": "missing", "psnr": "missing", "lpips": "missing"}),
    ]
    assert [column.metric for column in rates(of_rows(*rows)).tables[0].columns] == [
        "ssim>=0.1",
        "ssim>=0.7",
        "psnr>=28",
    ]


def test_identical_images_without_a_finite_psnr_pass() -> None:
    rows = [Row({"ssim": 1.0, "mse": 0.0}), Row({"ssim": 0.5, "psnr": 20.0, "mse": 650.0})]
    document = rates(of_rows(*rows, protocol="standard", options={"pixel": {"metrics": ["ssim", "psnr"]}}))
    assert cell(document, "alpha", "psnr>=28").mean == 0.5


@pytest.mark.parametrize(("protocol", "expected"), [("paper", 1.0), ("standard", 0.5)])
def test_a_resolution_left_as_it_was_fails_under_standard(protocol: str, expected: float) -> None:
    values = {"ssim": 0.9, "psnr": 30.0, "mse": 65.0}
    rows = [Row(values), Row(values, {}, ("resized", "unresized_resolution"))]
    document = rates(of_rows(*rows, protocol=protocol, options={"pixel": {"metrics": ["ssim", "psnr"]}}))
    assert cell(document, "alpha", "ssim>=0.7").mean == expected
    assert cell(document, "alpha", "psnr>=28").mean == expected
    assert ("unresized_resolution 1" in foot(document)) == (protocol == "standard")


def test_text_marks_and_metrics_without_one() -> None:
    rows = [
        Row({"bleu": 0.09, "bertscore": 0.9, "em": 1.0}),
        Row({"bleu": 0.08, "bertscore": 0.89, "em": 0.0}),
        Row({"em": 0.0}, {"bleu": "missing", "bertscore": "missing", "em": "missing"}),
    ]
    document = rates(of_rows(*rows, tier="text"))
    assert cell(document, "alpha", "bleu>=0.09").mean == pytest.approx(1 / 3)
    assert cell(document, "alpha", "bertscore>=0.9").mean == pytest.approx(1 / 3)
    assert "No mark is set for EM (--thresholds FILE sets some)." in foot(document)


def test_a_stand_in_has_no_mark_of_the_real_model() -> None:
    options = {"text": {"metrics": ["bleu", "bertscore"], "model": "all-MiniLM-L6-v2"}}
    document = rates(of_rows(Row({"bleu": 0.5, "bertscore[all-MiniLM-L6-v2]": 0.95}), tier="text", options=options))
    assert [column.metric for column in document.tables[0].columns] == ["bleu>=0.09"]
    assert "No mark is set for BERTScore[all-MiniLM-L6-v2]" in foot(document)


def test_rates_have_intervals() -> None:
    document = rates(edits("alpha", [0.9] * 10), intervals=True)
    made = cell(document, "alpha", "ssim>=0.7").interval
    assert made is not None
    assert made[:2] == pytest.approx((10 / 13.841459, 1.0), abs=1e-6)


def test_rates_by_group() -> None:
    document = rates(edits("alpha", [0.9, 0.1], tasks=["x", "y"]), by="task")
    assert cell(document, "alpha", "ssim>=0.7", kind="group", group="x").mean == 1.0
    assert cell(document, "alpha", "ssim>=0.7", kind="macro").mean == 0.5


def test_marks_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits("alpha", [0.9, 0.5]).save(tmp_path / "alpha.json")
    (tmp_path / "own.yaml").write_text("sets: {mine: {ssim: {at_least: 0.45}}}")
    arguments = ["table", str(tmp_path / "alpha.json"), "--thresholds", str(tmp_path / "own.yaml")]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--as", "pass-rates"])
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert "SSIM≥45%" in out
    assert "mine: SSIM≥45%." in " ".join(out.split())
    assert "100.00" in out
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "--as pass-rates" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["- 1", "sets: {a: {ssim: 0.7}}", "sets: {a: {ssim: {at_least: 1, at_most: 2}}}", "sets: {a: {ssim: {}}}", "{:"],
)
def test_marks_of_another_form_are_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(UsageError, match=r"--thresholds .*own\.yaml: expected YAML like"):
        load_marks(tmp_path / "own.yaml")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- 1", "the file: expected a mapping, got a list"),
        ("sets: {a: {ssim: 0.7}}", "sets.a.ssim: expected a mapping, got 0.7"),
        ("sets: {a: {ssim: {at_least: light}}}", "sets.a.ssim.at_least: expected a number, got 'light'"),
        ("sets: {a: {ssim: {at_least: .nan}}}", "sets.a.ssim.at_least: expected finite number, got nan"),
        ("sets: {a: {ssim: {}}}", "sets.a.ssim: expected one of at_least and at_most, got none"),
        ("sets: {a: {ssim: {at_least: 1, at_most: 2}}}", "expected one of at_least and at_most, got both"),
        ("sets: {a: {ssim: {above: 1, at_least: 2}}}", "sets.a.ssim.above: expected no such field, got 1"),
        ("about: {b: mine}\nsets: {a: {ssim: {at_least: 1}}}", "about: expected names of sets (a), got b"),
        ("about: {a: mine}", "sets: expected a value, got none"),
    ],
)
def test_faults_of_marks_are_told_in_our_words(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(UsageError) as error:
        load_marks(tmp_path / "own.yaml")
    assert said in str(error.value)
    for phrase in ("Input should", "Value error", "validation error", "pydantic", "\n"):
        assert phrase not in str(error.value)


def test_marks_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        load_marks(tmp_path / "own.yaml")


def test_best_rests_on_what_was_decided_for_every_system() -> None:
    # alpha's failure is decided (it fails), beta's image was too small to be judged.
    alpha = edits("alpha", [0.9, None, 0.9])
    beta = edits("beta", [0.9, 0.9, None], reason="too_small")
    document = rates(alpha, beta)
    assert document.tables[0].common["ssim>=0.7"] == 2
    assert cell(document, "alpha", "ssim>=0.7").common == 0.5
    assert cell(document, "beta", "ssim>=0.7").mark == "best"
