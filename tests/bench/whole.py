"""The whole `score` of image pairs: two processes against one, and peak memory against the number of records."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from . import made

SMALL, LARGE = 64, 256  # records; the difference of two runs holds no start-up
REPEATS = 5


def run() -> Iterator[str]:
    """Ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = made.backbone(folder)
        sources = {count: made.write(folder / str(count), count) for count in (SMALL, LARGE)}
        ratios = []
        for turn in range(REPEATS + 1):
            seconds = {}
            for processes in (1, 2):
                walls = {c: _score(sources[c], weights, folder / "out", processes)[0] for c in sources}
                seconds[processes] = walls[LARGE] - walls[SMALL]
            if turn:  # the first builds the data set's cache
                ratios.append(seconds[1] / seconds[2])
        found = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        yield f"{LARGE - SMALL} pairs of 512x512, one thread a process, 1 process / 2: {found}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = made.backbone(folder)
        peaks = {}
        for count in (200, 2000):
            source = made.write(folder / str(count), count, size=256)
            peaks[count] = _score(source, weights, folder / "out", 1)[1]
        ratio = f"{peaks[2000] / peaks[200]:.2f} ({peaks[2000] / 2**10:.0f} MB)"
        yield f"peak memory, 2,000 pairs / 200 pairs of 256x256: {ratio}"


def _score(source: tuple[Path, Path], weights: Path, out: Path, processes: int) -> tuple[float, float]:
    """Wall seconds, and the peak of resident KiB."""
    data, system = source
    shutil.rmtree(out, ignore_errors=True)
    command = [sys.executable, "-m", "medgen_scripts", "score", str(system), "--edition", "release", "--data-dir"]
    command += [str(data), "--out", str(out), "--tiers", "pixel", "--lpips-weights", str(weights)]
    command += ["--processes", str(processes)]
    start = time.perf_counter()
    child = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with status {status}")
    return time.perf_counter() - start, float(usage.ru_maxrss)
