"""The table as data: what every format prints."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from medgen_metrics.bootstrap import Interval

from .columns import Column

# Systems that need no model and anchor the scale; they are shown, never ranked.
ANCHORS = {
    "copy-input": "does nothing",
    "blank": "empty output",
    "shuffled": "floor",
    "reference": "upper bound",
    "recipe": "oracle",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure.

    Attributes:
        mean: in natural units; None where nothing is scored.
        scored, n: records with a score, records to which the metric applies.
        failures: reason -> count of unscored records.
        worst: the mean with every system's failure at the metric's worst; None where that has no bound.
        bounds: the mean with all unscored records at the low and the high end of the metric's range; None: open.
        groups: of a macro mean, how many groups have a mean, where that isn't all.
        common: the mean over the records that every shown system has scored, by which marks are set.
        uneven: whether that mean leaves out records of this system's own (PSNR of identical images is not finite).
        extras: the metric's further figures, e.g. EM's right, parsed, closed.
        mark: `best`, `second` or empty.
        interval: the mean's bootstrap interval, where it is to be shown.
        position: how far it lies from the floor (0) to the ceiling (1), or its gain over the floor in dB, where that is
            to be shown.
        wrong: those of `failures` that count in the mean all the same, as wrong (EM of a missing answer).
        is_practical: whether `bounds` take unscored records to be as good as the floor's, not the range's worst.
    """

    mean: float | None
    scored: int
    n: int
    failures: Mapping[str, int] = field(default_factory=dict)
    worst: float | None = None
    bounds: tuple[float | None, float | None] = (None, None)
    groups: str = ""
    common: float | None = None
    uneven: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict)
    mark: str = ""
    interval: Interval | None = None
    position: float | None = None
    is_practical: bool = False
    wrong: Mapping[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every record to which the metric applies is scored."""
        return self.scored == self.n


@dataclass(frozen=True, slots=True)
class Line:
    """One row.

    Attributes:
        kind: `all`; with `by`, `group`, and at the end `micro` (over records) and `macro` (over groups' means).
        group: the group's name where `kind` is `group`.
        system: its name as in the result file.
        role: what an anchor stands for; empty for a system under test.
        cells: one a column; None where the system's result lacks the tier or the metric.
    """

    kind: str
    group: str
    system: str
    role: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One config's table over one edition, protocol and subset.

    Attributes:
        records, selected: of the edition, and of them scored.
        limit, seed, digest: how the subset was selected.
        by: what lines are grouped by; None for one line a system.
        common: metric -> how many records every shown system has scored.
        notes: the table's own foot.
        subset: the name of a fixed subset.
        beside: an anchor that the table lacks -> its result over the same records, beside the files given.
        flags: what was counted beside the scores, in the foot's order.
    """

    config: str
    edition: str
    edition_note: str | None
    protocol: str
    records: int
    selected: int
    limit: int | None
    seed: int
    digest: str
    by: str | None
    columns: tuple[Column, ...]
    lines: tuple[Line, ...]
    common: Mapping[str, int]
    notes: tuple[str, ...] = ()
    subset: str | None = None
    flags: tuple[str, ...] = ()
    beside: Mapping[str, Path] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Config, edition, protocol and records, for the table's head."""
        how = f"--subset {self.subset}" if self.subset is not None else f"--limit {self.limit}, seed {self.seed}"
        some = f"{self.selected:,} of {self.records:,} records ({how})"
        every = f"{self.selected:,} record{'' if self.selected == 1 else 's'}"
        records = some if self.limit is not None else every
        return f"{self.config} · edition {self.edition} · protocol {self.protocol} · {records}"


@dataclass(frozen=True, slots=True)
class Document:
    """All tables of one call, and the notes that hold for each of them."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...]

    @property
    def marked(self) -> bool:
        """Whether any cell is set best or second."""
        return any(
            cell.mark for table in self.tables for line in table.lines for cell in line.cells if cell is not None
        )


def whole_lines(table: Table) -> list[Line]:
    """One line a system, over all records."""
    return [line for line in table.lines if line.kind in ("all", "micro")]


def all_cells(table: Table) -> list[Cell]:
    """The cells of those lines."""
    return [cell for line in whole_lines(table) for cell in line.cells if cell is not None]
