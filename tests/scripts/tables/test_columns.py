"""Columns: which are shown, their heads, units and weights."""

import re
from pathlib import Path

import pytest

from medgen_metrics.rows import Row
from medgen_scripts.tables.columns import head
from medgen_scripts.tables.columns import tier_specs
from medgen_scripts.tables.columns import unit
from medgen_scripts.tables.columns import weights_of
from medgen_scripts.tables.model import Cell

from ..built import as_text
from ..built import built
from ..built import cell
from ..built import edits
from ..built import foot
from ..built import marks
from ..results import SIGNATURES
from ..results import config_result
from ..results import result


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
