"""Several systems named in one `score` call: what a further one costs against the first."""

import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import command
from . import made

SMALL, LARGE = 16, 64  # records; the difference of two runs holds no start-up
SYSTEMS = 3
REPEATS = 5


def run() -> Iterator[str]:
    """Ratios, in CPU time, under both protocols."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = made.backbone(folder)
        sources = {count: _systems(folder / str(count), count) for count in (SMALL, LARGE)}
        for protocol in ("paper", "standard"):
            ratios = []
            for turn in range(REPEATS + 1):
                seconds = {}
                for systems in (1, SYSTEMS):
                    spent = [_score(sources[count], systems, protocol, weights, folder) for count in (LARGE, SMALL)]
                    seconds[systems] = spent[0] - spent[1]
                if turn:  # the first builds the data set's cache
                    ratios.append((seconds[SYSTEMS] - seconds[1]) / (SYSTEMS - 1) / seconds[1])
            found = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            yield f"pixel, {protocol}, {LARGE - SMALL} pairs of 512x512, a further system / the first: {found}"


def _systems(folder: Path, count: int) -> tuple[Path, list[Path]]:
    """A data set, and systems whose files differ, so that none is taken for another's."""
    data, system = made.write(folder, count, unlike=True)
    systems = [system]
    for number in range(1, SYSTEMS):
        other = folder / f"other{number}"
        shutil.copytree(system, other)
        for path in (other / "images").iterdir():
            # What stands behind a PNG's end is not read, but counts in its digest.
            path.write_bytes(path.read_bytes() + bytes([number]))
        systems.append(other)
    return data, systems


def _score(source: tuple[Path, list[Path]], systems: int, protocol: str, weights: Path, folder: Path) -> float:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    data, paths = source
    arguments = [*map(os.fspath, paths[1:systems]), "--tiers", "pixel", "--lpips-weights", weights]
    return command.spent(command.score((data, paths[0]), out, *arguments, "--protocol", protocol)).cpu
