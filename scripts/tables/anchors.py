"""Where figures lie between doing no work and perfect work: `shuffled` is the floor, `reference` the ceiling."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row

from ..errors import UsageError
from ..result_file import load
from .columns import DIAGNOSTICS
from .columns import Column
from .entry import Entry

FLOOR = "shuffled"
CEILING = "reference"
STILL = "copy-input"


@dataclass(frozen=True)
class Anchor:
    """An anchor's rows, by column and record."""

    entry: Entry

    @cached_property
    def _by_tier(self) -> dict[str, dict[str, Row]]:
        ids = self.entry.result.rows.id
        return {tier: dict(zip(ids, self.entry.rows(tier), strict=True)) for tier in self.entry.views}

    def has(self, column: str, id: str) -> bool:
        """Whether the record has a value."""
        return id in self.entry.valued.get(column, ())

    def of(self, column: str, ids: Sequence[str]) -> float | None:
        """The mean over those of the records that have a value; None if none has."""
        if column not in self.entry.specs:
            return None
        tier, spec = self.entry.specs[column]
        return spec.of([self._by_tier[tier][id] for id in ids if self.has(column, id)])


@dataclass(frozen=True)
class Anchors:
    """The anchors that a table has.

    Attributes:
        floor: `shuffled`.
        ceiling: `reference`.
    """

    floor: Anchor | None
    ceiling: Anchor | None

    @classmethod
    def among(cls, entries: Sequence[Entry]) -> "Anchors":
        """The anchors among a table's systems."""
        named = {entry.file.system: Anchor(entry) for entry in entries}
        return cls(named.get(FLOOR), named.get(CEILING))

    def position(
        self, column: Column, spec: MetricSpec, system: str, ids: Sequence[str], rows: Sequence[Row]
    ) -> float | None:
        """How far a mean lies from the floor (0) to the ceiling (1), over records that it and both anchors have scored.

        In dB it is the gain over the floor instead: a PSNR has no ceiling, and none is given for `reference`, whose
        PSNR is a cap.

        Args:
            column: the metric's column.
            spec: the metric.
            system: whose mean.
            ids: its records.
            rows: their rows.
        """
        if column.metric in DIAGNOSTICS or self.floor is None:
            return None
        is_gain = column.unit == "dB"
        if is_gain and system == CEILING:
            return None
        ceiling = None if is_gain else self.ceiling
        if ceiling is None and not is_gain:
            return None
        shared = [
            (id, row)
            for id, row in zip(ids, rows, strict=True)
            if (spec.column or spec.name) in row.values
            and self.floor.has(column.metric, id)
            and (ceiling is None or ceiling.has(column.metric, id))
        ]
        both = [id for id, _ in shared]
        own, low = spec.of([row for _, row in shared]), self.floor.of(column.metric, both)
        if own is None or low is None:
            return None
        if ceiling is None:
            return own - low
        high = ceiling.of(column.metric, both)
        return None if high is None or high == low else (own - low) / (high - low)


def beside(entries: Sequence[Entry]) -> dict[str, Path]:
    """The results of anchors that a table lacks, over the same records, in the folders of those that it has."""
    first = entries[0]
    suffix = "" if first.file.protocol == "paper" else f".{first.file.protocol}"
    found = {}
    for name in {FLOOR, CEILING, STILL} - {entry.file.system for entry in entries}:
        for folder in dict.fromkeys(entry.path.parent for entry in entries):
            path = folder / f"{name}{suffix}.json"
            if name not in found and path.is_file() and _fits(path, name, first):
                found[name] = path
    return found


def _fits(path: Path, name: str, entry: Entry) -> bool:
    try:
        file = load(path)
    except UsageError:
        return False  # of no use here, and nobody named it
    result = file.configs.get(entry.config)  # type: ignore[call-overload]
    return (
        result is not None
        and (file.system, file.edition, file.protocol) == (name, entry.file.edition, entry.file.protocol)
        and result.subset.digest == entry.result.subset.digest
    )


def shown_position(column: Column, position: float) -> str:
    """`at 61%`, or in dB `+2.31 dB`."""
    return f"{position:+.2f} dB" if column.unit == "dB" else f"at {position:.0%}"
