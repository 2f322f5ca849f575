"""The judge's metrics: names, ranges and figures; loads no judge.

A view's overall score is `holistic_<view>`, the paper's Holistic column. Beside it stand the rubric's dimensions,
`<dimension>_<view>`, and under `protocol="standard"` their mean, `dimensions_<view>`.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from functools import partial
from math import fsum
from typing import Any

from ..rows import MetricSpec
from ..rows import Row
from ..rows import mean
from .rubric import VIEWS
from .rubric import Rubric
from .rubric import rubric as rubric_of

PROTOCOLS = ("paper", "standard")
COUNTS = ("requests", "prompt_tokens", "completion_tokens", "images", "bytes")
COST = "cost"
"""Dollars by the prices of the run that asked; absent where it had none."""


def holistic(view: str) -> str:
    """The metric of a view's overall score."""
    return f"holistic_{view}"


def dimension(name: str, view: str) -> str:
    """The metric of a dimension's score in a view."""
    return f"{name}_{view}"


def of_judge(metric: str, judge: str) -> str:
    """The column with one judge's own value of a metric, where several judge."""
    return f"{metric}@{judge}"


def layout_of(protocol: str, layout: str | None) -> str:
    """How images are shown and what is asked: as the protocol has it, unless said otherwise."""
    return layout or protocol


def specs(
    protocol: str = "paper",
    rubric: str = "v2",
    layout: str | None = None,
    scale: int | None = None,
    views: Sequence[str] = VIEWS,
    samples: int = 1,
    judges: Sequence[str] = (),
) -> tuple[MetricSpec, ...]:
    """How the metrics are named, ranged and averaged.

    Args:
        protocol: `paper` or `standard`.
        rubric: `v1` or `v2`.
        layout: `paper` or `standard`; default as `protocol`.
        scale: 5 or 10; default the rubric's.
        views: which of `VIEWS`.
        samples: verdicts drawn a record.
        judges: the judges' names.

    Raises:
        ValueError: an unknown protocol, rubric, layout, scale or view.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol: expected {', '.join(PROTOCOLS)}; got {protocol!r}")
    if isinstance(views, str) or not views or set(views) - set(VIEWS) or len(set(views)) < len(views):
        raise ValueError(f"views: expected a list of {', '.join(VIEWS)}, each once; got {views!r}")
    if samples < 1:
        raise ValueError(f"samples: expected 1 or more verdicts a record; got {samples}")
    sheet = rubric_of(rubric, layout_of(protocol, layout), scale)
    made = [_spec(holistic(view), sheet, partial(_figures, view, sheet, tuple(judges))) for view in views]
    if protocol == "standard":
        made += [_spec(dimension("dimensions", view), sheet) for view in views]
    made += [_spec(dimension(name, view), sheet) for view in views for name in sheet.names]
    return tuple(made)


def columns(made: Sequence[MetricSpec], views: Sequence[str], judges: Sequence[str]) -> tuple[str, ...]:
    """All floats that a row may hold."""
    found = [spec.name for spec in made]
    for view in views:
        found += [f"{holistic(view)}_sd", *(dimension(count, view) for count in (*COUNTS, COST))]
        found += [of_judge(holistic(view), judge) for judge in judges] if len(judges) > 1 else []
    return tuple(found)


def _spec(name: str, sheet: Rubric, extras: Any = None) -> MetricSpec:
    return MetricSpec(name, float(sheet.low), float(sheet.high), extras=extras)


def _figures(view: str, sheet: Rubric, judges: Sequence[str], rows: Sequence[Row]) -> Mapping[str, Any]:
    """A view's further figures.

    Returns:
        `pass_rate`: share of scored rows at the rubric's pass mark or above; `spread`: mean standard deviation of a
        record's verdicts, where several were drawn; `COUNTS` in total, and `cost` where all of it is known; of several
        judges `agreement` (see `agreement.agreement`).
    """
    metric = holistic(view)
    scores = [row.values[metric] for row in rows if metric in row.values]
    spreads = [row.values[f"{metric}_sd"] for row in rows if f"{metric}_sd" in row.values]
    found: dict[str, Any] = {"pass_rate": mean([float(score >= sheet.pass_mark) for score in scores])}
    if spreads:
        found["spread"] = mean(spreads)
    for count in COUNTS:
        name = dimension(count, view)
        total = [row.values[name] for row in rows if name in row.values]
        if total:
            found[count] = round(sum(total))
    # a record without requests costs nothing
    asked, cost = dimension(COUNTS[0], view), dimension(COST, view)
    costs = [row.values.get(cost) for row in rows if row.values.get(asked)]
    if costs and None not in costs:
        found[COST] = fsum(cost for cost in costs if cost is not None)
    if len(judges) > 1:
        from .agreement import agreement

        ratings = {judge: [row.values.get(of_judge(metric, judge)) for row in rows] for judge in judges}
        found["agreement"] = agreement(ratings, low=sheet.low, high=sheet.high)
    return found
