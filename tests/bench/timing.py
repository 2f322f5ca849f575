"""Interleaved timing: the machine's speed drifts, so only ratios of neighbouring runs are quoted."""

import statistics
import time
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass

REPEATS = 7


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds a unit of work, over the repeats."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The figure to quote."""
        return statistics.median(self.seconds)


def interleaved(work: Mapping[str, tuple[Callable[[], object], int]], repeats: int = REPEATS) -> dict[str, Timing]:
    """Time several ways in turn, A B A B …, after one uncounted turn.

    Args:
        work: name -> (what to run, how many units one run does).
        repeats: counted turns.

    Returns:
        Name -> seconds a unit.
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(repeats + 1):
        for name, (run, units) in work.items():
            start = time.perf_counter()
            run()
            if turn:
                seconds[name].append((time.perf_counter() - start) / units)
    return {name: Timing(tuple(values)) for name, values in seconds.items()}


def ratio(timings: Mapping[str, Timing], slow: str, fast: str) -> str:
    """How many times longer `slow` takes than `fast`: median, and the spread over turns."""
    ratios = [a / b for a, b in zip(timings[slow].seconds, timings[fast].seconds, strict=True)]
    return f"{slow} / {fast}: {spread(ratios)}"


def spread(ratios: Sequence[float]) -> str:
    """Their median, and from where to where they go."""
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
