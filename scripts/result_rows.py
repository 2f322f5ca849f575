"""A result's rows, column by column, so that any grouping or subset of records can be averaged again with the metrics'
own specs and needs neither weights nor predictions.
"""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Annotated
from typing import Any

from pydantic import AfterValidator
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import FiniteFloat
from pydantic import NonNegativeInt
from pydantic import model_validator

from medgen_metrics.failures import REASONS
from medgen_metrics.rows import Row


def _known_reason(reason: str) -> str:
    if reason not in REASONS:
        raise ValueError(f"expected one of {', '.join(REASONS)}")
    return reason


Reason = Annotated[str, AfterValidator(_known_reason)]


class Strict(BaseModel):
    """A model in which a field that isn't known is an error."""

    # It would be dropped in silence otherwise.
    model_config = ConfigDict(extra="forbid")


class TierRows(Strict):
    """A tier's rows by column. Indices count the records of `Rows.id`; a value is None where the row has none."""

    values: dict[str, list[FiniteFloat | None]] = {}
    reasons: dict[str, dict[Reason, list[NonNegativeInt]]] = {}
    flags: dict[str, list[NonNegativeInt]] = {}

    @classmethod
    def pack(cls, rows: Sequence[Row]) -> "TierRows":
        """Columns of `rows`. A value that is NaN or infinite is an error (pydantic's): JSON has neither."""
        names = dict.fromkeys(name for row in rows for name in row.values)
        reasons: dict[str, dict[str, list[int]]] = {}
        flags: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            for metric, reason in row.reasons.items():
                reasons.setdefault(metric, {}).setdefault(reason, []).append(index)
            for flag in row.flags:
                flags.setdefault(flag, []).append(index)
        return cls(
            values={name: [row.values.get(name) for row in rows] for name in names},
            reasons=reasons,
            flags=flags,
        )

    def unpack(self, count: int) -> list[Row]:
        """The `count` rows again (a row's flags in the order of the columns)."""
        names = list(self.values)
        # A table of many systems unpacks millions of values: rows without gaps, most of them, go the short way.
        values: list[dict[str, float]] = [
            dict(zip(names, row, strict=True))
            if None not in row
            else {name: value for name, value in zip(names, row, strict=True) if value is not None}
            for row in zip(*self.values.values(), strict=True)
        ] or [{} for _ in range(count)]
        reasons: dict[int, dict[str, str]] = defaultdict(dict)
        for metric, by_reason in self.reasons.items():
            for reason, indices in by_reason.items():
                for index in indices:
                    reasons[index][metric] = reason
        flags: dict[int, list[str]] = defaultdict(list)
        for flag, indices in self.flags.items():
            for index in indices:
                flags[index].append(flag)
        return [Row(values[index], reasons.get(index, {}), tuple(flags.get(index, ()))) for index in range(count)]

    def faults(self, count: int) -> Iterable[str]:
        """What doesn't fit `count` records, in words."""
        for name, column in self.values.items():
            if len(column) != count:
                yield f"values.{name}: expected {count} entries, one a record, got {len(column)}"
        marks = {f"flags.{flag}": indices for flag, indices in self.flags.items()}
        for metric, by_reason in self.reasons.items():
            marks |= {f"reasons.{metric}.{reason}": indices for reason, indices in by_reason.items()}
        for place, indices in marks.items():
            if indices and max(indices) >= count:
                yield f"{place}: expected indices below {count}, got {max(indices)}"


class Rows(BaseModel):
    """The selected records and each tier's rows; a tier stands under its own name beside `id`, `task`, …"""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, TierRows] = Field(init=False)

    id: list[str]
    task: list[str]
    subtask: list[str | None]
    modality: list[str]
    group: list[str]

    @classmethod
    def of(cls, records: Mapping[str, Sequence[str | None]], tiers: Mapping[str, Sequence[Row]]) -> "Rows":
        """From the records' columns (`id`, `task`, `subtask`, `modality`, `group`) and each tier's rows, same order."""
        packed: dict[str, Any] = {name: TierRows.pack(rows) for name, rows in tiers.items()}
        columns: dict[str, Any] = {name: list(records[name]) for name in cls.model_fields}
        return cls(**columns, **packed)

    @property
    def tiers(self) -> dict[str, TierRows]:
        """Tier name -> its rows."""
        return self.__pydantic_extra__

    def with_tiers(self, tiers: Mapping[str, TierRows]) -> "Rows":
        """The same records with these tiers."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**fields, **tiers})

    def unpack(self, tier: str) -> list[Row]:
        """A tier's rows, one a record."""
        return self.tiers[tier].unpack(len(self.id))

    @model_validator(mode="after")
    def _fits(self) -> "Rows":
        count = len(self.id)
        faults = [
            f"{name}: expected {count} entries, one an id, got {len(getattr(self, name))}"
            for name in type(self).model_fields
            if len(getattr(self, name)) != count
        ]
        if len(set(self.id)) != count:
            faults.append(f"id: expected every record once, got {count - len(set(self.id))} repeated")
        faults += [f"{name}.{fault}" for name, rows in self.tiers.items() for fault in rows.faults(count)]
        if faults:
            raise ValueError("; ".join(faults))
        return self
