"""What stands below a table: how to read it, what is missing from it and why, and how its numbers were made."""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from ..result_file import Tier
from ..result_file import shorten
from . import columns
from .anchors import FLOOR
from .bounds import unsettled
from .foot_options import anchor_remedy
from .foot_options import diagnostics
from .foot_options import intervals
from .foot_options import pass_rates
from .foot_options import positions
from .model import Table
from .model import all_cells
from .model import whole_lines
from .show import Show

# Flags that a reader needs in other words than their own.
FLAGS = {
    "no_op": "output identical to the input",
    "unresized_resolution": "resolution left at the input's size; in protocol standard it fails every pass rate",
    "resized": "output not of the reference's size, resized to it before the pixel metrics",
    "aspect_changed": "output's aspect ratio differs from the reference's",
    "identical": "output identical to the reference",
    "several_images": "several output images, the first scored",
    "empty": "blank answers, scored 0 in BLEU and BERTScore",
    "refused": "refusals, scored as the text they are",
    "truncated": "texts over the encoder's 512 tokens, cut",
}
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
        *_unscored(table),
        *(pass_rates(table, tiers, show.marks) if show.marks is not None else ()),
        *_bounds(table, show),
        *_unsettled(table, show),
        *intervals(table),
        *(positions(table) if show.anchors else ()),
        *(diagnostics(table) if show.diagnostics else ()),
        *_not_scored(table, tiers),
        *_unavailable(table, tiers),
        *_flags(table, tiers),
        *_signatures(table),
    )


def document_notes(tables: Sequence[Table], show: Show) -> tuple[str, ...]:
    """The notes that hold for every table of a call; only those that something printed calls for."""
    shown = [column for table in tables for column in table.columns]
    cells = [cell for table in tables for line in table.lines for cell in line.cells if cell is not None]
    units = dict.fromkeys(column.unit for column in shown if column.unit)
    heads = {unit: ", ".join(dict.fromkeys(c.head for c in shown if c.unit == unit)) for unit in units}
    notes = [f"Units: {'; '.join(f'{names} in {unit}' for unit, names in heads.items())}."]
    if any(not cell.complete for cell in cells):
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
    if any(column.metric == "em" and not column.ranked for column in shown):
        notes.append(
            "Beside EM stands right/parsed/closed: answers that can't be parsed are left out, as published (other "
            "failures are wrong), so each system has a denominator of its own and none is set best."
        )
    if any(column.metric == "em" and column.ranked for column in shown):
        notes.append("EM: unparsable and missing answers are wrong; chance: the mean 1/k over multiple choice.")
    if any(cell.mark for cell in cells):
        notes.append(
            "Best and second (values that print alike are tied) are set by the means over the records that every shown "
            "system has scored."
        )
    notes += [f"Edition: {note}." for note in dict.fromkeys(table.edition_note for table in tables) if note]
    if not all(show.judges(table.edition) for table in tables):
        what = "no best and second are set, and no intervals given" if show.intervals else "no best and second are set"
        notes.append(f"On edition sample {what} (--illustrative does it).")
    roles = dict.fromkeys((line.system, line.role) for table in tables for line in table.lines if line.role)
    if roles:
        notes.append(f"Not ranked: {', '.join(f'{system} ({role})' for system, role in roles)}.")
    if any(table.by for table in tables):
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
        if column.ranked and table.common[column.metric] < total:
            partial[table.common[column.metric], total].append(column.head)
    for (count, total), heads in partial.items():
        if count:
            yield (
                f"Best and second of {', '.join(heads)} rest on the {count:,} of {total:,} records that every shown "
                "system has scored."
            )
        else:
            yield f"No best and second of {', '.join(heads)}: no record is scored for every shown system."


def _unscored(table: Table) -> Iterable[str]:
    """The failure ledger: for each system, unscored records by reason."""
    systems = []
    for line in whole_lines(table):
        by_failures: dict[str, list[str]] = defaultdict(list)
        for column, cell in zip(table.columns, line.cells, strict=True):
            if cell is not None and cell.failures:
                text = ", ".join(f"{reason} {count:,}" for reason, count in cell.failures.items())
                by_failures[text].append(column.head)
        if by_failures:
            ledger = "; ".join(f"{', '.join(heads)}: {text}" for text, heads in by_failures.items())
            systems.append(f"{line.system} ({ledger})")
    if systems:
        yield f"Unscored records: {'; '.join(systems)}."


