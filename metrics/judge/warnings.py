"""What a reader of judged figures should be told: pure functions from rows to texts."""

from collections.abc import Iterable
from collections.abc import Sequence

from ..failures import is_system_failure
from ..rows import MetricSpec
from ..rows import Row
from ..rows import summarise_metric
from .specs import dimension
from .specs import holistic

COVERAGE_MARK = 0.95  # share of scored records below which a mean is warned of
CONTRADICTION_MARK = 0.05  # share of contradicting records above which the judge is warned of
CONSTANT_FROM = 10  # records: fewer may well all have the same score

_ROUNDING = 1e-9


def coverage(rows: Sequence[Row], metric: str) -> str | None:
    """A warning where fewer than 95 % of the records to which `metric` applies are scored."""
    found = summarise_metric(rows, MetricSpec(metric, None, None))
    scored, applicable, reasons = found["scored"], found["n"], found["failures"]
    if scored >= COVERAGE_MARK * applicable:
        return None
    why = "; ".join(
        f"{whose} {', '.join(f'{reason} {count}' for reason, count in of.items())}"
        for whose, of in (
            ("the system's failures:", {name: n for name, n in reasons.items() if is_system_failure(name)}),
            ("the evaluation's:", {name: n for name, n in reasons.items() if not is_system_failure(name)}),
        )
        if of
    )
    share = f"{metric}: {scored} of {applicable} records are scored ({scored / applicable:.1%}; {why})"
    return (
        f"{share}; the mean is over those alone, so that a system gains by failing where it is bad" if scored else share
    )


def constant(rows: Sequence[Row], metric: str) -> str | None:
    """A warning where ten records or more are scored, all alike: such a judge tells nothing apart."""
    scores = [row.values[metric] for row in rows if metric in row.values]
    if len(scores) < CONSTANT_FROM or len(set(scores)) > 1:
        return None
    return f"{metric}: all {len(scores)} records have the score {scores[0]:g}; this judge tells nothing apart"


def contradicts(row: Row, view: str, dimensions: Sequence[str]) -> bool | None:
    """Whether the overall score lies outside the range of the dimensions' scores; None where either is missing.

    An overall score may weigh the dimensions as it likes, but no weighing takes it below the lowest or above the
    highest of them.
    """
    scores = [row.values[name] for key in dimensions if (name := dimension(key, view)) in row.values]
    overall = row.values.get(holistic(view))
    if overall is None or not scores:
        return None
    return not min(scores) - _ROUNDING <= overall <= max(scores) + _ROUNDING


def contradiction(rows: Sequence[Row], view: str, dimensions: Sequence[str]) -> str | None:
    """A warning where the overall score contradicts the dimensions (`contradicts`) in more than 5 % of the records."""
    found = [said for row in rows if (said := contradicts(row, view, dimensions)) is not None]
    if not found or sum(found) <= CONTRADICTION_MARK * len(found):
        return None
    return (
        f"{holistic(view)}: in {sum(found)} of {len(found)} records ({sum(found) / len(found):.1%}) the overall score "
        f"lies outside the range of the dimensions' scores, more than {CONTRADICTION_MARK:.0%}"
    )


def of_rows(rows: Sequence[Row], views: Iterable[str], dimensions: Sequence[str]) -> list[str]:
    """All warnings that rows give cause for.

    Args:
        rows: one a record.
        views: the views that were asked for.
        dimensions: the rubric's dimensions (`Rubric.names`).
    """
    found = []
    for view in views:
        metric = holistic(view)
        found += [coverage(rows, metric), constant(rows, metric), contradiction(rows, view, dimensions)]
    return [warning for warning in found if warning is not None]
