"""What stands below a table: how to read it, what is missing from it and why, and how its numbers were made."""

from collections import Counter
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace

from ..result_file import Tier
from ..result_file import shorten
from . import columns
from . import foot_texts
from . import judged
from .foot_failures import FLAGS
from .foot_failures import bounds_notes
from .foot_failures import flags
from .foot_failures import unscored
from .foot_failures import unsettled_orders
from .foot_options import diagnostics
from .foot_options import intervals
from .foot_options import marks_note
from .foot_options import pass_rates
from .foot_options import positions
from .marks import contradicted
from .model import Table
from .model import all_cells
from .model import whole_lines
from .show import TRACK
from .show import Show

LIMITS = "Neither similarity scores nor a judge's scores are evidence of clinical correctness."


def table_notes(table: Table, tiers: Mapping[str, Mapping[str, Tier]], show: Show) -> tuple[str, ...]:
    """The foot of one table.

    Args:
        table: without notes.
        tiers: system -> tier -> its result.
        show: the table's options.
    """
    return (
        *_common(table, show),
        *unscored(table),
        *(pass_rates(table, tiers, show.marks) if show.marks is not None else ()),
        *bounds_notes(table, show),
        *unsettled_orders(table, show),
        *intervals(table),
        *(positions(table) if show.anchors else ()),
        *(diagnostics(table) if show.diagnostics else ()),
        *foot_texts.notes(table, tiers),
        *judged.notes(table, tiers),
        *_not_scored(table, tiers),
        *_unavailable(table, tiers),
        *flags(table, tiers),
    )


def told_once(tables: Sequence[Table]) -> tuple[tuple[Table, ...], tuple[str, ...]]:
    """Tables without the notes that several of them have in the same words, and those notes, each once.

    A signature is told once too, unless a column's differs between tables: then each has its own.
    """
    counts = Counter(note for table in tables for note in dict.fromkeys(table.notes))
    shared = [note for note, count in counts.items() if count > 1]
    notes = []
    for note in shared:
        where = dict.fromkeys(table.config for table in tables if note in table.notes)
        notes.append(note if len(where) == len({table.config for table in tables}) else f"{', '.join(where)}: {note}")
    kept = [replace(table, notes=tuple(note for note in table.notes if note not in shared)) for table in tables]
    made: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for table in tables:
        for column in table.columns:
            made[column.head].add(column.signatures)
    if any(len(signatures) > 1 for signatures in made.values()):
        return tuple(replace(table, notes=(*table.notes, *_signatures([table]))) for table in kept), tuple(notes)
    return tuple(kept), (*notes, *_signatures(tables))


def document_notes(tables: Sequence[Table], show: Show) -> tuple[str, ...]:
    """The notes that hold for every table of a call; only those that something printed calls for."""
    shown = [column for table in tables for column in table.columns]
    figures = [
        (column, cell)
        for table in tables
        for line in table.lines
        for column, cell in zip(table.columns, line.cells, strict=True)
        if cell is not None
    ]
    cells = [cell for _, cell in figures]
    notes = []
    if show.marks is not None:
        notes.append(marks_note(tables, show.marks))
    else:
        plain = [column for column in shown if column.metric not in columns.DIAGNOSTICS]  # whose heads have units
        units = dict.fromkeys(column.unit for column in plain if column.unit)
        heads = {unit: ", ".join(dict.fromkeys(c.head for c in plain if c.unit == unit)) for unit in units}
        if heads:
            notes.append(f"Units: {'; '.join(f'{names} in {unit}' for unit, names in heads.items())}.")
    if any(not cell.complete and not column.has_own_shares for column, cell in figures):
        notes.append("scored/n: the mean is over the scored of n records; no such mark: all of them.")
    if any(table.protocol == "standard" and not cell.complete for table in tables for cell in all_cells(table)):
        notes.append("[x]: the mean with the system's failures at the metric's worst; [–]: that has no bound.")
    if any("pooled" in cell.extras for cell in cells):
        notes.append("PSNR pooled: of the mean squared error over all scored records, identical images included.")
    if any(cell.uneven for cell in cells):
        notes.append(
            "identical: the share of outputs identical to the reference, which have no finite PSNR and are left out of "
            "its mean; where a ranked system has some, no best and second are set."
        )
    if any(column.has_own_shares for column in shown):
        notes.append(
            "EM: below the mean stand the right answers over those that count, and the parsed ones over all closed "
            "questions. Unparsable answers don't count, as published; empty, missing and other failed ones count as "
            "wrong. So each system has a denominator of its own, and none is set best."
        )
    if any(column.metric == "em" and column.ranked for column in shown):
        notes.append("EM: unparsable and missing answers are wrong; chance: the mean 1/k over multiple choice.")
    if any(cell.mark for cell in cells):
        notes.append(
            "Best and second (values that print alike are tied) are set by the means over the records that every shown "
            "system has scored, and only where the printed means have the same order."
        )
    notes += [f"Edition: {note}." for note in dict.fromkeys(table.edition_note for table in tables) if note]
    if not all(show.judges(table.edition) for table in tables):
        what = "no best and second are set, and no intervals given" if show.intervals else "no best and second are set"
        notes.append(f"On edition sample {what} (--illustrative does it).")
    roles = dict.fromkeys((line.system, line.role) for table in tables for line in table.lines if line.role)
    if roles:
        notes.append(f"Not ranked: {', '.join(f'{system} ({role})' for system, role in roles)}.")
    counted = dict.fromkeys(flag for table in tables for flag in table.flags)
    meanings = [f"{flag}: {FLAGS[flag]}" for flag in counted if flag in FLAGS]
    if meanings:
        notes.append(f"Counted beside the scores: {'; '.join(meanings)}.")
    if any(table.by not in (None, TRACK) for table in tables):
        notes.append("micro: mean over records; macro: mean over the groups' means.")
    parts: dict[str, int] = defaultdict(int)
    for table in tables:
        parts[table.config] += 1
    split = [config for config, count in parts.items() if count > 1]
    if split:
        notes.append(
            f"Several tables for {', '.join(split)}: results of different editions, protocols or subsets of records "
            "never share one."
        )
    return (*notes, LIMITS)


