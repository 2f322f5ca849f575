"""From result files to tables: what may stand in one table, its columns, its cells."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row
from medgen_metrics.rows import mean
from medgen_metrics.rows import summarise_metric

from ..errors import UsageError
from ..result_file import CONFIGS
from ..result_file import ConfigResult
from ..result_file import ResultFile
from ..result_file import shorten
from . import columns
from .bounds import bounds
from .columns import Column
from .foot import document_notes
from .foot import table_notes
from .marks import mark
from .model import ANCHORS
from .model import Cell
from .model import Document
from .model import Line
from .model import Table

GROUPINGS = ("task", "modality", "subtask")
NO_SUBTASK = "(none)"


@dataclass(frozen=True)
class Entry:
    """One system's result in one config."""

    path: Path
    file: ResultFile
    config: str

    @property
    def result(self) -> ConfigResult:
        """The config's part of the file."""
        return self.file.configs[self.config]  # type: ignore[index]

    @cached_property
    def specs(self) -> dict[str, tuple[str, MetricSpec]]:
        """Metric -> its tier and spec."""
        return {
            name: (tier, spec)
            for tier, content in self.result.tiers.items()
            for name, spec in columns.tier_specs(self.path, tier, content.options).items()
        }

    @cached_property
    def valued(self) -> dict[str, set[str]]:
        """Metric -> ids of the records that have a value: scored, or a failure whose value is defined (EM: wrong)."""
        found = {}
        for metric, (tier, spec) in self.specs.items():
            values = self.result.rows.tiers[tier].values.get(spec.column or metric, [])
            found[metric] = {id for id, value in zip(self.result.rows.id, values, strict=False) if value is not None}
        return found

    def reasons(self, metric: str) -> set[str]:
        """Why records are unscored."""
        tier, _ = self.specs[metric]
        return {reason for reason, indices in self.result.rows.tiers[tier].reasons.get(metric, {}).items() if indices}


def build(results: Sequence[tuple[Path, ResultFile]], by: str | None = None, illustrative: bool = False) -> Document:
    """The tables of `results`: one for each config, edition, protocol and subset of records that occurs.

    Args:
        results: as `result_file.load_all` gives them.
        by: None, or `task`, `modality`, `subtask`.
        illustrative: set best and second on the sample edition too.

    Raises:
        UsageError: nothing to show; one system twice; a column whose values were made in different ways.
    """
    if by is not None and by not in GROUPINGS:
        raise UsageError(f"--by: expected one of {', '.join(GROUPINGS)}, got {by!r}")
    parts: dict[tuple[str, str, str, str], list[Entry]] = defaultdict(list)
    for config in CONFIGS:
        for path, file in results:
            if config in file.configs:
                entry = Entry(path, file, config)
                parts[config, file.edition, file.protocol, entry.result.subset.digest].append(entry)
    if not parts:
        raise UsageError(
            f"expected result files with at least one config, got {len(results)} files without any. "
            "Score predictions first: medgen-bench score out/predictions/SYSTEM"
        )
    for entries in parts.values():
        _refuse_repeats(entries)
    tables = tuple(_table(entries, by, illustrative) for entries in parts.values())
    return Document(tables, document_notes(tables, illustrative))


def _refuse_repeats(entries: Sequence[Entry]) -> None:
    paths: dict[str, list[Path]] = defaultdict(list)
    for entry in entries:
        paths[entry.file.system].append(entry.path)
    faults = [f"{system!r} in {' and '.join(map(str, named))}" for system, named in paths.items() if len(named) > 1]
    if faults:
        raise UsageError(
            f"{entries[0].config}: expected every system once, got {shorten(faults, '; ')}. Leave all but one file out."
        )


def _table(entries: Sequence[Entry], by: str | None, illustrative: bool) -> Table:
    # Anchors last, in the order from nothing to everything; systems in the order given.
    anchors = list(ANCHORS)
    entries = sorted(entries, key=lambda e: anchors.index(e.file.system) if e.file.system in ANCHORS else -1)
    first = entries[0]
    shown = _columns(entries)
    common = {column.metric: _common(entries, column.metric) for column in shown}
    lines = [line for entry in entries for line in _lines(entry, shown, common, by)]
    kinds = {kind: place for place, kind in enumerate(("all", "group", "micro", "macro"))}
    lines.sort(key=lambda line: (kinds[line.kind], line.group))  # stable: systems keep their order
    if first.file.edition != "sample" or illustrative:
        lines = mark(lines, shown)
    table = Table(
        config=first.config,
        edition=first.file.edition,
        edition_note=first.file.edition_note,
        protocol=first.file.protocol,
        records=first.result.records,
        selected=first.result.selected,
        limit=first.result.subset.limit,
        seed=first.result.subset.seed,
        digest=first.result.subset.digest,
        by=by,
        columns=shown,
        lines=tuple(lines),
        common={metric: len(ids) for metric, ids in common.items()},
    )
    tiers = {entry.file.system: entry.result.tiers for entry in entries}
    return replace(table, notes=table_notes(table, tiers, illustrative))


