"""A system's lines: its cells over all records, and over each group of them."""

from collections import Counter
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from medgen_metrics.bootstrap import interval
from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row
from medgen_metrics.rows import mean
from medgen_metrics.rows import summarise_metric

from ..errors import UsageError
from .anchors import Anchors
from .bounds import bounds
from .columns import Column
from .entry import Entry
from .model import ANCHORS
from .model import Cell
from .model import Line
from .show import TRACK

NO_SUBTASK = "(none)"
NO_TRACK = "(no track)"  # baselines, and systems that `run` didn't run


def lines(entry: Entry, shown: Sequence[Column], common: Mapping[str, set[str]], anchors: Anchors) -> list[Line]:
    """One line over all records; with `show.by` a line a group, then the micro and the macro means.

    Args:
        entry: the system's result.
        shown: the table's columns.
        common: metric -> ids of the records that every shown system has scored.
        anchors: those of the table.

    Raises:
        UsageError: the rows lack a column from which a metric is summed up.
    """
    show, records = entry.show, entry.result.rows
    rows = {tier: entry.rows(tier) for tier in records.tiers}
    # Verdicts drawn several times are asked for to see how sure the figure is.
    drawn = {tier for tier, made in entry.result.tiers.items() if made.options.get("samples", 1) > 1}
    has_intervals = show.judges(entry.file.edition)
    everything = list(range(len(records.id)))
    shares = {metric: [id in ids for id in records.id] for metric, ids in common.items()}

    def cells(indices: Sequence[int]) -> list[Cell | None]:
        made: list[Cell | None] = []
        for column in shown:
            if column.metric not in entry.specs:
                made.append(None)
                continue
            tier, spec = entry.specs[column.metric]
            chosen = [rows[tier][index] for index in indices]
            shared = [rows[tier][index] for index in indices if shares[column.metric][index]]
            ids = [records.id[index] for index in indices] if show.anchors or show.practical else []
            try:
                cell = _cell(chosen, shared, spec)
                if has_intervals and (show.intervals or tier in drawn):
                    cell = replace(cell, interval=interval(chosen, [records.group[index] for index in indices], spec))
                if show.anchors:
                    position = anchors.position(column, spec, entry.file.system, ids, chosen)
                    cell = replace(cell, position=position)
                if show.practical and not cell.complete and anchors.floor is not None:
                    cell = _practical(cell, chosen, spec, anchors.floor.of(column.metric, ids))
                made.append(cell)
            except KeyError as error:
                raise UsageError(
                    f"{entry.path}: {entry.config}: expected a column {error} in the rows of tier {tier}, from which "
                    f"{column.head} is summed up, got {', '.join(records.tiers[tier].values)}. Score again."
                ) from error
        return made

    def line(kind: str, group: str, made: Sequence[Cell | None]) -> Line:
        return Line(kind, group, entry.file.system, ANCHORS.get(entry.file.system, ""), tuple(made))

    whole = cells(everything)
    if show.by == TRACK:
        group = entry.result.predictions.about_system.get("track") or NO_TRACK
        return [line("all", group, whole)]
    if show.by is None:
        return [line("all", "", whole)]
    groups: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(getattr(records, show.by)):
        groups[NO_SUBTASK if name is None else name].append(index)
    by_group = {name: cells(indices) for name, indices in sorted(groups.items())}
    macro = [_macro(total, parts) for total, *parts in zip(whole, *by_group.values(), strict=True)]
    return [
        *(line("group", name, made) for name, made in by_group.items()),
        line("micro", "", whole),
        line("macro", "", macro),
    ]


def _cell(rows: Sequence[Row], shared: Sequence[Row], spec: MetricSpec) -> Cell:
    figures: dict[str, Any] = summarise_metric(rows, spec)
    extras = {key: value for key, value in figures.items() if key not in _STANDARD}
    is_settled = figures["scored"] == figures["n"] and spec.average is None
    return Cell(
        mean=figures["mean"],
        scored=figures["scored"],
        n=figures["n"],
        failures=figures["failures"],
        worst=figures["mean_failures_worst"],
        bounds=(figures["mean"], figures["mean"]) if is_settled else bounds(rows, spec),
        common=(figures["mean"] if len(shared) == len(rows) else spec.of(shared)) if shared else None,
        uneven=spec.column is not None and any(spec.name not in row.values for row in shared),
        extras=extras,
        wrong=_wrong(rows, spec),
    )


def _wrong(rows: Sequence[Row], spec: MetricSpec) -> dict[str, int]:
    """Reason -> failures that count in the mean."""
    reasons = (row.reasons[spec.name] for row in rows if spec.name in row.reasons and spec.counted(row) is not None)
    return dict(sorted(Counter(reasons).items()))


def _practical(cell: Cell, rows: Sequence[Row], spec: MetricSpec, floor: float | None) -> Cell:
    """With bounds whose worse end takes unscored records to be as good as the floor's, where there is one."""
    if floor is None or cell.bounds == (None, None):
        return cell
    narrowed = replace(spec, low=floor) if spec.higher_is_better else replace(spec, high=floor)
    return replace(cell, bounds=bounds(rows, narrowed), is_practical=True)


_STANDARD = {"mean", "n", "scored", "coverage", "failures", "mean_failures_worst"}


def _macro(total: Cell | None, parts: Sequence[Cell | None]) -> Cell | None:
    """The mean over groups' means, without groups to which the metric doesn't apply or where nothing is scored."""
    if total is None:
        return None
    applicable = [part for part in parts if part is not None and part.n]
    means = [part.mean for part in applicable if part.mean is not None]
    worsts = [part.worst for part in applicable if part.worst is not None]
    shared = [part.common for part in applicable if part.common is not None]
    return Cell(
        mean=mean(means),
        scored=total.scored,
        n=total.n,
        failures=total.failures,
        wrong=total.wrong,
        worst=mean(worsts) if len(worsts) == len(applicable) else None,
        groups=f"{len(means)}/{len(applicable)} groups" if len(means) < len(applicable) else "",
        common=mean(shared),
        uneven=any(part.uneven for part in applicable),
    )
