import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medgen_scripts import systems
from medgen_scripts.cli import main
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.lock import hold
from medgen_scripts.predictions import read_predictions
from medgen_scripts.records import Records
from medgen_scripts.records import load_records
from medgen_scripts.run import run
from medgen_scripts.systems.base import Response

from .running.fakes import rows_of

CONFIGS = ("vqa", "edit", "gen")
GIVES_IMAGE = ("edit", "gen")


@pytest.fixture(scope="module")
def sample() -> dict[str, Records]:
    return {config: load_records(config, "sample") for config in CONFIGS}


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("system", [name for name in systems.SYSTEMS if name != "recipe"])
def test_every_baseline_answers_every_record(
    system: str, config: str, sample: dict[str, Records], tmp_path: Path
) -> None:
    path = run(system, config, edition="sample", out=tmp_path)
    assert path == tmp_path / "predictions" / system / f"{config}.jsonl"
    rows = rows_of(path)
    assert [row["id"] for row in rows] == sample[config].ids
    assert not any("error" in row for row in rows)
    read = read_predictions(path, sample[config])
    assert read.layout == "medgen-bench"
    for prediction in read.by_id.values():
        assert (prediction.text is not None) == (config != "edit")
        assert (prediction.image is not None) == (config in GIVES_IMAGE)


@pytest.mark.parametrize("config", GIVES_IMAGE)
def test_copy_input_and_reference_give_the_very_pixels(config: str, sample: dict[str, Records], tmp_path: Path) -> None:
    for system, column in (("copy-input", "input_images"), ("reference", "output_images")):
        folder = run(system, config, edition="sample", out=tmp_path).parent
        for record in sample[config]:
            with Image.open(folder / "images" / f"{record.id}.png") as image:
                assert np.array_equal(np.asarray(image), np.asarray(getattr(record, column)[0].open()))


def test_copy_input_takes_the_first_option_and_blank_nothing(sample: dict[str, Records], tmp_path: Path) -> None:
    copied = {row["id"]: row["text"] for row in rows_of(run("copy-input", "vqa", edition="sample", out=tmp_path))}
    blank = {row["id"]: row["text"] for row in rows_of(run("blank", "vqa", edition="sample", out=tmp_path))}
    for record in sample["vqa"]:
        assert copied[record.id] == (record.choices[0] if record.choices else "")
        assert blank[record.id] == ""


@pytest.mark.parametrize("config", CONFIGS)
def test_shuffled_shares_no_image_and_takes_the_nearest_stratum(
    config: str, sample: dict[str, Records], tmp_path: Path
) -> None:
    records = sample[config]
    by_id = {record.id: record for record in records}
    for row in rows_of(run("shuffled", config, edition="sample", out=tmp_path)):
        record = by_id[row["id"]]
        if record.choices:
            assert row["text"] in record.choices
            assert row["meta"] == {"drawn": "option"}
            continue
        donor = by_id[row["meta"]["donor"]]
        assert donor.group != record.group
        others = [other for other in records if other.group != record.group]
        near = [other for other in others if (other.task, other.modality) == (record.task, record.modality)]
        same_task = [other for other in others if other.task == record.task]
        expected = "task and modality" if near else "task" if same_task else None
        if expected is not None:
            assert row["meta"]["donor_of"] == expected
        if config != "edit":
            assert row["text"] == donor.answer


def test_random_systems_depend_on_seed_and_record_alone(tmp_path: Path) -> None:
    whole = rows_of(run("shuffled", "vqa", edition="sample", out=tmp_path / "a"))
    part = rows_of(run("shuffled", "vqa", edition="sample", out=tmp_path / "b", limit=7))
    other = rows_of(run("shuffled", "vqa", edition="sample", out=tmp_path / "c", seed=1))
    assert len(part) == 7
    assert all(row in whole for row in part)
    assert [row["text"] for row in other] != [row["text"] for row in whole]


