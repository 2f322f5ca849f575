"""The whole `score` of image pairs: two processes against one, and peak memory against the number of records."""

import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import command
from . import made

SMALL, LARGE = 64, 256  # records; the difference of two runs holds no start-up
REPEATS = 5


def run() -> Iterator[str]:
    """Ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = made.backbone(folder)
        sources = {count: made.write(folder / str(count), count, unlike=True) for count in (SMALL, LARGE)}
        ratios = []
        for turn in range(REPEATS + 1):
            seconds = {}
            for processes in (1, 2):
                walls = {c: _score(sources[c], weights, folder / "out", processes).wall for c in sources}
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
            source = made.write(folder / str(count), count, size=256, unlike=True)
            peaks[count] = _score(source, weights, folder / "out", 1).peak
        ratio = f"{peaks[2000] / peaks[200]:.2f} ({peaks[2000] / 2**10:.0f} MB)"
        yield f"peak memory, 2,000 pairs / 200 pairs of 256x256: {ratio}"


def _score(source: tuple[Path, Path], weights: Path, out: Path, processes: int) -> command.Spent:
    shutil.rmtree(out, ignore_errors=True)
    pixel = ("--tiers", "pixel", "--lpips-weights", weights, "--processes", processes)
    return command.spent(command.score(source, out, *pixel))
