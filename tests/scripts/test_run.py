import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medgen_scripts import systems
from medgen_scripts.cli import main
from medgen_scripts.errors import UsageError
from medgen_scripts.predictions import read_predictions
from medgen_scripts.records import Records
from medgen_scripts.records import load_records
from medgen_scripts.run import run
from medgen_scripts.systems.base import Response

CONFIGS = ("vqa", "edit", "gen")
GIVES_IMAGE = ("edit", "gen")


@pytest.fixture(scope="module")
def sample() -> dict[str, Records]:
    return {config: load_records(config, "sample") for config in CONFIGS}


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("config", CONFIGS)
@pytest.mark.parametrize("system", list(systems.SYSTEMS))
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
        record, donor = by_id[row["id"]], by_id[row["meta"]["donor"]]
        assert donor.group != record.group
        others = [other for other in records if other.group != record.group]
        near = [other for other in others if (other.task, other.modality) == (record.task, record.modality)]
        same_task = [other for other in others if other.task == record.task]
        expected = "task and modality" if near else "task" if same_task else None
        if expected is not None:
            assert row["meta"]["donor_of"] == expected
        if record.choices:
            assert row["text"] in record.choices
        elif config != "edit":
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
    assert sorted(entry.name for entry in path.parent.iterdir()) == [".run.lock", "manifest.json", "vqa.jsonl"]


def test_a_failed_row_carries_its_error_and_no_output(
    sample: dict[str, Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: Faulty(records.ids[0], stops=None))
    rows = rows_of(run("faulty", "vqa", edition="sample", out=tmp_path))
    error = {"kind": "RuntimeError", "message": "no answer today"}
    assert rows[0] == {"id": sample["vqa"].ids[0], "text": None, "image": None, "error": error}


def test_another_definition_starts_anew_and_foreign_files_stay(
    sample: dict[str, Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = iter([Faulty("", None), Faulty("", None, revision=2), Faulty("", None)])
    monkeypatch.setitem(systems.SYSTEMS, "faulty", lambda records, seed: (made.append(next(turns)), made[-1])[1])
    made: list[Faulty] = []
    for _ in range(2):
        run("faulty", "vqa", edition="sample", out=tmp_path)
    assert made[1].seen == sample["vqa"].ids
    foreign = tmp_path / "other" / "predictions" / "faulty" / "vqa.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine\n")
    with pytest.raises(UsageError, match="not written by `medgen-bench run`"):
        run("faulty", "vqa", edition="sample", out=tmp_path / "other")
    assert foreign.read_text() == "mine\n"


def test_an_unknown_system_is_bad_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "gpt-9", "vqa", "--edition", "sample", "--out", str(tmp_path)])
    assert ended.value.code == 2
    assert "unknown system 'gpt-9'; expected one of copy-input" in capsys.readouterr().err


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "medgen_scripts", "run", "classical", "edit", "--edition", "sample"]
    child = subprocess.Popen([*command, "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "predictions" / "classical" / ".edit.journal.jsonl"
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    assert child.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    done = journal.read_bytes().count(b"\n")
    assert 0 < done < 30
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    assert subprocess.run([*command, "--out", str(tmp_path)], env=environment, check=False).returncode == 0
    assert len(rows_of(journal.parent / "edit.jsonl")) == 30