def _columns(entries: Sequence[Entry]) -> tuple[Column, ...]:
    """Columns of the metrics that apply to any record, without those for which nobody has weights.

    Raises:
        UsageError: a column's values were made in different ways.
    """
    sources: dict[str, list[tuple[Entry, str, MetricSpec]]] = defaultdict(list)
    for entry in entries:
        for metric, (tier, spec) in entry.specs.items():
            sources[metric].append((entry, tier, spec))
    shown, faults = [], []
    for metric in sorted(sources, key=columns.order):
        scored = [source for source in sources[metric] if source[0].valued[metric]]
        if not scored:
            reasons = {reason for source in sources[metric] for reason in source[0].reasons(metric)}
            if not reasons or "weights_missing" in reasons:
                continue
            # Every output failed. There are no values to mix: any system's definition will do.
            scored = sources[metric][:1]
        (first, tier, spec), *others = scored
        faults += [
            fault for other, other_tier, _ in others if (fault := _conflict(metric, first, tier, other, other_tier))
        ]
        shown.append(
            Column(
                metric=metric,
                tier=tier,
                head=columns.head(metric),
                unit=columns.unit(spec),
                higher_is_better=spec.higher_is_better,
                # The paper leaves unparsable answers out, so that each system has a denominator of its own.
                ranked=not (metric == "em" and first.file.protocol == "paper"),
                signatures=tuple(dict.fromkeys(entry.result.tiers[tier].signature for entry, tier, _ in scored)),
            )
        )
    if faults:
        raise UsageError(
            f"{entries[0].config}: expected one signature a column, got {shorten(faults, '; ')}. Run `medgen-bench "
            "score` again on both (scores whose definition is unchanged are reused), or print them in separate calls."
        )
    return tuple(shown)


def _conflict(metric: str, first: Entry, tier: str, other: Entry, other_tier: str) -> str:
    """Why two systems' values can't stand in one column; empty where they can."""
    one, two = first.result.tiers[tier], other.result.tiers[other_tier]
    same = columns.column_signature(one.signature, metric) == columns.column_signature(two.signature, metric)
    if same and (one.signature != two.signature or one.definition == two.definition):
        return ""
    return (
        f"{columns.head(metric)}: {first.path} has {one.signature} (definition {one.definition}), "
        f"{other.path} has {two.signature} (definition {two.definition})"
    )


def _common(entries: Sequence[Entry], metric: str) -> set[str]:
    """Ids for which every shown system has a value."""
    return set.intersection(*(entry.valued.get(metric, set()) for entry in entries))


def _lines(entry: Entry, shown: Sequence[Column], common: dict[str, set[str]], by: str | None) -> list[Line]:
    records = entry.result.rows
    rows = {tier: records.unpack(tier) for tier in records.tiers}
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
            try:
                made.append(_cell(chosen, shared, spec))
            except KeyError as error:
                raise UsageError(
                    f"{entry.path}: {entry.config}: expected a column {error} in the rows of tier {tier}, from which "
                    f"{column.head} is summed up, got {', '.join(records.tiers[tier].values)}. Score again."
                ) from error
        return made

    def line(kind: str, group: str, made: Sequence[Cell | None]) -> Line:
        return Line(kind, group, entry.file.system, ANCHORS.get(entry.file.system, ""), tuple(made))

    whole = cells(everything)
    if by is None:
        return [line("all", "", whole)]
    groups: dict[str, list[int]] = defaultdict(list)
    for index, name in enumerate(getattr(records, by)):
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
    )


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
        worst=mean(worsts) if len(worsts) == len(applicable) else None,
        groups=f"{len(means)}/{len(applicable)} groups" if len(means) < len(applicable) else "",
        common=mean(shared),
        uneven=any(part.uneven for part in applicable),
    )
