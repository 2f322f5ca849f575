"""Simulated scale: many records with stand-in scorers, journals to resume.

`python -m tests.bench.scale FOLDER COUNT PROCESSES MILLISECONDS` scores once, as one of several where it is started so.
"""

import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import command
from . import made

SMALL, LARGE = 10_000, 100_000  # records
REPEATS = 3


def run() -> Iterator[str]:
    """Throughput, memory and how both grow."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {}
        for count in (SMALL, LARGE):
            write(folder / str(count), count)
            _score(folder / str(count), 1, 0, out="warm")  # builds the data set's cache
            runs = [_score(folder / str(count), 1, 0, fresh=True) for _ in range(REPEATS)]
            found[count] = {part: statistics.median(run[part] for run in runs) for part in runs[0]}
        for count, spent in found.items():
            yield (
                f"{count:,} records, 1 process: {count / spent['stage']:,.0f} records/s scored, {spent['read']:.1f} s "
                f"read before, {spent['rest']:.1f} s aggregated behind, peak {spent['peak'] / 2**10:,.0f} MB"
            )
        small, large = found[SMALL], found[LARGE]
        for part in ("stage", "read", "rest", "peak", "bytes"):
            yield f"{LARGE // SMALL} times the records, {part}: {large[part] / small[part]:.1f} times"
        again = _score(folder / str(LARGE), 1, 0)
        read, whole = again["journal"], again["whole"]
        yield f"resume over a journal of {LARGE:,} lines: read in {read:.2f} s, whole run {whole:.1f} s"
        ratios = []
        for _ in range(REPEATS):
            walls = {n: _score(folder / str(SMALL), n, 1, out=f"p{n}", fresh=True)["stage"] for n in (1, 2)}
            ratios.append(walls[1] / walls[2])
        yield (
            f"{SMALL:,} records of 1 ms each, start-up apart, 1 process / 2: "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def write(folder: Path, count: int) -> None:
    """Config vqa with `count` records, which share one picture, and a system's answers."""
    made.questions(folder / "data", count, 16, lambda number: f"A nodule of {number} mm.")
    system = folder / "mine"
    system.mkdir()
    with (system / "vqa.jsonl").open("w") as file:
        for number in range(count):
            text = f"A nodule of {number + number % 3} mm, in the upper lobe."
            file.write(json.dumps({"id": f"question-answering-{number:012x}", "text": text, "image": None}) + "\n")


def _score(
    folder: Path, processes: int, milliseconds: float, out: str = "out", *, fresh: bool = False
) -> dict[str, float]:
    line = [sys.executable, "-W", "ignore"]
    if processes > 1:
        line += ["-m", "medgen_scripts.scoring.supervise", str(processes)]  # as `--processes` does
    line += ["-m", "tests.bench.scale", str(folder), out, str(processes), str(milliseconds)]
    if fresh:
        shutil.rmtree(folder / out, ignore_errors=True)
    peak = command.own_memory(line)
    return {**json.loads((folder / out / "spent.json").read_text()), "peak": peak}


def main(folder: Path, out: Path, processes: int, milliseconds: float) -> None:
    """Score with a stand-in for the text tier's encoder, and leave what it took in `spent.json`."""
    from medgen_scripts import score as verb
    from medgen_scripts.scoring import journal
    from medgen_scripts.scoring import tiers

    times: dict[str, float] = {}

    class Stand(tiers.TextWork):
        def score(self, samples: Sequence[tiers.Sample]) -> Any:
            # Works, where a sleep would let any number of processes go at once on one core.
            end = time.thread_time() + milliseconds / 1000 * len(samples)
            while time.thread_time() < end:
                pass
            return super().score(samples)

    tiers.TIERS["text"] = Stand
    for name, module, what in (
        ("stage", verb, "score_tasks"),
        ("rest", verb, "_aggregate"),
        ("read", verb, "read_tasks"),
        ("journal", journal, "read"),
    ):
        setattr(module, what, _timed(name, getattr(module, what), times))
    begun = time.perf_counter()
    options = verb.ScoreOptions(
        edition="release", data_dir=folder / "data", out=out, tiers=("text",), offline=True, expect_processes=processes
    )
    if verb.score([folder / "mine"], options):
        sizes = sum(path.stat().st_size for path in (out / "scores").rglob("*.jsonl"))
        spent = {**times, "whole": time.perf_counter() - begun, "bytes": float(sizes)}
        (out / "spent.json").write_text(json.dumps(spent))


def _timed(name: str, function: Any, times: dict[str, float]) -> Any:
    def timed(*arguments: Any, **named: Any) -> Any:
        begun = time.perf_counter()
        try:
            return function(*arguments, **named)
        finally:
            # the first call: a journal is read again at the end
            times.setdefault(name, time.perf_counter() - begun)

    return timed


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[1]) / sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
