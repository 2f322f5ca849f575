"""Several systems named in one `score` call, or in later ones: what a further one costs against the first."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from . import command
from . import made
from .timing import spread

SMALL, LARGE = 16, 64  # records; the difference of two runs holds no start-up
SYSTEMS = 3
REPEATS = 5
FEW, MORE = 8, 40  # records, likewise, for an encoder of real size
TURNS = 3


def run() -> Iterator[str]:
    """Ratios, in CPU time: of the pixel tier under both protocols, of the embedding tier in one call and in a later."""
    yield from _pixel()
    yield from _embedding()


def _pixel() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        weights = made.backbone(folder)
        sources = {count: _systems(folder / str(count), count) for count in (SMALL, LARGE)}
        for protocol in ("paper", "standard"):
            ratios = []
            for turn in range(REPEATS + 1):
                seconds = {}
                options = ("--tiers", "pixel", "--lpips-weights", weights, "--protocol", protocol)
                for systems in (1, SYSTEMS):
                    spent = [
                        _score(sources[count], range(systems), folder / "out", options) for count in (LARGE, SMALL)
                    ]
                    seconds[systems] = spent[0] - spent[1]
                if turn:  # the first builds the data set's cache
                    ratios.append((seconds[SYSTEMS] - seconds[1]) / (SYSTEMS - 1) / seconds[1])
            what = f"pixel, {protocol}, {LARGE - SMALL} pairs of 512x512, a further system / the first"
            yield f"{what}: {spread(ratios)}"


def _embedding() -> Iterator[str]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        options = ("--tiers", "embedding", "--embedding-model", made.dinov2_base(folder))
        sources = {count: _systems(folder / str(count), count) for count in (FEW, MORE)}
        same: list[float] = []
        later: list[float] = []
        for turn in range(TURNS + 1):
            seconds: dict[str, float] = {"first": 0, "several": 0, "later": 0}
            for count, sign in ((MORE, 1), (FEW, -1)):
                out = folder / "out"
                seconds["several"] += sign * _score(sources[count], range(SYSTEMS), out, options)
                seconds["first"] += sign * _score(sources[count], [0], out, options)
                # the first one's folder, which keeps the references, is there
                seconds["later"] += sign * _score(sources[count], [1], out, options, is_new=False)
            if turn:
                same.append((seconds["several"] - seconds["first"]) / (SYSTEMS - 1) / seconds["first"])
                later.append(seconds["later"] / seconds["first"])
        what = f"embedding (DINOv2-base, random weights), {MORE - FEW} pairs of 512x512, a further system / the first"
        yield f"{what}, in one call: {spread(same)}"
        yield f"{what}, in a later call: {spread(later)}"


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


def _score(
    source: tuple[Path, list[Path]], systems: Sequence[int], out: Path, options: Sequence[object], is_new: bool = True
) -> float:
    """CPU seconds of scoring some of the systems, into an empty folder or into what is there."""
    if is_new:
        shutil.rmtree(out, ignore_errors=True)
    data, paths = source
    first, *others = (paths[number] for number in systems)
    return command.spent(command.score((data, first), out, *map(os.fspath, others), *options)).cpu
