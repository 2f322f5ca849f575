"""What stands below a table about failures: the ledger, how far they could move means, and what was flagged."""

from collections import Counter
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from medgen_metrics.sections import SECTIONS

from ..result_file import Tier
from ..result_file import shorten
from . import columns
from .anchors import FLOOR
from .bounds import unsettled
from .foot_options import anchor_remedy
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
    "empty": "blank answers, 0 in BLEU and BERTScore, wrong in EM",
    "refused": "refusals, scored as the text they are",
    "truncated": "texts over the encoder's 512 tokens, cut",
    "sentence_truncated": "texts over the sentence encoder's limit, cut",
    "radgraph_truncated": "reports over 512 words, cut before RadGraph",
    "no_findings": "answers without the section FINDINGS that the reference has, 0 in its scores",
    "no_impression": "answers without the section IMPRESSION that the reference has, 0 in its scores",
}


def unscored(table: Table) -> Iterable[str]:
    """The failure ledger: for each system, records without a score by reason, apart from those that count as wrong."""
    for words, choose in (
        ("Unscored records", lambda cell: Counter(cell.failures) - Counter(cell.wrong)),
        ("Failed and counted as wrong", lambda cell: cell.wrong),
    ):
        systems: dict[str, list[str]] = defaultdict(list)
        for line in whole_lines(table):
            by_failures: dict[str, list[str]] = defaultdict(list)
            for column, cell in zip(table.columns, line.cells, strict=True):
                if cell is not None and (failures := choose(cell)):
                    text = ", ".join(f"{reason} {count:,}" for reason, count in failures.items())
                    by_failures[text].append(column.head)
            if by_failures:
                ledger = "; ".join(f"{', '.join(heads)}: {text}" for text, heads in by_failures.items())
                systems[ledger].append(line.system)
        if systems:
            yield f"{words}: {'; '.join(f'{_names(names)} ({ledger})' for ledger, names in systems.items())}."


def _names(systems: Sequence[str]) -> str:
    return f"{', '.join(systems)}, each" if len(systems) > 1 else systems[0]


def bounds_notes(table: Table, show: Show) -> Iterable[str]:
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


def unsettled_orders(table: Table, show: Show) -> Iterable[str]:
    """Where the order of two systems could be the other way round."""
    if not show.judges(table.edition):
        return
    for place, column in enumerate(table.columns):
        pairs = [f"{better} before {worse}" for better, worse in unsettled(whole_lines(table), place, column)]
        if pairs and column.ranked:
            yield f"Warning: within these bounds the order in {column.head} could flip: {shorten(pairs, '; ')}."


def flags(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    """Counts of what was flagged, with their shares of the records that it can be flagged on.

    These are the records that the tier could score; of a section that an answer lacks, those whose reference has it.
    """
    shares: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for system, scored in tiers.items():
        for tier in scored.values():
            measured = max((figures.scored for figures in tier.metrics.values()), default=0)
            for flag, count in tier.flags.items():
                if count:
                    total = _sectioned(flag, tier) or (measured if count <= measured else table.selected)
                    shares[flag][f"{count:,}/{total:,} ({count / total:.1%})"].append(system)
    for flag in sorted(shares, key=flag_order):
        yield f"{flag}: {'; '.join(f'{_names(names)} {share}' for share, names in shares[flag].items())}"


def _sectioned(flag: str, tier: Tier) -> int:
    """The records whose reference has the section that a flag is about; 0 of other flags."""
    section = flag.removeprefix("no_")
    if section == flag or section not in SECTIONS:
        return 0
    names = ((columns.split_name(metric)[0], figures) for metric, figures in tier.metrics.items())
    return max((figures.n for name, figures in names if name.endswith(f"_{section}")), default=0)


def flag_order(flag: str) -> tuple[int, str]:
    """Sort key of the foot's order."""
    known = list(FLAGS)
    return known.index(flag) if flag in FLAGS else len(known), flag


def counted_flags(results: Iterable[Mapping[str, Tier]]) -> tuple[str, ...]:
    """The flags that any system's outputs have, in the foot's order."""
    found = {flag for tiers in results for tier in tiers.values() for flag, count in tier.flags.items() if count}
    return tuple(sorted(found, key=flag_order))
