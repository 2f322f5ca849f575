"""`validate`: planted faults in data sets of several layouts and in predictions, each found and named."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import medgen_bench
from medgen_scripts import validate_report
from medgen_scripts.cli import main
from medgen_scripts.errors import UsageError
from medgen_scripts.export import export
from medgen_scripts.validate import validate
from medgen_scripts.validate_data import validate_data
from medgen_scripts.validate_expected import expected
from medgen_scripts.validate_report import Report

from .. import builders
from .validated import BROKEN
from .validated import SIZE
from .validated import findings


def test_the_sample_is_without_a_fault(capsys: pytest.CaptureFixture[str]) -> None:
    (report,) = validate(edition="sample")
    assert not report.totals
    for config in medgen_bench.CONFIGS:
        assert report.counts["by config"][config] == len(medgen_bench.load(config, edition="sample"))
    assert sum(report.counts["by task"].values()) == report.counts["records"]
    assert "no errors, 0 warnings" in capsys.readouterr().err


def test_what_the_editions_should_hold() -> None:
    # 10,703 unique images, 11,744 uses with one a VQA record, 6,422 records: the paper's figures.
    paper, release = expected("paper", False), expected("release", True)
    assert (paper["records"], paper["unique images"], paper["images, one a VQA record"]) == (6422, 10_703, 11_744)
    assert (paper["tasks"], paper["subtasks"]) == (15, 27)
    assert (release["records"], release["image files"], release["tasks"], release["subtasks"]) == (6623, 11_105, 16, 28)
    assert "unique images" not in release


def release(**faults: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """A release with `task=changes` of the first row of a task; `-` in names as `_`."""
    rows = builders.release_rows()
    for task, changes in faults.items():
        config = medgen_bench.TASKS[task.replace("_", "-")].config
        first = next(row for row in rows[config] if row["task"] == task.replace("_", "-"))
        first.update(changes)
    return rows


PLANTED = {
    "multiple_choice": ({"answer": "D. spleen"}, "options lack the answer", "'D. spleen' is none of ['A. left lung'"),
    "blank_filling": ({"answer": " "}, "empty answer", "blank-filling"),
    "report_generation": ({"answer": "VLM Error: timeout"}, "error message as answer", "'VLM Error: timeout'"),
    "question_answering": ({"modality": "holography"}, "unknown modality", "'holography'"),
    "style_transfer": ({"input_images": builders.images(BROKEN)}, "unreadable image", "input_images[0]: unreadable"),
    "artifact_removal": ({"output_images": []}, "no reference image", "edit"),
    "noise_reconstruction": ({"input_images": []}, "no input image", "edit"),
    "resolution_editing": ({"input_images": [{"bytes": None, "path": "/etc/a.png"}]}, "missing image", "'/etc/a.png'"),
    "contrast_enhancement": ({"input_images": builders.images(b"")}, "empty image", "no bytes"),
    "anatomical_annotation": (
        {"input_images": builders.images(5), "output_images": builders.images(5)},
        "reference equals an input",
        "edit",
    ),
    "organic_removal": ({"instruction": " "}, "empty instruction", "gen"),
    "organic_reconstruction": ({"task": "telepathy"}, "bad record", "unknown task 'telepathy'"),
    "instruction_editing": ({"input_images": builders.images(7, 7)}, "same image twice in a record", "input_images"),
}


def test_all_planted_faults_are_found_in_one_run(tmp_path: Path) -> None:
    rows = release(**{task: changes for task, (changes, _, _) in PLANTED.items()})
    rows["gen"][-1] = dict(rows["gen"][-2])
    report = validate_data("release", builders.write_release(tmp_path, rows))
    for _, kind, words in PLANTED.values():
        assert words in " ".join(report.findings[kind]), kind
        assert report.totals[kind] == 1, (kind, report.findings[kind])
    assert report.totals["duplicate record"] == 1
    kinds = {kind for _, kind, _ in PLANTED.values()} | {"duplicate record", *SIZE}
    assert set(report.totals) == kinds
    assert report.errors == 10 + 1
    assert report.counts["by config"] == {name: len(part) for name, part in rows.items()}


def test_images_are_counted_by_use_and_by_content(tmp_path: Path) -> None:
    rows = builders.release_rows(1)
    report = validate_data("release", builders.write_release(tmp_path, rows, shards=1))
    used = [image["bytes"] for part in rows.values() for row in part for image in row["input_images"]]
    used += [image["bytes"] for name in ("edit", "gen") for row in rows[name] for image in row["output_images"]]
    assert report.counts["images, each use"] == len(used)
    assert report.counts["unique images"] == len(set(used))
    assert report.counts["images, one a VQA record"] == 4 + 2 * 12
    assert not findings(report, *SIZE)


def test_the_papers_edition_leaves_out_a_task(tmp_path: Path) -> None:
    folder = builders.write_release(tmp_path, builders.paper_rows())
    paper, whole = validate_data("paper", folder), validate_data("release", folder)
    assert whole.counts["records"] - paper.counts["records"] == 201
    assert medgen_bench.RELEASE_ONLY_TASK not in paper.counts["by task"]
    assert paper.counts["subtasks"] == 27


def test_an_export_that_was_edited_is_told(tmp_path: Path) -> None:
    folder = export(tmp_path / "medgen-bench", edition="sample", configs=["edit"])
    assert not findings(validate_data("release", folder), *SIZE, "other edition than named")
    (path,) = (folder / "edit").iterdir()
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0]["instruction"] = "Do something else."
    rows[2]["id"] = rows[1]["id"]
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    report = validate_data("release", folder)
    assert report.totals["id stands twice"] == 1
    assert report.totals["id does not fit the content"] == 2


def test_a_file_damaged_in_its_middle_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    folder = builders.write_release(tmp_path / "data", shards=2)
    path = next(folder.rglob("image_editing/train-00000*"))
    content = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(1).column(0)
    content[column.data_page_offset : column.data_page_offset + 40] = bytes(40)
    path.write_bytes(content)
    report = validate_data("release", folder)
    (said,) = report.findings["unreadable file"]
    assert "train-00000-of-00002.parquet (edit)" in said
    assert report.counts["by config"]["vqa"] == 8
    assert report.counts["by config"]["edit"] >= 6
    with pytest.raises(UsageError, match="edit can't be read: "):
        export(tmp_path / "out", edition="release", data_dir=folder, configs=["edit"])
    assert not (tmp_path / "out").exists()


def folder_layout(root: Path, rows: list[dict[str, Any]], task: str = "VQA/question-answering") -> Path:
    place = root / task
    place.mkdir(parents=True)
    (place / "good.png").write_bytes(builders.png(1))
    (place / "empty.png").write_bytes(b"")
    (place / "text.png").write_text("no image")
    (place / "link.png").symlink_to("/etc/hostname")
    lines = [
        {"paper_task": task.split("/")[1], "modality": "CT", "instruction": f"Question {n}?", "answer": "Yes.", **row}
        for n, row in enumerate(rows)
    ]
    (place / "data.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines) + "{broken\n")
    return root


def test_every_bad_path_of_the_folder_layout_is_named(tmp_path: Path) -> None:
    rows = [
        {"input_image": ["good.png"]},
        {"input_image": ["absent.png", "good.png", "empty.png"]},
        {"input_image": ["../../../etc/hostname"]},
        {"input_image": ["/etc/hostname"]},
        {"input_image": ["link.png"]},
        {"input_image": ["text.png"]},
        {"input_image": "good.png", "answer": 3},
    ]
    report = validate_data("release", folder_layout(tmp_path, rows))
    said = findings(report, *SIZE)
    assert len(said["image path out of the folder"]) == 3
    assert "link.png" in said["image path out of the folder"][2]
    assert [each for each in said["missing image"] if "data.jsonl:2" in each and "absent.png" in each]
    assert [each for each in said["empty image"] if "data.jsonl:2" in each and "empty.png" in each]
    (unreadable,) = said["unreadable image"]
    assert "data.jsonl:6" in unreadable
    assert "not_an_image" in unreadable
    assert [":7" in said["bad record"][0], ":8" in said["bad record"][1]] == [True, True]
    assert report.counts["by config"]["vqa"] == 8
    assert report.counts["image files"] == 4


def test_first_twenty_and_a_count_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = builders.release_rows(3)
    for row in rows["edit"] + rows["gen"]:
        row["input_images"] = []
    folder = builders.write_release(tmp_path, rows, shards=1)
    with pytest.raises(SystemExit) as end:
        main(["validate", str(folder), "--edition", "release"])
    assert end.value.code == 2
    out = capsys.readouterr().out
    assert "error: no input image (36 times)" in out
    assert "… and 16 more" in out
    with pytest.raises(SystemExit):
        main(["validate", str(folder), "--edition", "release", "--json"])
    document = json.loads(capsys.readouterr().out)
    (found,) = (each for each in document["reports"][0]["findings"] if each["kind"] == "no input image")
    assert (found["severity"], found["count"], len(found["first"])) == ("error", 36, validate_report.SHOWN)


def test_warnings_alone_end_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = builders.release_rows()
    monkeypatch.setattr(medgen_bench, "RECORDS", {name: 2 * len(part) for name, part in rows.items()})
    with pytest.raises(SystemExit) as end:
        main(["validate", str(builders.write_release(tmp_path, rows)), "--edition", "release"])
    assert end.value.code == 0


def test_less_than_half_of_an_edition_is_an_error_and_an_export_says_which_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = export(tmp_path / "medgen-bench", edition="sample")
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main(["validate", str(folder)])
    assert end.value.code == 2
    lines = capsys.readouterr().out.splitlines()
    told = lines[lines.index("error: too few records (once)") + 1]
    assert told.startswith("  records: 82, expected 6,422; ")
    told = lines[lines.index("warning: other edition than named (once)") + 1]
    assert told.endswith("its export.json says edition sample, looked at as paper; give --edition sample")
    place = lines.index("warning: other count than expected (11 times)")
    assert len(lines[place + 1 :]) == 11
    assert not any(line.strip().startswith("records:") for line in lines[place + 1 :])
    (report,) = validate(folder, edition="sample")
    assert not report.totals
    (part,) = (folder / "gen").iterdir()
    part.unlink()
    of_part = validate_data("release", folder).findings["too few records"]
    assert of_part[0].startswith("records: 60, expected 4,972 of vqa, edit; ")


def test_an_export_of_the_release_may_be_looked_at_as_the_papers(tmp_path: Path) -> None:
    folder = export(tmp_path / "out", edition="release", data_dir=builders.write_release(tmp_path / "data"))
    report = validate_data("paper", folder)
    assert report.findings["notice"][0].endswith("says edition release, looked at as paper; give --edition release")
    assert "other edition than named" not in report.totals


def test_no_data_set_is_bad_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected Parquet|no readable|expected "):
        validate(tmp_path, edition="release")
    with pytest.raises(UsageError, match="give one of both"):
        validate(tmp_path, edition="release", data_dir=tmp_path)


def test_text_of_a_model_can_not_steer_the_terminal() -> None:
    report = Report("x")
    report.add("bad row", "\x1b[31mred\nline \ud800")
    assert report.lines()[-1] == "  \\x1b[31mred\\nline \\ud800"