class Faulty:
    """Fails on one record, is stopped at another."""

    name = "faulty"
    track = "baseline"
    takes: tuple[str, ...] = ("text",)
    gives: tuple[str, ...] = ("text",)

    def __init__(self, fails: str, stops: str | None, revision: int = 1) -> None:
        self.fails, self.stops, self.seen = fails, stops, list[str]()
        self.definition = {"revision": revision}

    def respond(self, record: Any) -> Response:
        self.seen.append(record.id)
        if record.id == self.stops:
            raise KeyboardInterrupt
        if record.id == self.fails:
            raise RuntimeError("no answer today")
        return Response(f"answer to {record.id}")


def test_a_failure_is_a_row_and_a_stopped_run_continues(
    sample: dict[str, Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = sample["vqa"].ids
    first, second = Faulty(ids[2], stops=ids[5]), Faulty("", stops=None)
    turns = iter([first, second])
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: next(turns))
    with pytest.raises(KeyboardInterrupt):
        run("faulty", "vqa", edition="sample", out=tmp_path)
    path = tmp_path / "predictions" / "faulty" / "vqa.jsonl"
    assert not path.exists()
    with (path.parent / ".vqa.journal.jsonl").open("ab") as journal:
        journal.write(b'{"id": "torn')
    assert run("faulty", "vqa", edition="sample", out=tmp_path) == path
    # The failure is tried again, what is answered is not, and every record has one row.
    assert second.seen == [ids[2], *ids[5:]]
    assert rows_of(path) == [{"id": i, "text": f"answer to {i}", "image": None} for i in ids]
    assert sorted(entry.name for entry in path.parent.iterdir()) == [
        ".manifest.lock",
        ".vqa.lock",
        ".vqa.merge.lock",
        "manifest.json",
        "vqa.jsonl",
    ]


def test_a_failed_row_carries_its_error_and_no_output(
    sample: dict[str, Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: Faulty(records.ids[0], stops=None))
    rows = rows_of(run("faulty", "vqa", edition="sample", out=tmp_path))
    error = {"kind": "RuntimeError", "message": "no answer today", "attempts": 1}
    assert rows[0] == {"id": sample["vqa"].ids[0], "text": None, "image": None, "error": error}


def test_another_definition_starts_anew_and_foreign_files_stay(
    sample: dict[str, Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    turns = iter([Faulty("", None), Faulty("", None, revision=2), Faulty("", None)])
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: (made.append(next(turns)), made[-1])[1])
    made: list[Faulty] = []
    for _ in range(2):
        run("faulty", "vqa", edition="sample", out=tmp_path)
    assert made[1].seen == sample["vqa"].ids
    assert "starting anew, since the earlier run had definition" in capsys.readouterr().err
    foreign = tmp_path / "other" / "predictions" / "faulty" / "vqa.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine\n")
    with pytest.raises(UsageError, match="not written by `medgen-bench run`"):
        run("faulty", "vqa", edition="sample", out=tmp_path / "other")
    assert foreign.read_text() == "mine\n"


def test_the_manifest_says_what_made_the_predictions(tmp_path: Path) -> None:
    path = run("shuffled", "vqa", edition="sample", out=tmp_path, limit=5, seed=3)
    run("copy-input", "edit", edition="sample", out=tmp_path, limit=2)
    run("shuffled", "edit", edition="sample", out=tmp_path, limit=2, seed=3)
    manifest = json.loads((path.parent / "manifest.json").read_text())
    assert manifest["format"] == "medgen-bench/predictions@1"
    assert (manifest["system"], manifest["track"]) == ("shuffled", "baseline")
    assert list(manifest["configs"]) == ["vqa", "edit"]
    entry = manifest["configs"]["vqa"]
    assert entry["digest"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (entry["edition"], entry["records"], entry["rows"], entry["failed"]) == ("sample", 30, 5, 0)
    assert (entry["subset"]["limit"], entry["subset"]["seed"], entry["system"]["seed"]) == (5, 3, 3)
    assert entry["versions"]["pillow"] == version("pillow")
    for row in rows_of(path.parent / "edit.jsonl"):
        written = (path.parent / row["image"]).read_bytes()
        assert row["meta"]["image_sha256"] == hashlib.sha256(written).hexdigest()


def test_a_larger_limit_continues_and_a_smaller_one_takes_nothing_away(
    sample: dict[str, Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Faulty] = []
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: (made.append(Faulty("", None)), made[-1])[1])
    for limit in (4, 9, 4, None):
        path = run("faulty", "vqa", edition="sample", out=tmp_path, limit=limit)
    assert [len(system.seen) for system in made] == [4, 5, 0, 21]
    assert [row["id"] for row in rows_of(path)] == sample["vqa"].ids


def test_a_config_that_asks_for_more_is_refused_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Faulty("", None)
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: system)
    with pytest.raises(UsageError, match="faulty gives text, but config gen asks for image too"):
        run("faulty", "gen", edition="sample", out=tmp_path)
    assert system.seen == []
    assert list(tmp_path.iterdir()) == []


class Painter(Faulty):
    """Answers with pictures of a mode."""

    gives = ("text", "image")

    def __init__(self, mode: str) -> None:
        super().__init__("", None)
        self.mode = mode

    def respond(self, record: Any) -> Response:
        return Response(None, Image.new(self.mode, (8, 8), 1))


@pytest.mark.parametrize(
    ("mode", "kept"), [("1", "1"), ("L", "L"), ("I;16", "I;16"), ("RGBA", "RGBA"), ("CMYK", "RGB")]
)
def test_images_of_any_scored_mode_are_written(
    mode: str, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: Painter(mode))
    path = run("faulty", "edit", edition="sample", out=tmp_path, limit=1)
    with Image.open(path.parent / rows_of(path)[0]["image"]) as image:
        assert (image.mode, image.size) == (kept, (8, 8))


def test_where_nothing_but_failures_comes_the_command_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: Painter("F"))
    with pytest.raises(Failure, match=r"2 of 2 records failed, the first is .*: expected an image of 8 or 16 bits"):
        run("faulty", "edit", edition="sample", out=tmp_path, limit=2)
    rows = rows_of(tmp_path / "predictions" / "faulty" / "edit.jsonl")
    assert [row["error"]["kind"] for row in rows] == ["ValueError"] * 2
    assert not (tmp_path / "predictions" / "faulty" / "images").exists()


def test_a_damaged_journal_is_named_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: Faulty("", records.ids[3]))
    with pytest.raises(KeyboardInterrupt):
        run("faulty", "vqa", edition="sample", out=tmp_path)
    journal = tmp_path / "predictions" / "faulty" / ".vqa.journal.jsonl"
    damaged = journal.read_bytes().replace(b'"id"', b"id", 1)
    journal.write_bytes(damaged)
    with pytest.raises(
        UsageError, match=r"delete the file to start anew\n\.vqa\.journal\.jsonl:1: expected one JSON object"
    ):
        run("faulty", "vqa", edition="sample", out=tmp_path)
    assert journal.read_bytes() == damaged


def test_a_second_run_of_the_same_config_is_refused(tmp_path: Path) -> None:
    held = hold(tmp_path / "predictions" / "blank", "vqa", "producing vqa predictions")
    with pytest.raises(UsageError, match="another run is producing vqa predictions"):
        run("blank", "vqa", edition="sample", out=tmp_path)
    run("blank", "edit", edition="sample", out=tmp_path, limit=1)
    held.release()


def test_an_unknown_system_is_bad_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "gpt-9", "vqa", "--edition", "sample", "--out", str(tmp_path)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "unknown system 'gpt-9'; near: gpt-4o" in said
    assert "expected one of copy-input, classical" in said
