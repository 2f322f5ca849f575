"""Processes of a run that die, hang or are slow: the others score what is left, nothing is lost, and it is said."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts import result_file

from ..scored import write_work
from .forked import BATCH
from .forked import Ended
from .forked import Run

COUNT, SIZE = 40, 3
ALIKE = COUNT // 2  # answers to multiple choice, all the same: they are scored at once
ROOT = Path(__file__).resolve().parents[3]

Score = Callable[..., Ended]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_work(tmp_path_factory.mktemp("work"), COUNT, without=7)


@pytest.fixture(scope="module")
def scored(work: Path) -> Iterator[Score]:
    """Scores config vqa into `out`, as `forked` has it."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.scripts.scoring.forked"],
        cwd=ROOT,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as forking:
        assert forking.stdin is not None
        assert forking.stdout is not None

        def score(out: Path, more: tuple[str, ...] = (), **how: Any) -> Ended:
            arguments = [str(work / "mine"), "--config", "vqa", "--edition", "release", "--offline"]
            arguments += ["--data-dir", str(work / "data"), "--out", str(out), *more]
            folder = out.parent / f"{out.name}-{len(list(out.parent.iterdir()))}"
            asked = Run(arguments, str(folder), **{"size": SIZE, **how})
            print(json.dumps(asked.__dict__), file=forking.stdin, flush=True)
            return Ended(**json.loads(forking.stdout.readline()))

        yield score
        forking.stdin.close()


@pytest.fixture(scope="module")
def undisturbed(scored: Score, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    out = tmp_path_factory.mktemp("undisturbed") / "out"
    assert scored(out, size=1, supervised=False).codes == [0]
    return configs(out)


def configs(out: Path) -> dict[str, Any]:
    return result_file.load(out / "results" / "mine.json").configs


def by_rank(out: Path, size: int = SIZE) -> list[int]:
    """Lines that each process has written."""
    folder = out / "scores" / "mine"
    return [sum(len(path.read_text().splitlines()) for path in folder.glob(f"*-{rank}.jsonl")) for rank in range(size)]


def test_what_processes_leave_is_scored_by_the_main_one(
    scored: Score, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    fates = {"1": ("batch", "kill"), "2": ("batch", "137"), "3": ("batch", "raise"), "4": ("start", "kill")}
    ended = scored(out, size=5, fates=fates)
    said = "".join(ended.said)
    assert (ended.codes, ended.left) == ([0], []), said
    assert configs(out) == undisturbed
    assert by_rank(out, 5) == [COUNT, 0, 0, 0, 0]
    for rank in (1, 2, 4):
        assert said.count(f"process {rank} of 5 was killed by signal 9 (out of memory?); the others go on") == 1
    assert said.count("Traceback") == said.count("ZeroDivisionError: made up") == 1
    missing = re.findall(r"process 1, 2, 3, 4 ended early; (\d+) scores that were missing are computed", said)
    assert [0 < int(number) < COUNT for number in missing] == [True]


def test_one_that_hangs_and_one_that_dies_at_its_end_hold_nobody(
    scored: Score, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = scored(out, fates={"1": ("batch", "stop"), "2": ("end", "kill")})
    said = "".join(ended.said)
    assert (ended.codes, ended.left) == ([0], []), said
    assert configs(out) == undisturbed
    assert sum(by_rank(out)) == COUNT
    assert "process 1 of 3 gave no sign of life for 3 seconds and was ended" in said
    assert "process 2 of 3 was killed by signal 9" in said
    assert "process 1, 2 ended early" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("what", ["kill", "raise"])
def test_without_the_main_process_the_others_score_and_a_second_run_only_the_rest(
    scored: Score, undisturbed: dict[str, Any], tmp_path: Path, what: str
) -> None:
    out = tmp_path / "out"
    ended = scored(out, fates={"0": ("batch", what)})
    said = "".join(ended.said)
    assert (ended.codes, ended.left) == ([1], [])
    assert said.count("process 0 of 3 was killed by signal 9 (out of memory?); the others go on") == (what == "kill")
    assert said.count("process 0, which writes the results, is gone; run the same command again") == (what == "kill")
    assert said.count("Traceback") == (what == "raise")
    first = sum(by_rank(out))
    assert COUNT // 4 < first < COUNT
    again = scored(out)
    assert again.codes == [0]
    assert sum(by_rank(out)) == COUNT
    assert configs(out) == undisturbed
    assert "ended early" not in "".join(again.said)


def test_nobody_waits_for_the_dead_where_nobody_looks_after_them(
    scored: Score, undisturbed: dict[str, Any], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    fates = {"1": ("batch", "kill"), "2": ("batch", "raise"), "3": ("start", "kill")}
    ended = scored(out, size=5, supervised=False, fates=fates)
    assert ended.codes == [0, -signal.SIGKILL, 1, -signal.SIGKILL, 0], ended.said
    assert "process 1, 2, 3 ended early" in ended.said[0]
    assert configs(out) == undisturbed
    assert sum(by_rank(out, 5)) == COUNT


def test_without_the_one_that_counts_the_others_end(scored: Score, tmp_path: Path) -> None:
    ended = scored(tmp_path / "out", supervised=False, fates={"0": ("batch", "kill")})
    assert ended.codes == [-signal.SIGKILL, 1, 1]
    for said in ended.said[1:]:
        assert "another process of this run has ended" in said
        assert "Traceback" not in said


def test_a_slow_process_holds_one_batch_and_no_more(scored: Score, undisturbed: dict[str, Any], tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert scored(out, fates={"2": ("batch", "slow")}).codes == [0]
    assert configs(out) == undisturbed
    written = by_rank(out)
    assert sum(written) == COUNT
    assert written[2] <= max(BATCH, ALIKE)


@pytest.mark.parametrize("supervised", [True, False])
def test_fewer_records_than_processes(scored: Score, tmp_path: Path, supervised: bool) -> None:
    alone, together = tmp_path / "alone", tmp_path / "together"
    assert scored(alone, size=1, supervised=False, more=("--limit", "1")).codes == [0]
    ended = scored(together, supervised=supervised, more=("--limit", "1"))
    assert set(ended.codes) == {0}, ended.said
    assert configs(together) == configs(alone)
    assert sum(by_rank(together)) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupted_all_end_with_one_line(scored: Score, tmp_path: Path, number: int, code: int) -> None:
    ended = scored(tmp_path / "out", signal=number)
    said = "".join(ended.said)
    assert (ended.codes, ended.left) == ([code], [])
    assert said.count("interrupted; what is done is kept, the same command continues") == 1
    assert "Traceback" not in said
