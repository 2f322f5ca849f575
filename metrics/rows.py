"""One row a sample, and how rows become a result.

A `Row` is what every scorer gives back, the journal stores and the `evaluate` modules keep. A `MetricSpec` says how a
metric's column is named, ranged and averaged; `summarise` applies specs to rows. The same rows always give the same
result, whoever sums them up.
"""

from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from math import fsum
from typing import Any

from .failures import is_system_failure


@dataclass(frozen=True, slots=True)
class Row:
    """A sample's scores.

    Attributes:
        values: column name -> float, natural units (0-1, dB, 1-5). Holds sufficient statistics too (e.g. BLEU's
            matches). A metric's value is absent where it is unscored or does not apply.
        reasons: metric name -> reason (`failures.REASONS`) where it is unscored. A metric in neither mapping does not
            apply to the sample (EM of an open question) and is not counted. A metric may be in both only where the
            failure has a defined value (EM of a missing answer is 0).
        flags: things counted beside the scores, e.g. `resized`, `identical`, `refused`, `truncated`.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


def mean(values: Sequence[float]) -> float | None:
    """Exactly rounded mean, independent of order; None of nothing."""
    return fsum(values) / len(values) if values else None


@dataclass(frozen=True, slots=True)
class Summed:
    """Further figures that are made of sums over rows, so that processes' are merged by adding.

    Attributes:
        columns: names of what is added up.
        of_row: a row to which the metric applies -> what it adds to each of them.
        of_sums: the sums by name -> the figures.
    """

    columns: tuple[str, ...]
    of_row: Callable[[Row], Sequence[float]]
    of_sums: Callable[[Mapping[str, float]], Mapping[str, Any]]

    def sums(self, rows: Sequence[Row]) -> dict[str, float]:
        """Exactly rounded sums, independent of order."""
        added = [self.of_row(row) for row in rows]
        return {name: fsum(row[place] for row in added) for place, name in enumerate(self.columns)}

    def __call__(self, rows: Sequence[Row]) -> Mapping[str, Any]:
        """The figures of rows."""
        return self.of_sums(self.sums(rows))


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """How one metric is averaged.

    Attributes:
        name: the metric's name and, unless `average` says otherwise, its column in `Row.values`.
        low, high: its declared range; None where open.
        higher_is_better: direction.
        average: rows to which the metric applies -> mean; default: over scored rows.
        average_worst: the same with every system's failure at its worst, where that is not the mean of values.
        extras: rows to which the metric applies -> further figures (e.g. EM's right, parsed, closed); a `Summed` where
            sums tell them.
        column: the column whose presence says that a row is scored, where that is not the metric's own: the PSNR of
            identical images is no finite number, and they are scored all the same.
        left_out: reasons whose rows are left out of the mean though they have a value.
        is_rate: whether values are 0 and 1.
        statistics, of_sums: of a score that `average` takes from sums over the scored rows: their columns, and
            sums [sets of rows, columns] -> scores [sets of rows].
    """

    name: str
    low: float | None
    high: float | None
    higher_is_better: bool = True
    average: Callable[[Sequence[Row]], float | None] | None = None
    average_worst: Callable[[Sequence[Row]], float | None] | None = None
    extras: Callable[[Sequence[Row]], Mapping[str, Any]] | None = None
    column: str | None = None
    left_out: tuple[str, ...] = ()
    is_rate: bool = False
    statistics: tuple[str, ...] = ()
    of_sums: Callable[[Any], Any] | None = None

    @property
    def worst(self) -> float | None:
        """The worst value of the declared range; None where that end is open."""
        return self.low if self.higher_is_better else self.high

    def applies(self, row: Row) -> bool:
        """Whether the sample counts for this metric at all."""
        return (self.column or self.name) in row.values or self.name in row.reasons

    def is_scored(self, row: Row) -> bool:
        """Whether the sample has a value, and no reason against it."""
        return (self.column or self.name) in row.values and self.name not in row.reasons

    def of(self, rows: Sequence[Row]) -> float | None:
        """The mean over `rows`; None if nothing is scored."""
        if self.average is not None:
            return self.average(rows)
        if not self.left_out:
            return mean([value for row in rows if (value := row.values.get(self.name)) is not None])
        return mean([value for row in rows if (value := self.counted(row)) is not None])

    def counted(self, row: Row) -> float | None:
        """The row's value in the mean; None if it has none or is left out of it."""
        if self.left_out and row.reasons.get(self.name) in self.left_out:
            return None
        return row.values.get(self.name)


def summarise_metric(rows: Sequence[Row], spec: MetricSpec) -> dict[str, Any]:
    """One metric's figures.

    Returns:
        `mean` (None if nothing is scored), `n` samples it applies to, `scored` samples with a value and no reason,
        `coverage` = scored/n (None if n is 0), `failures` {reason: count}, `mean_failures_worst`: the mean with every
        system's failure at the metric's worst (None where the range is open and there are such failures), and the
        metric's own extras.
    """
    name = spec.name
    applicable = [row for row in rows if spec.applies(row)]
    # Most rows have no reason at all: tables of many systems look at millions.
    reasoned = [row for row in applicable if row.reasons and name in row.reasons]
    reasons = Counter(row.reasons[name] for row in reasoned)
    scored = len(applicable) - sum(1 for row in reasoned if not spec.is_scored(row))
    average = spec.of(applicable)
    return {
        "mean": average,
        "n": len(applicable),
        "scored": scored,
        "coverage": scored / len(applicable) if applicable else None,
        "failures": dict(sorted(reasons.items())),
        "mean_failures_worst": _mean_failures_worst(applicable, spec, reasons, average),
        **(spec.extras(applicable) if spec.extras is not None else {}),
    }


def _mean_failures_worst(
    applicable: Sequence[Row], spec: MetricSpec, reasons: Mapping[str, int], average: float | None
) -> float | None:
    if spec.average_worst is not None:
        return spec.average_worst(applicable)
    if not any(map(is_system_failure, reasons)):
        return average
    if spec.worst is None:
        return None
    values = [
        spec.worst if bad else row.values[spec.name]
        for row in applicable
        if (bad := is_system_failure(row.reasons.get(spec.name, ""))) or spec.name in row.values
    ]
    return mean(values)


def summarise(rows: Sequence[Row], specs: Sequence[MetricSpec]) -> dict[str, Any]:
    """All metrics' figures and the counted flags: `{"n": …, "metrics": {name: …}, "flags": {flag: count}}`."""
    return {
        "n": len(rows),
        "metrics": {spec.name: summarise_metric(rows, spec) for spec in specs},
        "flags": dict(sorted(Counter(flag for row in rows for flag in row.flags).items())),
    }
