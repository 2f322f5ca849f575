"""Several processes, and runs that are killed: the rows are those of one undisturbed process."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts import result_file
from medgen_scripts.scoring import journal

from .scored import write_data
from .scored import write_predictions

COUNT = 120
KILLS = 6


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    write_data(folder / "data", COUNT)
    write_predictions(folder / "mine", COUNT, skip=(7,))
    return folder


def command(work: Path, out: Path, *extra: str) -> list[str]:
    return [
        *(sys.executable, "-m", "medgen_scripts", "score", str(work / "mine"), "--edition", "release", "--offline"),
        *("--data-dir", str(work / "data"), "--out", str(out), *extra),
    ]


def run(work: Path, out: Path, *extra: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(work, out, *extra),
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.fixture(scope="module")
def undisturbed(work: Path) -> dict[str, Any]:
    done = run(work, work / "undisturbed")
    assert done.returncode == 0, done.stderr
    return result_file.load(work / "undisturbed" / "results" / "mine.json").configs


def test_two_processes_give_the_rows_of_one(work: Path, undisturbed: dict[str, Any], tmp_path: Path) -> None:
    done = run(work, tmp_path, "--processes", "2")
    assert done.returncode == 0, done.stderr
    assert result_file.load(tmp_path / "results" / "mine.json").configs == undisturbed
    writers = {path.stem.rsplit("-", 1)[-1] for path in (tmp_path / "scores" / "mine").glob("edit.*.jsonl")}
    assert writers == {"0", "1"}


def test_a_fault_is_told_once_by_several_processes(work: Path, tmp_path: Path) -> None:
    done = run(work, tmp_path, "--processes", "2", "--tiers", "pixel", "--config", "vqa", "--data-dir", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("medgen-bench: ") == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("processes", [1, 2])
def test_killed_at_any_moment_it_continues(
    processes: int, work: Path, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    moments = random.Random(processes)
    for _ in range(KILLS):
        child = subprocess.Popen(
            command(work, tmp_path, "--processes", str(processes)),
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        # Between the first line of this run and its end, wherever that falls.
        before = written(tmp_path)
        deadline = time.monotonic() + 120
        while child.poll() is None and written(tmp_path) == before and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.15))
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    tear(tmp_path)
    done = run(work, tmp_path, "--processes", str(processes))
    assert done.returncode == 0, done.stderr
    assert result_file.load(tmp_path / "results" / "mine.json").configs == undisturbed
    for config in ("edit", "vqa"):
        lines = journal.read(tmp_path / "scores" / "mine", config, notice=print)
        assert set(Counter((line.id, line.tier) for line in lines.values()).values()) == {1}


def written(out: Path) -> int:
    return sum(path.stat().st_size for path in (out / "scores").rglob("*.jsonl"))


def tear(out: Path) -> None:
    """Cut a last line in half, as a kill inside a write would."""
    for path in (out / "scores").rglob("*.jsonl"):
        if path.stat().st_size > 40:
            os.truncate(path, path.stat().st_size - 40)
            return


def test_workers_of_a_killed_launcher_stop(work: Path, tmp_path: Path) -> None:
    child = subprocess.Popen(
        command(work, tmp_path, "--processes", "2"),
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 120
    while written(tmp_path) == 0 and child.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    child.kill()  # torchrun itself: `--processes` becomes it
    child.wait()
    time.sleep(1)
    while (size := written(tmp_path)) != (time.sleep(1.5), written(tmp_path))[1]:
        assert time.monotonic() < deadline, f"workers still write: {size} bytes"
    done = run(work, tmp_path)
    assert done.returncode == 0, done.stderr
