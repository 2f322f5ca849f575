import csv
import io
import json
import re
from pathlib import Path

import pytest

from medgen_metrics.bleu import statistics
from medgen_metrics.rows import Row
from medgen_scripts.errors import UsageError
from medgen_scripts.result_file import ResultFile
from medgen_scripts.table import FORMATS
from medgen_scripts.table import table
from medgen_scripts.tables.build import build
from medgen_scripts.tables.columns import column_signature
from medgen_scripts.tables.columns import head
from medgen_scripts.tables.columns import tier_specs
from medgen_scripts.tables.columns import unit
from medgen_scripts.tables.columns import weights_of
from medgen_scripts.tables.model import Cell
from medgen_scripts.tables.model import Document
from medgen_scripts.tables.printing import printable
from medgen_scripts.tables.printing import printed
from medgen_scripts.tables.render_data import render_csv
from medgen_scripts.tables.show import Show

from .built import as_text
from .built import built
from .built import cell
from .built import edits
from .built import foot
from .results import SIGNATURES
from .results import config_result
from .results import result


def marks(document: Document, metric: str, **place: str) -> dict[str, str]:
    kind, group = place.get("kind", "all"), place.get("group", "")
    lines = [line for line in document.tables[0].lines if (line.kind, line.group) == (kind, group)]
    found = {line.system: cell(document, line.system, metric, kind=kind, group=group).mark for line in lines}
    return {system: mark for system, mark in found.items() if mark}


# --- what is printed, literally -------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two systems and an anchor; the second lacks an output, and nobody has LPIPS."""
    unavailable = {"pixel": {"lpips": "weights lpips-alex are not on this machine"}}
    alpha = edits("alpha_1", [0.5, 0.25, 0.75, 0.5], [20.0, 21.0, 22.0, 23.0], unavailable=unavailable)
    beta = edits("beta", [0.75, None, 0.5, 0.25], [30.0, None, 20.0, 10.0], unavailable=unavailable)
    copy = edits("copy-input", [1.0] * 4, [100.0] * 4, unavailable=unavailable)
    paths = []
    for file in (copy, alpha, beta):
        file.save(tmp_path / f"{file.system}.json")
        paths.append(tmp_path / f"{file.system}.json")
    return paths


EXPECTED = Path(__file__).parent / "expected"


@pytest.mark.parametrize(("format", "suffix"), [("text", "txt"), ("markdown", "md"), ("latex", "tex"), ("csv", "csv")])
def test_what_is_printed(files: list[Path], capsys: pytest.CaptureFixture[str], format: str, suffix: str) -> None:
    table(files, format=format)
    assert capsys.readouterr().out == (EXPECTED / f"table.{suffix}").read_text(encoding="utf-8")