def _common(table: Table, show: Show) -> Iterable[str]:
    """On how many records marks rest, where that is not all of them."""
    if not show.judges(table.edition):
        return
    ranked = [line for line in whole_lines(table) if not line.role]
    if len(ranked) < 2:
        return
    partial: dict[tuple[int, int], list[str]] = defaultdict(list)
    for place, column in enumerate(table.columns):
        total = max(cell.n for line in whole_lines(table) if (cell := line.cells[place]) is not None)
        if contradicted(table.lines, place, column):
            yield from _contradictions(table, place)
        elif column.ranked and table.common[column.metric] < total:
            partial[table.common[column.metric], total].append(column.head)
    for (count, total), heads in partial.items():
        if count:
            yield (
                f"Best and second of {', '.join(heads)} rest on the {count:,} of {total:,} records that every shown "
                "system has scored."
            )
        else:
            yield f"No best and second of {', '.join(heads)}: no record is scored for every shown system."


def _contradictions(table: Table, place: int) -> Iterable[str]:
    """Where a column's marks would be read wrongly, with the means that they would rest on."""
    column = table.columns[place]
    told = []
    for lines in contradicted(table.lines, place, column):
        name = lines[0].group or ("" if lines[0].kind == "all" else lines[0].kind)
        means = ", ".join(
            f"{line.system} {column.printed(cell.common)}"
            for line in lines
            if (cell := line.cells[place]) is not None and cell.common is not None
        )
        told.append(f"{name}: {means}" if name else means)
    yield (
        f"No best and second of {column.head}{' there' if table.by else ''}: over the "
        f"{table.common[column.metric]:,} records that every shown system has scored the order is another than that "
        f"of the printed means (over these records: {shorten(told, '; ')})."
    )


def _not_scored(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    absent: dict[str, list[str]] = defaultdict(list)
    for tier in dict.fromkeys(column.tier for column in table.columns):
        for system, scored in tiers.items():
            if tier not in scored:
                absent[tier].append(system)
    for tier, systems in absent.items():
        yield f"No {tier} tier was scored (–) for {', '.join(systems)}: medgen-bench score … --tiers {tier}"


def _unavailable(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    """Columns that lack weights or a package, whether shown for other systems or left out, and how to get them."""
    lacking: dict[str, list[str]] = defaultdict(list)
    messages: dict[str, str] = {}
    for system, scored in tiers.items():
        for tier in scored.values():
            for metric, figures in tier.metrics.items():
                if "weights_missing" in figures.failures:
                    lacking[metric].append(system)
                    messages[metric] = tier.unavailable.get(metric, "score again on a machine that has them")
    heads: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for metric in sorted(lacking, key=columns.order):
        weights = columns.weights_of(metric)
        remedy = f"medgen-bench weights fetch {weights}, then score again" if weights else messages[metric]
        some = "" if len(lacking[metric]) == len(tiers) else f" for {', '.join(lacking[metric])}"
        # Of what isn't in the registry only the message says what is lacking: it may be a package.
        what = "no weights" if weights else "not scored"
        heads[what, some, remedy].append(columns.head(metric))
    for (what, some, remedy), names in heads.items():
        yield f"{', '.join(names)}: {what}{some}: {remedy}"


def _signatures(tables: Sequence[Table]) -> Iterable[str]:
    made: dict[str, dict[str, None]] = defaultdict(dict)
    for table in tables:
        for column in table.columns:
            for signature in column.signatures:
                made[signature]["diagnostics" if column.metric in columns.DIAGNOSTICS else column.head] = None
    for signature, heads in made.items():
        yield f"{', '.join(heads)}: {signature}"
