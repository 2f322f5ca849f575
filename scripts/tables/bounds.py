"""How far unscored records could move a mean, and whether that could turn the order of two systems."""

from collections.abc import Sequence
from itertools import combinations

from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row
from medgen_metrics.rows import mean

from .columns import Column
from .model import Line

Bounds = tuple[float | None, float | None]


def bounds(rows: Sequence[Row], spec: MetricSpec) -> Bounds:
    """The mean with every unscored record at the low and at the high end of the metric's declared range.

    None stands for an open end, and for both where nothing is scored or the metric is no mean of values (corpus BLEU).
    A row counts as unscored for any reason, the evaluation's too, unless the failure has a defined value that counts
    (a missing answer is wrong in EM).
    """
    if spec.average is not None:
        return None, None
    scored: list[float] = []
    unscored = 0
    for row in rows:
        value = spec.counted(row)
        if value is not None:
            scored.append(value)
        elif not spec.is_scored(row):
            unscored += spec.applies(row)
    if not scored:
        return None, None
    if not unscored:
        return mean(scored), mean(scored)
    low, high = (None if end is None else mean([*scored, *[end] * unscored]) for end in (spec.low, spec.high))
    return low, high


def unsettled(lines: Sequence[Line], place: int, column: Column) -> list[tuple[str, str]]:
    """Pairs of systems, better one first, whose order in a column could be the other way round within their bounds."""
    known = [(line.system, cell) for line in lines if not line.role and (cell := line.cells[place]) is not None]
    pairs = []
    for first, second in combinations([item for item in known if item[1].mean is not None], 2):
        if (first[1].complete and second[1].complete) or first[1].mean == second[1].mean:
            continue
        if first[1].bounds == (None, None) or second[1].bounds == (None, None):
            continue
        higher, lower = sorted((first, second), key=lambda item: item[1].mean or 0.0, reverse=True)
        low, high = higher[1].bounds[0], lower[1].bounds[1]
        if low is None or high is None or low < high:
            better, worse = (higher, lower) if column.higher_is_better else (lower, higher)
            pairs.append((better[0], worse[0]))
    return pairs