def test_json(files: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    table(files, format="json")
    content = json.loads(capsys.readouterr().out)
    assert content["format"] == "medgen-bench/table@1"
    (one,) = content["tables"]
    assert {key: one[key] for key in ("config", "edition", "protocol", "records", "selected", "by")} == {
        "config": "edit",
        "edition": "paper",
        "protocol": "paper",
        "records": 4,
        "selected": 4,
        "by": None,
    }
    assert one["columns"][0] == {
        "metric": "ssim",
        "tier": "pixel",
        "head": "SSIM",
        "unit": "%",
        "higher_is_better": True,
        "ranked": True,
        "common": 3,
        "signatures": [SIGNATURES["pixel"]],
    }
    assert [(row["system"], row["role"]) for row in one["rows"]] == [
        ("alpha_1", ""),
        ("beta", ""),
        ("copy-input", "does nothing"),
    ]
    assert one["rows"][1]["cells"]["psnr"] == {
        "printed": "20.00",
        "value": 20.0,
        "mark": "second",
        "scored": 3,
        "n": 4,
        "coverage": 0.75,
        "mean_failures_worst": 15.0,
        "bound_low": 15.0,
        "bound_high": 40.0,
        "common_mean": 20.0,
        "failures": {"missing": 1},
        "extras": {},
    }
    assert content["notes"][-1] == (
        "Neither similarity scores nor a judge's scores are evidence of clinical correctness."
    )


def test_a_terminal_gets_bold_and_underlined(files: list[Path]) -> None:
    from medgen_scripts.result_file import load_all

    text = as_text(build(load_all(files)), force_terminal=True, color_system="standard", legacy_windows=False)
    assert re.search(r"\x1b\[1m21\.50\x1b\[0m", text)
    assert re.search(r"\x1b\[4m20\.00\x1b\[0m", text)
    assert "Best is bold, second underlined." in text


# --- best and second ------------------------------------------------------------------------------------------------


def test_marks_rest_on_the_records_that_every_system_has_scored() -> None:
    # Over its own records beta is better; over the two that both have scored it is worse.
    document = built(edits("alpha", [0.6, 0.6, 0.1]), edits("beta", [0.5, None, 0.6]))
    assert cell(document, "alpha", "ssim").mean == pytest.approx(1.3 / 3)
    assert cell(document, "alpha", "ssim").common == pytest.approx(0.35)
    assert cell(document, "beta", "ssim").common == pytest.approx(0.55)
    assert marks(document, "ssim") == {"beta": "best", "alpha": "second"}
    assert "Best and second of SSIM rest on the 2 of 3 records that every shown system has scored." in foot(document)


def test_an_easier_subset_does_not_win() -> None:
    document = built(edits("alpha", [0.9, 0.2]), edits("beta", [0.8, None]))
    assert cell(document, "beta", "ssim").mean > cell(document, "alpha", "ssim").mean  # type: ignore[operator]
    # Nor is alpha's lower figure set best: a reader would take that for an error.
    assert marks(document, "ssim") == {}
    assert (
        "No best and second of SSIM: over the 1 records that every shown system has scored the order is another than "
        "that of the printed means (over these records: alpha 90.00, beta 80.00)."
    ) in foot(document)


@pytest.mark.parametrize(
    "pair",
    [
        # tied over the common record, printed apart
        (edits("alpha", [0.5, 0.7]), edits("beta", [0.5, None])),
        # printed alike, apart over the common record
        (edits("alpha", [0.5, 0.7]), edits("beta", [0.6, None])),
        # less is better
        (edits("alpha", [0.5] * 2, None, [0.2, 0.9]), edits("beta", [0.5] * 2, None, [0.3, None])),
    ],
)
def test_no_marks_where_printed_means_would_have_others(pair: tuple[ResultFile, ResultFile]) -> None:
    document = built(*pair)
    metric = document.tables[0].columns[-1].metric
    assert marks(document, metric) == {}
    assert "the order is another than that of the printed means" in foot(document)


def test_a_third_system_below_does_not_take_the_marks_away() -> None:
    third, fourth = edits("gamma", [0.3, 0.1]), edits("delta", [0.2, None])
    document = built(edits("alpha", [0.9, 0.9]), edits("beta", [0.8, 0.8]), third, fourth)
    assert marks(document, "ssim") == {"alpha": "best", "beta": "second"}


def test_a_group_without_marks_is_named() -> None:
    tasks = ["x", "x", "y", "y"]
    document = built(
        edits("alpha", [0.9, 0.2, 0.5, 0.5], tasks=tasks), edits("beta", [0.8, None, 0.4, 0.4], tasks=tasks), by="task"
    )
    assert marks(document, "ssim", kind="group", group="x") == {}
    assert marks(document, "ssim", kind="group", group="y") == {"alpha": "best", "beta": "second"}
    said = (
        "No best and second of SSIM there: over the 3 records that every shown system has scored the order is another"
    )
    assert said in foot(document)
    assert "(over these records: x: alpha 90.00, beta 80.00" in foot(document)


def test_lower_is_better_where_the_column_says_so() -> None:
    document = built(edits("alpha", [0.5], [20.0], [0.4]), edits("beta", [0.5], [20.0], [0.3]))
    assert marks(document, "lpips") == {"beta": "best", "alpha": "second"}


def test_values_that_print_alike_are_tied_and_all_marked() -> None:
    document = built(
        edits("alpha", [0.50001]),
        edits("beta", [0.50002]),
        edits("gamma", [0.4]),
        edits("delta", [0.4]),
        edits("e", [0.3]),
    )
    assert marks(document, "ssim") == {"alpha": "best", "beta": "best", "gamma": "second", "delta": "second"}


def test_an_oracle_takes_no_record_away() -> None:
    document = built(edits("alpha", [0.5, 0.5]), edits("beta", [0.6, 0.6]), edits("recipe", [1.0, None]))
    assert document.tables[0].common["ssim"] == 2
    assert marks(document, "ssim") == {"beta": "best", "alpha": "second"}
    assert "recipe (oracle)" in foot(document)


def test_no_marks_without_common_records() -> None:
    document = built(edits("alpha", [0.5, None]), edits("beta", [None, 0.6]))
    assert marks(document, "ssim") == {}
    assert "No best and second of SSIM: no record is scored for every shown system." in foot(document)


def test_a_single_system_is_not_best() -> None:
    assert marks(built(edits("alpha", [0.5])), "ssim") == {}
    document = built(edits("alpha", [0.5]), edits("reference", [1.0]))
    assert marks(document, "ssim") == {}
    assert "Best" not in foot(document)


def test_anchors_are_shown_last_and_never_marked() -> None:
    document = built(
        edits("reference", [1.0]),
        edits("beta", [0.1]),
        edits("copy-input", [0.9]),
        edits("alpha", [0.2]),
        edits("blank", [0.0]),
    )
    assert [line.system for line in document.tables[0].lines] == ["beta", "alpha", "copy-input", "blank", "reference"]
    assert marks(document, "ssim") == {"alpha": "best", "beta": "second"}
    assert "Not ranked: copy-input (does nothing), blank (empty output), reference (upper bound)." in foot(document)


def test_the_sample_has_no_best_unless_asked_for() -> None:
    pair = [
        edits(name, [value], edition="sample", edition_note="illustrative") for name, value in (("a", 0.5), ("b", 0.6))
    ]
    document = built(*pair)
    assert marks(document, "ssim") == {}
    assert "On edition sample no best and second are set (--illustrative does it)." in foot(document)
    assert marks(built(*pair, illustrative=True), "ssim") == {"b": "best", "a": "second"}
    assert "On edition sample" not in foot(built(*pair, illustrative=True))


# --- coverage, failures, weights ------------------------------------------------------------------------------------


def test_coverage_stands_in_every_incomplete_cell_and_only_there() -> None:
    text = as_text(built(edits("alpha", [0.5, None], [20.0, 30.0]), edits("beta", [0.5, 0.5], [20.0, 30.0])))
    assert text.count(" 1/2") == 1
    assert "2/2" not in text
    assert "scored/n" in text
    complete = as_text(built(edits("beta", [0.5, 0.5])))
    assert "scored/n" not in complete


def test_unscored_records_are_counted_by_reason() -> None:
    document = built(edits("alpha", [0.5, None, None], [20.0, None, None], reason="unreadable"))
    assert "Unscored records: alpha (SSIM, PSNR: unreadable 2)." in foot(document)


def test_bounds_put_unscored_records_at_both_ends_of_the_range() -> None:
    document = built(edits("alpha", [0.5, None], [20.0, None], [0.25, None]))
    assert cell(document, "alpha", "ssim").bounds == (-0.25, 0.75)
    assert cell(document, "alpha", "psnr").bounds == (10.0, 60.0)
    assert cell(document, "alpha", "lpips").bounds == (0.125, None)
    assert (
        "Means with unscored records at the worst and at the best of the range: "
        "alpha (SSIM -25.00 to 75.00, PSNR 10.00 to 60.00, LPIPS 12.50 or more)."
    ) in foot(document)


def test_bounds_of_text_metrics() -> None:
    right, wrong = Row({"em": 1.0, "bertscore": 0.8}), Row({"em": 0.0, "bertscore": 0.8})
    unparsable = Row({"em": 0.0, "bertscore": 0.8}, {"em": "unparsable"})
    missing = Row({"em": 0.0}, {"em": "missing", "bertscore": "missing"})
    options = {"text": {"metrics": ["em", "bertscore"]}}
    file = result("alpha", {"vqa": config_result({"text": [right, wrong, unparsable, missing]}, options=options)})
    document = built(file)
    # The answer that can't be parsed may be right; the missing one is wrong, as defined.
    assert cell(document, "alpha", "em").bounds == (0.25, 0.5)
    assert cell(document, "alpha", "bertscore").bounds == (pytest.approx(0.35), pytest.approx(0.85))


def test_complete_means_have_no_room() -> None:
    document = built(edits("alpha", [0.5, 0.25]))
    assert cell(document, "alpha", "ssim").bounds == (0.375, 0.375)
    assert "at the worst and at the best" not in foot(document)


def test_an_order_that_unscored_records_could_turn_is_warned_of() -> None:
    many = [0.75] * 100
    document = built(edits("alpha", [*many, 0.75]), edits("beta", [*many, None]), edits("gamma", [0.5] * 101))
    # alpha and beta print alike and are tied; gamma is out of beta's reach.
    assert "could flip" not in foot(document)
    document = built(edits("alpha", [*many, 0.75]), edits("beta", [*many[1:], 0.8, None]), edits("gamma", [0.5] * 101))
    assert "Warning: within these bounds the order in SSIM could flip: beta before alpha." in foot(document)


def test_an_order_is_warned_of_where_less_is_better() -> None:
    document = built(edits("alpha", [0.5] * 2, None, [0.25, 0.25]), edits("beta", [0.5] * 2, None, [0.125, None]))
    assert "the order in LPIPS could flip: beta before alpha." in foot(document)


def test_a_column_without_weights_is_left_out_and_named_with_its_remedy() -> None:
    document = built(edits("alpha", [0.5], [20.0], unavailable={"pixel": {"lpips": "not here"}}))
    assert [column.head for column in document.tables[0].columns] == ["SSIM", "PSNR"]
    assert "LPIPS: no weights: medgen-bench weights fetch lpips-alex, then score again" in foot(document)


def test_a_column_in_which_every_output_failed_is_shown() -> None:
    document = built(edits("alpha", [None, None], [None, None]))
    assert [column.head for column in document.tables[0].columns] == ["SSIM", "PSNR"]
    assert re.search(r"alpha +– +–\n +0/2 +0/2\n", as_text(document))


def test_a_column_that_nobody_has_weights_for_is_left_out_also_where_outputs_failed() -> None:
    rows = [Row({"ssim": 0.5}, {"lpips": "weights_missing"}), Row({}, {"ssim": "missing", "lpips": "missing"})]
    options = {"pixel": {"metrics": ["ssim", "lpips"]}}
    document = built(result("alpha", {"edit": config_result({"pixel": rows}, options=options)}))
    assert [column.head for column in document.tables[0].columns] == ["SSIM"]
    assert "LPIPS: no weights: medgen-bench weights fetch lpips-alex" in foot(document)


def test_flags_are_counted_with_their_share_of_what_was_scored() -> None:
    rows = [Row({"ssim": 0.5}, {}, ("resized",)), Row({"ssim": 0.5}, {}, ("odd",)), Row({}, {"ssim": "missing"})]
    options = {"pixel": {"metrics": ["ssim"]}}
    document = built(result("alpha", {"edit": config_result({"pixel": rows}, options=options)}))
    assert "\nresized: alpha 1/2 (50.0%)\nodd: alpha 1/2 (50.0%)\n" in foot(document)
    assert "Counted beside the scores: resized: output not of the reference's size, resized to it before" in foot(
        document
    )


def test_a_column_that_one_system_lacks_is_empty_for_it() -> None:
    document = built(
        edits("alpha", [0.5], [20.0], [0.1]), edits("beta", [0.5], [20.0], unavailable={"pixel": {"lpips": "not here"}})
    )
    assert cell(document, "beta", "lpips") == Cell(None, 0, 1, {"weights_missing": 1})
    assert "LPIPS: no weights for beta: medgen-bench weights fetch lpips-alex, then score again" in foot(document)
    assert re.search(r"beta +\*50\.00\* +\*20\.00\* +–\n +0/1\n", as_text(document))


def test_stand_ins_are_named_in_the_head_and_never_share_a_column() -> None:
    squeeze = SIGNATURES["pixel"].replace("alex", "squeeze")
    document = built(
        edits("alpha", [0.5], [20.0], [0.1]),
        result(
            "beta",
            {
                "edit": config_result(
                    {"pixel": [Row({"ssim": 0.5, "psnr": 20.0, "lpips[squeeze]": 0.2})]},
                    options={"pixel": {"lpips_net": "squeeze"}},
                    signatures={"pixel": squeeze},
                )
            },
        ),
    )
    (one,) = document.tables
    assert [column.head for column in one.columns] == ["SSIM", "PSNR", "LPIPS", "LPIPS[squeeze]"]
    assert [[c is None for c in line.cells] for line in one.lines] == [
        [False, False, False, True],
        [False, False, True, False],
    ]
    assert marks(built(edits("alpha", [0.5], [20.0], [0.1])), "lpips") == {}
    assert "[squeeze] ↓" in as_text(document)


@pytest.mark.parametrize(
    ("metric", "printed", "weights"),
    [
        ("ssim", "SSIM", None),
        ("lpips", "LPIPS", "lpips-alex"),
        ("lpips[squeeze]", "LPIPS[squeeze]", "lpips-squeeze"),
        ("bertscore", "PBScore", "pubmedbert"),
        ("bertscore[all-MiniLM-L6-v2]", "BERTScore[all-MiniLM-L6-v2]", None),
        ("em", "EM", None),
    ],
)
def test_heads_and_weights(metric: str, printed: str, weights: str | None) -> None:
    assert head(metric) == printed
    assert weights_of(metric) == weights


def test_printed_units_are_the_papers() -> None:
    specs = {**tier_specs(Path(), "pixel", {"protocol": "paper"}), **tier_specs(Path(), "text", {"protocol": "paper"})}
    assert {name: unit(spec) for name, spec in specs.items()} == {
        "ssim": "%",
        "psnr": "dB",
        "lpips": "%",
        "bleu": "%",
        "bertscore": "%",
        "em": "%",
    }


# --- exact match ----------------------------------------------------------------------------------------------------


def answers(*scores: float | str) -> list[Row]:
    """Text rows: EM's value, or the reason of a failure."""
    rows = []
    for score in scores:
        failed = isinstance(score, str)
        values = {**statistics("a b c d", "a b c d"), "em": 0.0 if failed else score, "em_chance": 0.25}
        rows.append(Row(values, {"em": score} if failed else {}))  # type: ignore[dict-item, arg-type]
    return rows


def vqa(system: str, *scores: float | str, protocol: str = "paper") -> ResultFile:
    return result(system, {"vqa": config_result({"text": answers(*scores)}, protocol=protocol)}, protocol=protocol)


def test_the_papers_exact_match_prints_its_denominators_and_is_never_best() -> None:
    document = built(vqa("alpha", 1.0, 1.0, 0.0, "unparsable", "missing"), vqa("beta", 1.0, 1.0, 1.0, 1.0, 1.0))
    # The mean is the first of the two shares; one unparsable answer is in neither of its numbers.
    assert re.search(r"alpha +\S+ +50\.00\n +2/4 right\n +3/5 parsed\n", as_text(document))
    assert re.search(r"beta +\S+ +100\.00\n +5/5 right\n +5/5 parsed\n", as_text(document))
    assert marks(document, "em") == {}
    assert marks(document, "bleu") == {"alpha": "best", "beta": "best"}
    assert "the right answers over those that count, and the parsed ones over all closed questions" in foot(document)
    assert "scored/n" not in foot(document)


def test_exact_match_over_groups_has_no_shares_and_csv_has_those_over_records() -> None:
    document = built(vqa("alpha", 1.0, 1.0, 0.0, "unparsable", "missing"), by="task")
    (table,) = document.tables
    (column,) = [column for column in table.columns if column.metric == "em"]
    cells = {line.kind: line.cells[table.columns.index(column)] for line in table.lines}
    assert printed(column, cells["micro"], "paper").details == ("2/4 right", "3/5 parsed")
    assert printed(column, cells["macro"], "paper").details == ()
    figures = {
        (row["kind"], row["metric"]): [row[name] for name in ("right", "parsed", "closed")]
        for row in csv.DictReader(io.StringIO(render_csv(document)))
    }
    assert figures["micro", "em"] == ["2", "3", "5"]
    assert figures["macro", "em"] == figures["micro", "bleu"] == ["", "", ""]


def test_failures_that_count_as_wrong_are_not_told_as_unscored() -> None:
    document = built(vqa("alpha", 1.0, "empty", "unparsable"), vqa("beta", 1.0, "empty", "unparsable"))
    assert "Unscored records: alpha, beta, each (EM: unparsable 1)." in foot(document)
    assert "Failed and counted as wrong: alpha, beta, each (EM: empty 1)." in foot(document)
    # Nothing is left out in the field's definition.
    document = built(vqa("alpha", 1.0, "empty", "unparsable", protocol="standard"))
    assert "Unscored records" not in foot(document)
    assert "Failed and counted as wrong: alpha (EM: empty 1, unparsable 1)." in foot(document)


def test_a_question_whose_reference_is_missing_counts_neither_right_nor_wrong() -> None:
    rows = [*answers(1.0, "empty"), Row({}, {"em": "reference_missing", "bleu": "reference_missing"})]
    document = built(result("alpha", {"vqa": config_result({"text": rows})}))
    assert re.search(r"alpha +\S+ +50\.00\n +\S+ +1/2 right\n +1/2 parsed\n", as_text(document))
    assert "Unscored records: alpha (BLEU, EM: reference_missing 1)." in foot(document)


def test_standard_exact_match_is_over_all_closed_records_with_chance_beside_it() -> None:
    document = built(
        vqa("alpha", 1.0, 1.0, 0.0, "unparsable", "missing", protocol="standard"),
        vqa("beta", 1.0, 1.0, 1.0, 1.0, 0.0, protocol="standard"),
    )
    assert re.search(r"alpha +\S+ +_40\.00_\n +chance 25\.00\n +3/5\n", as_text(document).replace("*", " "))
    assert "parsed" not in as_text(document).replace("unparsable", "")
    # A failure is wrong, not left out: it counts in the comparison too.
    assert cell(document, "alpha", "em").common == 0.4
    assert marks(document, "em") == {"beta": "best", "alpha": "second"}
    assert "chance" in foot(document)


def test_standard_shows_failures_at_their_worst() -> None:
    file = edits("alpha", [0.5, None], [20.0, 30.0], [0.2, None], protocol="standard")
    text = as_text(built(file))
    row = "".join(text.split("\n")[4:7]).split()
    assert row == ["alpha", "50.00", "25.00", "20.00", "[-25.00]", "pooled", "22.60", "[–]", "1/2", "1/2"]
    assert "[x]: the mean with the system's failures at the metric's worst; [–]: that has no bound." in text


# --- groups ---------------------------------------------------------------------------------------------------------


def test_micro_is_over_records_and_macro_over_groups() -> None:
    file = edits("alpha", [0.25, 0.75, 0.75, None], modalities=["MRI", "CT", "CT", "CT"])
    document = built(file, by="modality")
    assert [(line.kind, line.group) for line in document.tables[0].lines] == [
        ("group", "CT"),
        ("group", "MRI"),
        ("micro", ""),
        ("macro", ""),
    ]
    assert cell(document, "alpha", "ssim", kind="group", group="CT").mean == 0.75
    assert (cell(document, "alpha", "ssim", kind="group", group="CT").scored, 3) == (2, 3)
    assert cell(document, "alpha", "ssim", kind="micro").mean == pytest.approx(1.75 / 3)
    assert cell(document, "alpha", "ssim", kind="macro").mean == 0.5


def test_macro_says_where_a_group_has_no_mean() -> None:
    file = edits("alpha", [0.25, None, None], modalities=["MRI", "CT", "CT"])
    document = built(file, by="modality")
    assert cell(document, "alpha", "ssim", kind="macro").groups == "1/2 groups"
    assert "1/2 groups" in as_text(document)


def test_each_group_has_its_own_best() -> None:
    document = built(
        edits("alpha", [0.9, 0.1], tasks=["x", "y"]), edits("beta", [0.1, 0.8], tasks=["x", "y"]), by="task"
    )
    assert marks(document, "ssim", kind="group", group="x") == {"alpha": "best", "beta": "second"}
    assert marks(document, "ssim", kind="group", group="y") == {"beta": "best", "alpha": "second"}
    assert marks(document, "ssim", kind="micro") == {"alpha": "best", "beta": "second"}
    assert marks(document, "ssim", kind="macro") == {"alpha": "best", "beta": "second"}


def test_by_subtask_in_text() -> None:
    document = built(edits("alpha", [0.5, 0.75], subtasks=["denoise", None]), by="subtask")
    lines = [line.rstrip() for line in as_text(document).split("\n")]
    assert lines[2:13] == [
        " system    SSIM ↑",
        " ────────────────",
        " (none)",
        "   alpha    75.00",
        "",
        " denoise",
        "   alpha    50.00",
        "",
        " micro",
        "   alpha    62.50",
        "",
    ]


def test_records_in_another_order_are_the_same_records() -> None:
    forth = edits("alpha", [0.9, None], ids=["a", "b"])
    back = edits("beta", [0.2, 0.1], ids=["b", "a"])
    document = built(forth, back)
    assert len(document.tables) == 1
    assert cell(document, "beta", "ssim").common == 0.1


# --- what may stand in one table ------------------------------------------------------------------------------------


def test_editions_protocols_and_subsets_never_share_a_table() -> None:
    document = built(
        edits("alpha", [0.5, 0.6]),
        edits("beta", [0.5, 0.6], edition="release"),
        edits("gamma", [0.5, 0.6], protocol="standard"),
        edits("delta", [0.5], limit=1),
        edits("epsilon", [0.5, 0.7]),
    )
    assert [(one.title, [line.system for line in one.lines]) for one in document.tables] == [
        ("edit · edition paper · protocol paper · 2 records", ["alpha", "epsilon"]),
        ("edit · edition release · protocol paper · 2 records", ["beta"]),
        ("edit · edition paper · protocol standard · 2 records", ["gamma"]),
        ("edit · edition paper · protocol paper · 1 of 2 records (--limit 1, seed 0)", ["delta"]),
    ]
    assert "Several tables for edit: results of different editions, protocols or subsets of records never" in foot(
        document
    )


def test_one_column_holds_one_signature() -> None:
    other = SIGNATURES["pixel"].replace("ssim:grey", "ssim:colour")
    with pytest.raises(UsageError) as error:
        built(edits("alpha", [0.5]), edits("beta", [0.5], signatures={"pixel": other}))
    message = str(error.value)
    assert message.startswith("edit: expected one signature a column, got SSIM: 0.json has medgen_pixel|v:0.1.0|")
    assert "1.json has medgen_pixel|v:0.1.0|protocol:paper|ssim:colour" in message
    assert "PSNR" not in message


def test_another_definition_under_one_signature_is_refused() -> None:
    with pytest.raises(UsageError, match=r"SSIM: 0\.json has .*\(definition 0011223344556677\), 1\.json has .*ffff"):
        built(edits("alpha", [0.5]), edits("beta", [0.5], definition="ffff"))


def test_a_model_that_one_system_lacks_does_not_part_the_other_columns() -> None:
    without = SIGNATURES["text"].replace("weights:ab", "weights:missing")
    assert column_signature(SIGNATURES["text"], "bleu") == column_signature(without, "bleu")
    assert column_signature(SIGNATURES["text"], "bertscore") != column_signature(without, "bertscore")
    assert column_signature(SIGNATURES["text"], "em") == "medgen_text|v:0.1.0|protocol:paper|em:own"


def test_a_system_named_twice_is_refused_with_both_files() -> None:
    with pytest.raises(UsageError, match=r"every system once, got 'alpha' in 0\.json and 1\.json"):
        built(edits("alpha", [0.5]), edits("alpha", [0.6]))


def test_nothing_to_show_is_an_error() -> None:
    with pytest.raises(UsageError, match="at least one config, got 1 files without any"):
        built(result("alpha", {}))


def test_a_tier_of_another_version_is_an_error() -> None:
    file = edits("alpha", [0.5])
    file.configs["edit"].tiers["pixel"].options["colour"] = "blue"
    with pytest.raises(
        UsageError, match=r"0\.json: expected options of tier pixel that this version knows, got .*colour"
    ):
        built(file)


def test_unknown_options(files: list[Path]) -> None:
    with pytest.raises(UsageError, match="--format: expected one of "):
        table(files, format="pdf")
    with pytest.raises(UsageError, match="--by: expected one of "):
        table(files, show=Show(by="colour"))


# --- hostile names --------------------------------------------------------------------------------------------------

HOSTILE = "=cmd()|[bold]x[/]_*`<b>&%$#{}\\~^\n\x1b[31m\u202ered"
SHOWN = "=cmd()|[bold]x[/]_*`<b>&%$#{}\\~^\\n\\x1b[31m\\u202ered"


@pytest.mark.parametrize("format", FORMATS)
def test_names_neither_steer_a_terminal_nor_break_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    edits(HOSTILE, [0.5], tasks=[HOSTILE]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format=format, show=Show(by="task"))
    out = capsys.readouterr().out
    assert not {character for character in out if not character.isprintable()} - {"\n"}
    # A machine gets the name as it is.
    if format == "json":
        assert json.loads(out)["tables"][0]["rows"][0]["system"] == HOSTILE
    else:
        assert re.search(r"x1b(\\|{)?\[", out)


def test_text_shows_a_hostile_name_as_it_is() -> None:
    text = as_text(built(edits(HOSTILE, [0.5])))
    assert SHOWN in text
    assert printable(HOSTILE) == SHOWN


def test_markdown_escapes_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits(HOSTILE, [0.5]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="markdown")
    row = capsys.readouterr().out.split("\n")[4]
    assert row == (r"| =cmd()\|\[bold\]x\[/\]\_\*\`\<b\>\&%\$\#\{\}\\\~^\\n\\x1b\[31m\\u202ered | 50.00 |")


def test_markdown_renders_the_name_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from html import unescape

    from markdown_it import MarkdownIt

    edits(HOSTILE, [0.5]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="markdown")
    html = MarkdownIt("commonmark").enable("table").render(capsys.readouterr().out)
    assert unescape(re.findall(r"<td>(.*)</td>", html)[0]) == SHOWN


def test_latex_escapes_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edits(HOSTILE, [0.5]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="latex")
    (row,) = [line for line in capsys.readouterr().out.split("\n") if line.endswith(r"50.00 \\")]
    assert row == (
        r"=cmd()\textbar{}{[}bold{]}x{[}/{]}\_*\textasciigrave{}\textless{}b\textgreater{}\&\%\$\#\{\}\textbackslash{}"
        r"\textasciitilde{}\textasciicircum{}\textbackslash{}n\textbackslash{}x1b{[}31m\textbackslash{}u202ered"
        r" & 50.00 \\"
    )


@pytest.mark.parametrize(
    ("name", "written"),
    [("=1+1", "'=1+1"), ("+x", "'+x"), ("-x", "'-x"), ("@x", "'@x"), (" =x", "' =x"), ('a,"b"', 'a,"b"'), ("-3", "-3")],
)
def test_csv_runs_no_formula(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, written: str) -> None:
    edits(name, [-0.25]).save(tmp_path / "hostile.json")
    table([tmp_path / "hostile.json"], format="csv")
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert row["system"] == written
    assert (row["printed"], row["value"]) == ("-25.00", "-0.25")


def test_a_long_name_leaves_the_figures_whole() -> None:
    text = as_text(built(edits("system-" * 40, [0.123456], [23.456], [0.345])))
    assert all(len(line) <= 100 for line in text.split("\n"))
    assert re.search(r" 12\.35 +23\.46 +34\.50", text)
