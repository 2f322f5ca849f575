"""Runs that go on where others ended: failures, stops, kills, shares, and what is put aside."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.faults import CallFailed
from medgen_scripts.backends.base import NOT_AN_IMAGE
from medgen_scripts.backends.base import REFUSAL
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.predictions import read_predictions
from medgen_scripts.records import Records
from medgen_scripts.run import run

from .fakes import Fakes
from .fakes import answer
from .fakes import by_id
from .fakes import picture
from .fakes import rows_of
from .fakes import system


def test_failures_are_rows_and_only_they_are_retried(fakes: Fakes, gen: Records, tmp_path: Path) -> None:
    broken = {gen.ids[0]: CallFailed(REFUSAL, "not this one", 2), gen.ids[1]: CallFailed("timeout", "slow", 6)}

    def give(ask: Ask) -> Gave:
        if ask.id in broken:
            raise broken[ask.id]
        if ask.id == gen.ids[2]:
            raise KeyError("a bug")
        return replace(answer(ask), image=b"<html>" if ask.id == gen.ids[3] else picture())

    fakes.give["painter"] = give
    file = system(tmp_path, "compositional")
    path = run(file, "gen", edition="sample", out=tmp_path)
    rows = by_id(rows_of(path))
    errors = {record_id: row["error"] for record_id, row in rows.items() if "error" in row}
    assert errors == {
        gen.ids[0]: {"kind": "refused", "message": "not this one", "attempts": 2},
        gen.ids[1]: {"kind": "timeout", "message": "slow", "attempts": 6},
        gen.ids[2]: {"kind": "KeyError", "message": "'a bug'", "attempts": 1},
        gen.ids[3]: {"kind": NOT_AN_IMAGE, "message": errors[gen.ids[3]]["message"], "attempts": 1},
    }
    # the text that was given stays an answer; no failure is text
    assert all(rows[record_id]["text"] == f"output_text {record_id}" for record_id in errors)
    assert all(rows[record_id]["image"] is None for record_id in errors)
    read = read_predictions(path, gen)
    assert read.by_id[gen.ids[0]].image_reason == "refused"
    assert read.by_id[gen.ids[1]].image_reason == "error_text"
    assert read.by_id[gen.ids[0]].text_reason is None

    fakes.give["painter"] = answer
    before = path.read_bytes()
    run(file, "gen", edition="sample", out=tmp_path)
    assert path.read_bytes() == before
    run(file, "gen", edition="sample", out=tmp_path, retry_failed=True, max_attempts=6)
    again = fakes.made["painter"][-1].asked
    # one has had its six attempts
    assert {ask.id for ask in again} == {gen.ids[0], gen.ids[2], gen.ids[3]}
    assert fakes.made["writer"][-1].asked == []
    rows = by_id(rows_of(path))
    assert [record_id for record_id, row in rows.items() if "error" in row] == [gen.ids[1]]
    assert list(rows) == gen.ids
    fakes.give["painter"] = lambda ask: (_ for _ in ()).throw(CallFailed("timeout", "slow still", 3))
    run(file, "gen", edition="sample", out=tmp_path, retry_failed=True)
    assert by_id(rows_of(path))[gen.ids[1]]["error"] == {"kind": "timeout", "message": "slow still", "attempts": 9}


def test_a_run_that_is_stopped_keeps_rows_and_what_the_first_model_wrote(
    fakes: Fakes, gen: Records, tmp_path: Path
) -> None:
    budget = iter([None] * 3)

    def give(ask: Ask) -> Gave:
        if next(budget, "spent") == "spent":
            raise BudgetExhausted("--max-cost 1: spent")
        return answer(ask)

    fakes.give["painter"] = give
    file = system(tmp_path, "compositional")
    with pytest.raises(Failure, match="--max-cost 1: spent"):
        run(file, "gen", edition="sample", out=tmp_path)
    path = tmp_path / "predictions" / "mine" / "gen.jsonl"
    assert len(rows_of(path)) == 3
    manifest = json.loads((path.parent / "manifest.json").read_text())["configs"]["gen"]
    assert manifest["runs"][0]["ended"] == "stopped: --max-cost 1: spent"
    written = set(fakes.asked("writer"))
    assert 3 < len(written) < len(gen)
    fakes.give["painter"] = answer
    run(file, "gen", edition="sample", out=tmp_path)
    assert set(fakes.asked("writer")) == set(gen.ids)
    assert len(fakes.asked("writer")) == len(gen)
    assert [row["id"] for row in rows_of(path)] == gen.ids
    whole = run(system(tmp_path, "compositional"), "gen", edition="sample", out=tmp_path / "whole")
    assert whole.read_bytes() == path.read_bytes()


def test_nothing_is_replaced_that_may_have_been_paid_for(
    fakes: Fakes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = system(tmp_path, "vlm")
    path = run(file, "vqa", edition="sample", out=tmp_path, limit=4)
    before = path.read_bytes()
    with pytest.raises(UsageError, match=r"made otherwise: seed was 0, is 1\..*--fresh"):
        run(file, "vqa", edition="sample", out=tmp_path, limit=4, seed=1)
    component = {"backend": "openai-chat", "model": "writer", "parameters": {"temperature": 1}}
    system(tmp_path, "vlm", components={"vlm": component})
    with pytest.raises(UsageError, match=r"components.vlm.parameters.temperature was 'not set', is 1"):
        run(file, "vqa", edition="sample", out=tmp_path, limit=4)
    assert path.read_bytes() == before
    # another address is no other system, and other records add to what is there
    component = {"backend": "openai-chat", "model": "writer", "base_url": "http://elsewhere/v1", "concurrency": 2}
    system(tmp_path, "vlm", components={"vlm": component})
    run(file, "vqa", edition="sample", out=tmp_path, limit=6)
    assert len(rows_of(path)) == 6
    run(file, "vqa", edition="sample", out=tmp_path, limit=4, seed=1, fresh=True)
    assert len(rows_of(path)) == 4
    assert len(rows_of(path.parent / "before-1" / "vqa.jsonl")) == 6
    assert "put aside" in capsys.readouterr().err


def test_rows_that_tell_of_their_usage_otherwise_are_taken_over(fakes: Fakes, tmp_path: Path) -> None:
    """As another version wrote them, or somebody's program."""
    file = system(tmp_path, "vlm")
    path = run(file, "vqa", edition="sample", out=tmp_path, limit=2)
    rows = rows_of(path)
    rows[0]["meta"]["usage"] = {"requests": 1, "cost": "dear", "seconds": 3.5}
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    before = set(path.read_bytes().splitlines())
    run(file, "vqa", edition="sample", out=tmp_path, limit=3)
    assert before < set(path.read_bytes().splitlines())