def _bounds(table: Table, show: Show) -> Iterable[str]:
    """Where the means of incomplete cells could lie."""
    systems = []
    practical = any(cell.is_practical for cell in all_cells(table))
    for line in whole_lines(table):
        ranges = []
        for column, cell in zip(table.columns, line.cells, strict=True):
            if cell is None or cell.complete or cell.bounds == (None, None):
                continue
            low, high = (None if end is None else column.printed(end) for end in cell.bounds)
            if low == high:
                continue  # every failure has a value that counts
            shown = f"{low} or more" if high is None else f"{high} or less" if low is None else f"{low} to {high}"
            ranges.append(f"{column.head} {shown}")
        if ranges:
            systems.append(f"{line.system} ({', '.join(ranges)})")
    if systems:
        ends = "at the worst and at the best of the range"
        if practical:
            ends = (
                f"between {FLOOR}'s mean over the same records and the best of the range (practical bounds; an "
                "assumption: that no unscored record is worse than shuffled outputs)"
            )
        yield f"Means with unscored records {ends}: {'; '.join(systems)}."
    if systems and show.practical and not practical:
        yield f"No practical bounds: they need {FLOOR}'s result over the same records. {anchor_remedy(table, [FLOOR])}"


def _unsettled(table: Table, show: Show) -> Iterable[str]:
    if not show.judges(table.edition):
        return
    for place, column in enumerate(table.columns):
        pairs = [f"{better} before {worse}" for better, worse in unsettled(whole_lines(table), place, column)]
        if pairs and column.ranked:
            yield f"Warning: within these bounds the order in {column.head} could flip: {shorten(pairs, '; ')}."


def _not_scored(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    absent: dict[str, list[str]] = defaultdict(list)
    for tier in dict.fromkeys(column.tier for column in table.columns):
        for system, scored in tiers.items():
            if tier not in scored:
                absent[tier].append(system)
    for tier, systems in absent.items():
        yield f"No {tier} tier was scored (–) for {', '.join(systems)}: medgen-bench score … --tiers {tier}"


def _unavailable(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    """Columns that have no weights, whether shown for other systems or left out, and how to get them."""
    lacking: dict[str, list[str]] = defaultdict(list)
    messages: dict[str, str] = {}
    for system, scored in tiers.items():
        for tier in scored.values():
            for metric, figures in tier.metrics.items():
                if "weights_missing" in figures.failures:
                    lacking[metric].append(system)
                    messages[metric] = tier.unavailable.get(metric, "score again on a machine that has them")
    for metric in sorted(lacking, key=columns.order):
        weights = columns.weights_of(metric)
        remedy = f"medgen-bench weights fetch {weights}, then score again" if weights else messages[metric]
        some = "" if len(lacking[metric]) == len(tiers) else f" for {', '.join(lacking[metric])}"
        yield f"{columns.head(metric)}: no weights{some}: {remedy}"


def _flags(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    """Counts of what was flagged, with their shares of the records that the tier could score."""
    shares: dict[str, list[str]] = defaultdict(list)
    for system, scored in tiers.items():
        for tier in scored.values():
            measured = max((figures.scored for figures in tier.metrics.values()), default=0)
            for flag, count in tier.flags.items():
                if count:
                    total = measured if count <= measured else table.selected
                    shares[flag].append(f"{system} {count:,}/{total:,} ({count / total:.1%})")
    known = list(FLAGS)
    for flag in sorted(shares, key=lambda name: (known.index(name) if name in FLAGS else len(known), name)):
        meaning = f" ({FLAGS[flag]})" if flag in FLAGS else ""
        yield f"{flag}{meaning}: {', '.join(shares[flag])}"


def _signatures(table: Table) -> Iterable[str]:
    made: dict[str, list[str]] = defaultdict(list)
    for column in table.columns:
        for signature in column.signatures:
            made[signature].append(column.head)
    for signature, heads in made.items():
        yield f"{', '.join(heads)}: {signature}"
