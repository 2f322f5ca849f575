"""The whole `score` of image pairs: two processes against one, and peak memory against the number of records."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import command
from . import made
from .timing import spread

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
        yield f"{LARGE - SMALL} pairs of 512x512, one thread a process, 1 process / 2: {spread(ratios)}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = made.backbone(folder)
        peaks = {}
        for count in (200, 2000):
            source = made.write(folder / str(count), count, size=256, unlike=True)
            _score(source, weights, folder / "out", 1, "--limit", 1)  # builds the data set's cache
            peaks[count] = command.own_memory(_command(source, weights, folder / "out", 1))
        ratio = f"{peaks[2000] / peaks[200]:.2f} ({peaks[2000] / 2**10:.0f} MB)"
        yield f"peak memory, pages of mapped files left out, 2,000 pairs / 200 pairs of 256x256: {ratio}"


def _score(source: tuple[Path, Path], weights: Path, out: Path, processes: int, *more: object) -> command.Spent:
    return command.spent(_command(source, weights, out, processes, *more))


def _command(source: tuple[Path, Path], weights: Path, out: Path, processes: int, *more: object) -> list[str]:
    shutil.rmtree(out, ignore_errors=True)
    pixel = ("--tiers", "pixel", "--lpips-weights", weights, "--processes", processes)
    return command.score(source, out, *pixel, *more)