def test_images_put_aside_go_with_their_rows(fakes: Fakes, tmp_path: Path) -> None:
    file = system(tmp_path, "editor")
    path = run(file, "edit", edition="sample", out=tmp_path, limit=2)
    run(file, "edit", edition="sample", out=tmp_path, limit=2, seed=5, fresh=True)
    for folder in (path.parent, path.parent / "before-1"):
        for row in rows_of(folder / "edit.jsonl"):
            assert hashlib.sha256((folder / row["image"]).read_bytes()).hexdigest() == row["meta"]["image_sha256"]


def test_shares_of_a_run_make_one_file(fakes: Fakes, tmp_path: Path) -> None:
    from medgen_scripts.running.options import Shard

    file = system(tmp_path, "editor")
    whole = run(file, "edit", edition="sample", out=tmp_path / "whole").read_bytes()
    for number in (2, 1, 3):
        path = run(file, "edit", edition="sample", out=tmp_path, shard=Shard(number, 3))
    assert path.read_bytes() == whole
    assert len(fakes.asked("painter")) == 60
    assert not list(path.parent.glob(".edit.journal*"))


@pytest.mark.parametrize("before", [0, 2])
def test_a_run_killed_after_its_last_row_writes_the_file_the_next_time(
    before: int, fakes: Fakes, tmp_path: Path
) -> None:
    file = system(tmp_path, "vlm")
    path = run(file, "vqa", edition="sample", out=tmp_path, limit=5)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    path.with_name(".vqa.journal.jsonl").write_bytes(b"".join(lines[before:]))
    if before:
        path.write_bytes(b"".join(lines[:before]))
    else:
        path.unlink()
    run(file, "vqa", edition="sample", out=tmp_path, limit=5)
    assert path.read_bytes() == whole
    assert not path.with_name(".vqa.journal.jsonl").exists()
    assert len(fakes.asked("writer")) == 5
