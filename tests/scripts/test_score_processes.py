"""Several processes, and runs that are killed: the rows are those of one undisturbed process."""

import contextlib
import os
import shlex
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

from ..spawned import free_port
from .scored import write_work

COUNT = 120
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_work(tmp_path_factory.mktemp("work"), COUNT, without=7)


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
    # A process that starts late finds less to do, or nothing; nothing is done twice.
    for config in ("edit", "vqa"):
        written = [line for path in (tmp_path / "scores" / "mine").glob(f"{config}.*.jsonl") for line in path.open()]
        assert len(written) == COUNT


PYTHON = shlex.quote(sys.executable)
LAUNCHES = {
    "accelerate": [
        f"ACCELERATE_USE_CPU=true {PYTHON} -m accelerate.commands.launch --multi_gpu --num_processes 2 "
        "--num_machines 1 --mixed_precision no --dynamo_backend no --main_process_port NUMBER -m medgen_scripts.score"
    ],
    "two nodes of torchrun": [
        f"{PYTHON} -m torch.distributed.run --nnodes 2 --node-rank {node} --nproc-per-node 1 --rdzv-backend c10d "
        "--rdzv-endpoint 127.0.0.1:NUMBER --rdzv-id 1 -m medgen_scripts.score"
        for node in range(2)
    ],
}


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_launchers_processes_give_the_rows_of_one(
    work: Path, undisturbed: dict[str, Any], tmp_path: Path, launch: str
) -> None:
    arguments = shlex.join(command(work, tmp_path, "--expect-processes", "2", "--config", "vqa")[4:])
    port = str(free_port())
    started = [
        subprocess.Popen(
            ["bash", "-c", f"exec env {line.replace('NUMBER', port)} {arguments}"],
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in LAUNCHES[launch]
    ]
    said = "".join(each.communicate(timeout=300)[1] for each in started)
    assert [each.returncode for each in started] == [0] * len(started), said
    assert "ended early" not in said
    assert result_file.load(tmp_path / "results" / "mine.json").configs == {"vqa": undisturbed["vqa"]}
    assert sum(len(path.read_text().splitlines()) for path in (tmp_path / "scores").rglob("*.jsonl")) == COUNT


def test_a_fault_is_told_once_by_several_processes(work: Path, tmp_path: Path) -> None:
    done = run(work, tmp_path, "--processes", "2", "--tiers", "pixel", "--config", "vqa", "--data-dir", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr.count("medgen-bench: ") == 1
    assert "Traceback" not in done.stderr


def test_options_that_a_tier_refuses_are_told_once(work: Path, tmp_path: Path) -> None:
    done = run(work, tmp_path, "--processes", "2", "--lpips-net", "foo")
    assert done.returncode == 2
    assert done.stderr.count("lpips_net: expected alex, squeeze, vgg; got 'foo'") == 1
    assert "Traceback" not in done.stderr


def test_what_stops_one_of_two_processes_is_told_without_a_traceback(work: Path, tmp_path: Path) -> None:
    (tmp_path / "scores" / "mine" / "edit.other.jsonl").mkdir(parents=True)
    done = run(work, tmp_path, "--processes", "2")
    assert done.returncode == 1
    assert "edit.other.jsonl: expected a file of scores, got: Is a directory" in done.stderr
    assert "Traceback" not in done.stderr
    assert "elastic" not in done.stderr


@pytest.mark.parametrize(("processes", "kills"), [(1, 50), (2, 15)])
def test_killed_at_any_moment_it_continues(
    work: Path, undisturbed: dict[str, Any], tmp_path: Path, processes: int, kills: int
) -> None:
    arguments = (work, tmp_path / "out", kills, 1, processes)
    done = subprocess.run(
        [sys.executable, "-m", "tests.scripts.killed_runs", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    killed, partial = map(int, done.stdout.split())
    assert killed == kills
    assert partial > kills / 5, "the kills came before anything was written; they show nothing"
    assert_undisturbed(tmp_path / "out", undisturbed)


def test_two_processes_killed_and_torn_continue(work: Path, undisturbed: dict[str, Any], tmp_path: Path) -> None:
    for moment in (0.0, 0.05):
        child = subprocess.Popen(
            command(work, tmp_path, "--processes", "2"),
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        await_lines(child, tmp_path)
        time.sleep(moment)
        with contextlib.suppress(ProcessLookupError):  # it may have ended by itself
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    tear(tmp_path)
    done = run(work, tmp_path, "--processes", "2")
    assert done.returncode == 0, done.stderr
    assert "dropped a torn last line" in done.stderr
    assert_undisturbed(tmp_path, undisturbed)


def assert_undisturbed(out: Path, undisturbed: dict[str, Any]) -> None:
    assert result_file.load(out / "results" / "mine.json").configs == undisturbed
    for config in ("edit", "vqa"):
        lines = journal.read(out / "scores" / "mine", config, notice=print)
        assert set(Counter((line.id, line.tier) for line in lines.values()).values()) == {1}


def await_lines(child: subprocess.Popen[bytes], out: Path) -> None:
    """Wait until the run has written something new, or ended."""
    before = written(out)
    deadline = time.monotonic() + 120
    while child.poll() is None and written(out) == before and time.monotonic() < deadline:
        time.sleep(0.005)


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
    await_lines(child, tmp_path)
    child.kill()  # that which looks after them: `--processes` becomes it
    child.wait()
    deadline = time.monotonic() + 60
    while (size := written(tmp_path)) != (time.sleep(1.5), written(tmp_path))[1]:
        assert time.monotonic() < deadline, f"workers still write: {size} bytes"
    done = run(work, tmp_path)
    assert done.returncode == 0, done.stderr
