"""The verb: what it prints in each format, and the options it refuses."""

import json
import re
from pathlib import Path

import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.table import table
from medgen_scripts.tables.build import build
from medgen_scripts.tables.show import Show

from .built import as_text
from .built import edits
from .results import SIGNATURES


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


def test_unknown_options(files: list[Path]) -> None:
    with pytest.raises(UsageError, match="--format: expected one of "):
        table(files, format="pdf")
    with pytest.raises(UsageError, match="--by: expected one of "):
        table(files, show=Show(by="colour"))
