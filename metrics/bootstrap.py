"""Seeded bootstrap intervals of a mean (or of a corpus score) that resample whole groups of records.

Records of one patient or one source image are no independent draws, so groups are drawn, not records (the cluster
bootstrap; Davison and Hinkley 1997, section 3.8). The interval is the percentile one, as the published evaluator's,
with its number of resamples and its seed. Groups that the data set doesn't know, e.g. a patient whose images carry no
name, are drawn as if they were several, and make an interval too narrow.
"""

from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .rows import MetricSpec
from .rows import Row

RESAMPLES = 1000
SEED = 42
LEVEL = 0.95

_AT_ONCE = 2**20  # draws
_KEPT = 2**25  # draws whose counts are kept for the next metric, in 64 MB; others are drawn again


class Interval(NamedTuple):
    """An interval, and what it was drawn from.

    Attributes:
        low, high: its ends; None where fewer than two groups leave nothing to draw.
        groups: groups with at least one counted record.
        largest: records of the largest group.
    """

    low: float | None
    high: float | None
    groups: int
    largest: int


def mean_interval(
    values: Sequence[float],
    groups: Sequence[Hashable],
    *,
    is_rate: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval of the mean over records.

    Args:
        values: one a record.
        groups: the group of each record.
        is_rate: values are 0 and 1. Where all are alike every resample is too, which says nothing of the uncertainty:
            then Wilson's interval at the design-effect number of records, see `wilson`.
        resamples: number of resamples.
        seed: of the random numbers.

    Raises:
        ValueError: unequal lengths; a rate of values other than 0 and 1.
    """
    columns = np.column_stack([np.asarray(values, float), np.ones(len(values))])
    if is_rate and not np.isin(columns[:, 0], (0.0, 1.0)).all():
        raise ValueError("a rate is over values of 0 and 1; got others")
    sums = _sums(columns, groups)
    sizes = sums[:, 1].astype(int)
    if is_rate and len(sums) and len(np.unique(columns[:, 0])) == 1:
        return Interval(*wilson(bool(columns[0, 0]), sizes), len(sizes), int(sizes.max()))
    return _percentile(sums, lambda drawn: drawn[:, 0] / drawn[:, 1], sizes, resamples, seed)


def sums_interval(
    columns: np.ndarray,
    groups: Sequence[Hashable],
    statistic: Callable[[np.ndarray], np.ndarray],
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Interval:
    """Interval of a score that is a function of sums over records, e.g. corpus BLEU.

    Args:
        columns: sufficient statistics, [records, statistics].
        groups: the group of each record.
        statistic: sums [resamples, statistics] -> scores [resamples].
        resamples: number of resamples.
        seed: of the random numbers.

    Raises:
        ValueError: unequal lengths.
    """
    sizes = _sums(np.ones((len(columns), 1)), groups)[:, 0].astype(int)
    return _percentile(_sums(np.asarray(columns, float), groups), statistic, sizes, resamples, seed)


def interval(rows: Sequence[Row], groups: Sequence[Hashable], spec: MetricSpec) -> Interval:
    """Interval of a metric's mean over `rows`, as `spec.of(rows)` averages them.

    Args:
        rows: one a record.
        groups: the group of each record.
        spec: the metric. One that averages in a way of its own and names no statistics has no interval.

    Raises:
        ValueError: unequal lengths.
    """
    if spec.of_sums is not None:
        chosen = [(row, group) for row, group in zip(rows, groups, strict=True) if spec.name in row.values]
        columns = np.array([[row.values[name] for name in spec.statistics] for row, _ in chosen])
        return sums_interval(columns.reshape(len(chosen), -1), [group for _, group in chosen], spec.of_sums)
    counted = [(spec.counted(row), group) for row, group in zip(rows, groups, strict=True)]
    known = [(value, group) for value, group in counted if value is not None]
    made = mean_interval([value for value, _ in known], [group for _, group in known], is_rate=spec.is_rate)
    return made._replace(low=None, high=None) if spec.average is not None else made


def wilson(all_pass: bool, sizes: Sequence[int] | np.ndarray) -> tuple[float, float]:
    """Wilson's interval where all records pass, or all fail.

    The data can't tell how alike a group's records are, so they are taken to be wholly alike: the design effect is
    then sum m^2 / sum m over the groups' sizes m (Kish 1965, section 5.4), and n, rounded down, is
    (sum m)^2 / sum m^2.

    Args:
        all_pass: whether all pass; else all fail.
        sizes: records of each group.
    """
    from scipy.stats import binomtest

    records = np.asarray(sizes, float)
    effective = max(1, int(records.sum() ** 2 / (records**2).sum() + 1e-9))
    ends = binomtest(effective if all_pass else 0, effective).proportion_ci(LEVEL, method="wilson")
    return float(ends.low), float(ends.high)


def _sums(columns: np.ndarray, groups: Sequence[Hashable]) -> np.ndarray:
    """Sums a group, groups in the order in which they come first: [groups, statistics]."""
    if len(columns) != len(groups):
        raise ValueError(f"expected a group for each record; got {len(columns)} records, {len(groups)} groups")
    numbers: dict[Hashable, int] = {}
    places = np.array([numbers.setdefault(group, len(numbers)) for group in groups], dtype=int)
    return np.column_stack([np.bincount(places, column, len(numbers)) for column in columns.T])


def _percentile(
    sums: np.ndarray, statistic: Callable[[np.ndarray], np.ndarray], sizes: np.ndarray, resamples: int, seed: int
) -> Interval:
    largest = int(sizes.max()) if len(sizes) else 0
    if len(sums) < 2:
        return Interval(None, None, len(sizes), largest)
    drawn = _kept_counts(len(sums), resamples, seed) if len(sums) * resamples <= _KEPT else None
    # A share of the resamples at a time: all of them as floats would be gigabytes for 100,000 groups.
    step = max(1, _AT_ONCE // len(sums))
    shares = (
        _counts(len(sums), resamples, seed, step)
        if drawn is None
        else (drawn[start : start + step] for start in range(0, resamples, step))
    )
    scores = np.concatenate([statistic(share.astype(float) @ sums) for share in shares])
    low, high = np.quantile(scores, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(float(low), float(high), len(sizes), largest)


# Metrics of one result share their groups, and systems of one table too: the last draw is the next one as a rule.
@lru_cache(maxsize=1)
def _kept_counts(groups: int, resamples: int, seed: int) -> np.ndarray:
    return np.concatenate(list(_counts(groups, resamples, seed, max(1, _AT_ONCE // groups))))


def _counts(groups: int, resamples: int, seed: int, step: int) -> Iterator[np.ndarray]:
    """How often each resample draws each group: [step, groups] at a time; rows sum to `groups`."""
    random = np.random.default_rng(seed)
    for start in range(0, resamples, step):
        rows = min(step, resamples - start)
        drawn = random.integers(0, groups, (rows, groups))
        drawn += np.arange(rows)[:, None] * groups
        counted = np.bincount(drawn.ravel(), minlength=rows * groups).reshape(rows, groups)
        # No group is drawn anywhere near 65,536 times: each is drawn once on average.
        yield counted.astype(np.uint16)
