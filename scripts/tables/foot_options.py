"""What stands below a table about the figures that it was asked for beside the means."""

import shlex
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence

from medgen_metrics import locality
from medgen_metrics.bootstrap import LEVEL
from medgen_metrics.bootstrap import RESAMPLES
from medgen_metrics.bootstrap import SEED

from ..result_file import CONFIGS
from ..result_file import Tier
from ..result_file import shorten
from . import columns
from .anchors import CEILING
from .anchors import FLOOR
from .anchors import STILL
from .anchors import shown_position
from .model import Table
from .model import all_cells
from .model import whole_lines
from .passes import Marks


def marks_note(tables: Sequence[Table], marks: Marks) -> str:
    """What pass rates are, and whose the marks are."""
    heads = {column.metric: column.head for table in tables for column in table.columns}
    sets = [
        f"{name}{f' ({marks.about[name]})' if name in marks.about else ''}: {', '.join(own_heads)}"
        for name, own in marks.sets.items()
        if (own_heads := [heads[mark.name] for mark in own if mark.name in heads])
    ]
    return (
        "Pass rates: the share of outputs, in %, on the mark or on its good side; a system's failure fails. Marks, in "
        f"the units in which tables of means print the metric: {'; '.join(sets)}."
    )


def pass_rates(table: Table, tiers: Mapping[str, Mapping[str, Tier]], marks: Marks) -> Iterable[str]:
    """Of pass rates: which outputs failed without a score, which metrics have no mark."""
    failed = []
    for line in whole_lines(table):
        counts = [cell.extras["failed"] for cell in line.cells if cell is not None and "failed" in cell.extras]
        if counts:
            told = ", ".join(f"{reason} {count:,}" for reason, count in counts[0].items())
            failed.append(f"{line.system} ({told})")
    if failed:
        yield f"Failed without regard to a score: {'; '.join(failed)}."
    marked = {mark.metric for mark in marks.marks}
    metrics = dict.fromkeys(name for scored in tiers.values() for tier in scored.values() for name in tier.metrics)
    unmarked = [columns.head(name) for name in metrics if name not in marked]
    if unmarked:
        yield f"No mark is set for {', '.join(unmarked)} (--thresholds FILE sets some)."


def intervals(table: Table) -> Iterable[str]:
    """How intervals were made, from how many groups, and which cells have none."""
    drawn: dict[tuple[int, int], list[str]] = defaultdict(list)
    lacking = []
    for place, column in enumerate(table.columns):
        for line in whole_lines(table):
            cell = line.cells[place]
            made = cell.interval if cell is not None else None
            if made is None or cell is None or cell.mean is None:
                continue
            if made.low is None:
                lacking.append(f"{line.system} {column.head}")
            drawn[made.groups, made.largest].append(column.head)
    if not drawn:
        return
    groups = "; ".join(
        f"{', '.join(dict.fromkeys(heads))}: {count:,} groups, the largest of {largest:,} "
        f"record{'' if largest == 1 else 's'}"
        for (count, largest), heads in drawn.items()
    )
    yield (
        f"low–high: {LEVEL:.0%} bootstrap interval of the mean ({RESAMPLES:,} resamples of groups of records that "
        f"share a patient or an image, percentiles, seed {SEED}; of a rate of 0 or 100 %: Wilson's, groups counted as "
        f"wholly alike). {groups}. Patients that records share unknown to the data set make intervals too narrow."
    )
    if lacking:
        yield f"No interval (fewer than two groups, or no mean over records): {shorten(lacking, ', ')}."


def positions(table: Table) -> Iterable[str]:
    """How positions are to be read, and where doing nothing stands."""
    names = {line.system for line in whole_lines(table)}
    absent = [name for name in (FLOOR, CEILING, STILL) if name not in names]
    if absent:
        yield f"--anchors lacks {', '.join(absent)} over the same records. {anchor_remedy(table, absent)}"
    if not any(cell.position is not None for cell in all_cells(table)):
        return
    yield (
        f"at x%: how far the mean lies from {FLOOR} (0%) to {CEILING} (100%) over the records that it and both have "
        f"scored; dB: the gain over {FLOOR}."
    )
    for line in whole_lines(table):
        if line.system == STILL:
            places = [
                f"{column.head} {shown_position(column, cell.position)}"
                for column, cell in zip(table.columns, line.cells, strict=True)
                if cell is not None and cell.position is not None
            ]
            yield f"Doing nothing ({STILL}) is worth: {', '.join(places)}."


def anchor_remedy(table: Table, systems: Sequence[str]) -> str:
    """How anchors that a table lacks are had: by naming their results, else by making them for all configs."""
    said = []
    here = [str(table.beside[system]) for system in systems if system in table.beside]
    if here:
        said.append(f"Pass them: {shlex.join(here)}.")
    if absent := [system for system in systems if system not in table.beside]:
        same = [] if table.edition == "paper" else ["--edition", table.edition]
        if table.subset is not None:
            same += ["--subset", table.subset]
        elif table.limit is not None:
            same += ["--limit", str(table.limit), "--seed", str(table.seed)]
        runs = [shlex.join(["medgen-bench", "run", system, *CONFIGS, *same]) for system in absent]
        protocol = [] if table.protocol == "paper" else ["--protocol", table.protocol]
        made = [f"out/predictions/{system}" for system in absent]
        score = shlex.join(["medgen-bench", "score", *made, *same, *protocol])
        said.append(f"Make them: {' && '.join(runs)}. Score them: {score} (with --tiers as the others).")
    return " ".join(said)


def diagnostics(table: Table) -> Iterable[str]:
    """What the diagnostics' columns hold."""
    heads = {column.metric: column.head for column in table.columns if column.metric in columns.LOCALITY}
    if heads:
        yield (
            "Diagnostics, not ranked. Changed: the share of the image in which reference and input differ by more "
            f"than {locality.THRESHOLD} grey levels, dilated to {locality.SIDE}x{locality.SIDE} pixels. Error in, "
            "Error out: mean absolute error in and out of that region, in grey levels of 255. Done in: the share of "
            "the input's error in that region that is gone: 100% for the reference, 0% for a copy of the input, "
            "negative where the error grew; a record counts as -100% at worst (the error doubled), since a few regions "
            "that hardly change would otherwise rule the mean. PSNR gain: over the input's PSNR, record by record "
            "(identical images: 100 dB in protocol paper). A record without such a region doesn't count there."
        )
    elif any(column.tier == "pixel" for column in table.columns):
        yield "No diagnostics: these results are from before them. Score again."
