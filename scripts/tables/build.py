"""From result files to tables: what may stand in one table, its columns, its cells."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from medgen_metrics.rows import MetricSpec

from ..errors import UsageError
from ..result_file import CONFIGS
from ..result_file import ResultFile
from ..result_file import shorten
from . import columns
from . import judged
from . import tracks
from .anchors import Anchors
from .anchors import beside
from .cells import lines as system_lines
from .columns import Column
from .conflicts import Conflicts
from .entry import Entry
from .foot import document_notes
from .foot import table_notes
from .foot import told_once
from .foot_failures import counted_flags
from .marks import mark
from .model import ANCHORS
from .model import Document
from .model import Table
from .show import Show


def build(results: Sequence[tuple[Path, ResultFile]], show: Show | None = None) -> Document:
    """The tables of `results`: one for each config, edition, protocol and subset of records that occurs.

    Args:
        results: as `result_file.load_all` gives them.
        show: what to show; default: the means.

    Raises:
        UsageError: nothing to show; one system twice; a column whose values were made in different ways.
    """
    show = show or Show()
    parts: dict[tuple[str, str, str, str], list[Entry]] = defaultdict(list)
    for config in CONFIGS:
        for path, file in results:
            if config in file.configs:
                entry = Entry(path, file, config, show)
                parts[config, file.edition, file.protocol, entry.result.subset.digest].append(entry)
    if not parts:
        raise UsageError(
            f"expected result files with at least one config, got {len(results)} files without any. "
            "Score predictions first: medgen-bench score out/predictions/SYSTEM"
        )
    for entries in parts.values():
        _refuse_repeats(entries)
    tables = tuple(_table(entries, show) for entries in parts.values())
    tables, shared = told_once(tables)
    return Document(tables, (*shared, *document_notes(tables, show)))


def _refuse_repeats(entries: Sequence[Entry]) -> None:
    paths: dict[str, list[Path]] = defaultdict(list)
    for entry in entries:
        paths[entry.file.system].append(entry.path)
    faults = [f"{system!r} in {' and '.join(map(str, named))}" for system, named in paths.items() if len(named) > 1]
    if faults:
        raise UsageError(
            f"{entries[0].config}: expected every system once, got {shorten(faults, '; ')}. Leave all but one file out."
        )


def _table(entries: Sequence[Entry], show: Show) -> Table:
    # Anchors last, in the order from nothing to everything; systems in the order given.
    roles = list(ANCHORS)
    entries = sorted(entries, key=lambda e: roles.index(e.file.system) if e.file.system in ANCHORS else -1)
    first = entries[0]
    shown = _columns(entries)
    common = {column.metric: _common(entries, column.metric) for column in shown}
    anchors = Anchors.among(entries)
    lines = [line for entry in entries for line in system_lines(entry, shown, common, anchors)]
    kinds = {kind: place for place, kind in enumerate(("all", "group", "micro", "macro"))}
    lines.sort(key=lambda line: (kinds[line.kind], line.group))  # stable: systems keep their order
    if show.judges(first.file.edition):
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
        subset=first.result.subset.name,
        by=show.by,
        columns=shown,
        lines=tuple(lines),
        common={metric: len(ids) for metric, ids in common.items()},
        flags=counted_flags(entry.result.tiers for entry in entries),
        beside=beside(entries) if show.anchors or show.practical else {},
    )
    tiers = {entry.file.system: entry.result.tiers for entry in entries}
    about = {entry.file.system: entry.result.predictions.about_system for entry in entries}
    return replace(table, notes=(*tracks.notes(about), *table_notes(table, tiers, show)))


def _columns(entries: Sequence[Entry]) -> tuple[Column, ...]:
    """Columns of the metrics that apply to any record, without those for which nobody has weights.

    Raises:
        UsageError: a column's values were made in different ways.
    """
    sources: dict[str, list[tuple[Entry, str, MetricSpec]]] = defaultdict(list)
    for entry in entries:
        for metric, (tier, spec) in entry.specs.items():
            sources[metric].append((entry, tier, spec))
    shown, conflicts = [], Conflicts(entries[0].config)
    for metric in sorted(sources, key=columns.order):
        scored = [source for source in sources[metric] if source[0].valued[metric] and source[0].has_weights(metric)]
        if not scored:
            reasons = {reason for source in sources[metric] for reason in source[0].reasons(metric)}
            if not reasons or "weights_missing" in reasons:
                continue
            # Every output failed. There are no values to mix: any system's definition will do.
            scored = sources[metric][:1]
        conflicts.look(metric, [(entry, tier) for entry, tier, _ in scored])
        first, tier, spec = scored[0]
        shown.append(
            Column(
                metric=metric,
                tier=tier,
                head=columns.head(metric, columns.unit(first.views[tier].metrics[columns.metric_of(metric)]))
                + judged.heading(first.result.tiers[tier], tier),
                unit=columns.unit(spec),
                higher_is_better=spec.higher_is_better,
                # The paper leaves unparsable answers out, so that each system has a denominator of its own.
                ranked=metric not in columns.DIAGNOSTICS and not (metric == "em" and first.file.protocol == "paper"),
                signatures=tuple(dict.fromkeys(entry.result.tiers[tier].signature for entry, tier, _ in scored)),
            )
        )
    conflicts.refuse()
    return tuple(shown)


def _common(entries: Sequence[Entry], metric: str) -> set[str]:
    """Ids for which every shown system has a value; an oracle, which answers only what it knows, takes none away."""
    counted = [entry for entry in entries if ANCHORS.get(entry.file.system) != "oracle"] or entries
    return set.intersection(*(entry.valued.get(metric, set()) for entry in counted))
