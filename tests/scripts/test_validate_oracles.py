"""What `validate` says of outputs that equal references, and of records without a row."""

import ast
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts.cli import main
from medgen_scripts.run import run
from medgen_scripts.systems import ORACLES
from medgen_scripts.tables.model import ANCHORS
from medgen_scripts.validate import validate
from medgen_scripts.validate_predictions import validate_predictions
from medgen_scripts.validate_report import Report

from .. import builders
from . import given

ROOT = Path(__file__).resolve().parents[2]


def test_oracles_are_those_that_tables_do_not_rank_for_it() -> None:
    assert set(ORACLES) == {name for name, role in ANCHORS.items() if role in ("upper bound", "oracle")}


@pytest.mark.parametrize("system", ORACLES)
def test_an_oracle_is_told_as_what_it_is(system: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(system, "edit", edition="sample", out=tmp_path)
    folder = tmp_path / "predictions" / system
    (report,) = validate(folder, edition="sample")
    assert report.errors == 0
    assert "output equals a reference" not in report.totals
    (note,) = (said for said in report.findings["notice"] if "hands out references" in said)
    assert note.startswith(f"{system} hands out references, it is built in to do so and not ranked: ")
    assert f"note: {note}" in capsys.readouterr().out.splitlines()
    # Under any other name the same outputs are a leak.
    folder.rename(tmp_path / "predictions" / "mine")
    with pytest.raises(SystemExit) as ended:
        main(["validate", str(tmp_path / "predictions" / "mine"), "--edition", "sample"])
    assert ended.value.code == 2
    assert "error: output equals a reference (" in capsys.readouterr().out


def records(count: int = 4) -> Any:
    made = [
        given.record("style-transfer", n, input_images=builders.images(n), output_images=builders.images(100 + n))
        for n in range(count)
    ]
    return given.records(made)


def test_an_oracle_that_gives_another_records_reference_is_wrong(tmp_path: Path) -> None:
    found = records()
    (tmp_path / "a.png").write_bytes(builders.png(100))
    (tmp_path / "b.png").write_bytes(builders.png(103))
    rows = [{"id": found.ids[0], "image": "a.png"}, {"id": found.ids[1], "image": "b.png"}]
    report = validate_predictions(given.write(tmp_path / "edit.jsonl", rows), found, system="reference")
    assert report.findings["output equals a reference"] == [
        f"{found.ids[1]}: {tmp_path / 'b.png'}: that of {found.ids[3]}; are rows shifted?"
    ]
    assert "1 of 2 outputs equal their own" in report.findings["notice"][0]


def test_texts_of_an_oracle(tmp_path: Path) -> None:
    answer = "No focal consolidation, no effusion and no pneumothorax are seen; heart size is normal."
    found = given.records([given.record("report-generation", n, answer=answer) for n in range(2)])
    path = given.write(tmp_path / "vqa.jsonl", [{"id": name, "text": answer} for name in found.ids])
    assert dict(validate_predictions(path, found, system="reference").totals) == {"notice": 1}
    assert dict(validate_predictions(path, found, system="mine").totals) == {"output equals a reference": 2}


def test_records_without_a_row_are_a_few_and_a_count(tmp_path: Path) -> None:
    found = records(30)
    path = given.write(tmp_path / "edit.jsonl", [{"id": f"style-transfer-{n:012x}"} for n in range(30)])
    report = validate_predictions(path, found)
    lines = report.lines()
    place = lines.index("warning: no row (30 times)")
    assert lines[place + 1] == f"  {', '.join(found.ids[:3])}, … and 27 more"
    assert sum(name in line for name in found.ids for line in lines[place:]) == 3
    # A machine gets as many as of any other kind.
    (listed,) = (kind for kind in report.as_json()["findings"] if kind["kind"] == "no row")
    assert (listed["count"], len(listed["first"])) == (30, 20)


def test_few_records_without_a_row_are_all_named() -> None:
    report = Report("x")
    for name in ("a", "b"):
        report.add("no row", name)
    assert report.lines()[-2:] == ["warning: no row (2 times)", "  a, b"]


def test_notices_are_neither_errors_nor_warnings() -> None:
    report = Report("x")
    report.add("notice", "said")
    assert (report.errors, report.warnings) == (0, 0)
    assert report.lines() == ["x", "note: said"]
    assert report.as_json()["findings"][0]["severity"] == "note"


def test_scripts_use_no_private_names_of_the_data_set() -> None:
    guilty = [
        f"{path}:{node.lineno}: {node.attr}"
        for path in (ROOT / "scripts").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and isinstance(node.value, ast.Name)
        and node.value.id == "medgen_bench"
    ]
    assert guilty == []
