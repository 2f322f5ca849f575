"""Rows as the columns that `evaluate` stores, and back: `id`, `flags`, `value:<column>`, `reason:<metric>`."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import datasets

from .rows import MetricSpec
from .rows import Row


class Stored(NamedTuple):
    """A sample in storage: the caller's id (`""` if none was given) and its row."""

    id: str
    row: Row


def features(values: Sequence[str], specs: Sequence[MetricSpec]) -> datasets.Features:
    """The columns for rows that may hold `values`."""
    text, number = datasets.Value("string"), datasets.Value("float64")
    return datasets.Features(
        {
            "id": text,
            "flags": text,
            **{f"value:{name}": number for name in values},
            **{f"reason:{spec.name}": text for spec in specs},
        }
    )


def to_columns(samples: Sequence[Stored], values: Sequence[str], specs: Sequence[MetricSpec]) -> dict[str, list[Any]]:
    """The cells of `samples`; a value that is absent is None, a reason `""`.

    Raises:
        RuntimeError: a row holds a value that is not among `values` and would be lost.
    """
    undeclared = {name for sample in samples for name in sample.row.values} - set(values)
    if undeclared:
        raise RuntimeError(f"the tier's columns lack {', '.join(sorted(undeclared))}")
    return {
        "id": [sample.id for sample in samples],
        "flags": [" ".join(sample.row.flags) for sample in samples],
        **{f"value:{name}": [sample.row.values.get(name) for sample in samples] for name in values},
        **{f"reason:{spec.name}": [sample.row.reasons.get(spec.name, "") for sample in samples] for spec in specs},
    }


def from_columns(columns: Mapping[str, Sequence[Any]]) -> list[Stored]:
    """The samples of `to_columns`."""
    return [
        _restore(dict(zip(columns, cells, strict=True)))
        for cells in zip(*columns.values(), strict=True)  # a sample's cells
    ]


def _restore(cells: Mapping[str, Any]) -> Stored:
    values = {key.removeprefix("value:"): cell for key, cell in cells.items() if key.startswith("value:")}
    reasons = {key.removeprefix("reason:"): cell for key, cell in cells.items() if key.startswith("reason:")}
    row = Row(
        values={name: value for name, value in values.items() if value is not None},
        reasons={name: reason for name, reason in reasons.items() if reason},
        flags=tuple(cells["flags"].split()),
    )
    return Stored(cells["id"], row)


def once(samples: Sequence[Stored]) -> list[Stored]:
    """Samples of one id once, the first; those without an id all."""
    seen: set[str] = set()
    kept = []
    for sample in samples:
        if not sample.id or sample.id not in seen:
            kept.append(sample)
        seen.add(sample.id)
    return kept
