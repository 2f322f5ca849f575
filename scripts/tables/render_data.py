"""Tables for machines: CSV with a line a figure, and strict JSON. Values in natural units, beside what readers see."""

import csv
import io
import json
from typing import Any

from .columns import Column
from .model import Cell
from .model import Document
from .model import Line
from .model import Table
from .printing import printable
from .printing import printed

FORMAT = "medgen-bench/table@1"
FIELDS = (
    "config",
    "edition",
    "protocol",
    "subset",
    "records",
    "by",
    "kind",
    "group",
    "system",
    "role",
    "metric",
    "unit",
    "printed",
    "value",
    "mark",
    "scored",
    "n",
    "coverage",
    "mean_failures_worst",
    "bound_low",
    "bound_high",
    "common_mean",
    "common_n",
    "failures",
    "signature",
)
SHARES = ("right", "parsed", "closed")
"""EM's, of the lines over records; empty for other metrics. JSON has them among a cell's `extras`."""
OPTIONAL = ("interval_low", "interval_high", "groups", "largest_group", "position", "gain_db", "bounds")


def render_csv(document: Document) -> str:
    """A line for each figure, so that tables of any columns and configs share one header.

    Figures that are given only on request (`OPTIONAL`) have columns where any cell has them.
    """
    buffer = io.StringIO()
    figures = [
        {**_place(table, line), **_figures(table, column, cell), **{name: cell.extras.get(name) for name in SHARES}}
        for table in document.tables
        for line in table.lines
        for column, cell in zip(table.columns, line.cells, strict=True)
        if cell is not None
    ]
    fields = [*FIELDS, *SHARES, *(name for name in OPTIONAL if any(name in item for item in figures))]
    writer = csv.DictWriter(buffer, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _harmless(item.get(name)) for name in fields} for item in figures)
    return buffer.getvalue()


def _harmless(value: Any) -> Any:
    """Text that a spreadsheet doesn't run as a formula; numbers, also negative ones, stay as they are."""
    if isinstance(value, dict):
        return ";".join(f"{reason}={count}" for reason, count in value.items())
    if not isinstance(value, str) or not value.lstrip().startswith(("=", "+", "-", "@")):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _place(table: Table, line: Line) -> dict[str, Any]:
    return {
        "config": table.config,
        "edition": table.edition,
        "protocol": table.protocol,
        "subset": table.digest,
        "records": table.selected,
        "by": table.by or "",
        "kind": line.kind,
        "group": printable(line.group),
        "system": printable(line.system),
        "role": line.role,
    }


def _figures(table: Table, column: Column, cell: Cell) -> dict[str, Any]:
    return {
        "metric": column.metric,
        "unit": column.unit,
        "printed": printed(column, cell, table.protocol).value,
        "value": cell.mean,
        "mark": cell.mark,
        "scored": cell.scored,
        "n": cell.n,
        "coverage": cell.scored / cell.n if cell.n else None,
        "mean_failures_worst": cell.worst,
        "bound_low": cell.bounds[0],
        "bound_high": cell.bounds[1],
        "common_mean": cell.common,
        "common_n": table.common[column.metric],
        "failures": dict(cell.failures),
        "signature": " ".join(column.signatures),
        **_requested(column, cell),
    }


def _requested(column: Column, cell: Cell) -> dict[str, Any]:
    """Figures that the table was asked for."""
    found: dict[str, Any] = {}
    if cell.interval is not None:
        found |= dict(zip(OPTIONAL[:4], cell.interval, strict=True))
    if cell.position is not None:
        found["gain_db" if column.unit == "dB" else "position"] = cell.position
    if cell.is_practical:
        found["bounds"] = "practical"
    return found


def render_json(document: Document) -> str:
    """The whole document.

    Raises:
        ValueError: a figure is NaN or infinite, which JSON doesn't have.
    """
    content = {
        "format": FORMAT,
        "tables": [_table(table) for table in document.tables],
        "notes": list(document.notes),
    }
    return json.dumps(content, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def _table(table: Table) -> dict[str, Any]:
    return {
        "config": table.config,
        "edition": table.edition,
        "edition_note": table.edition_note,
        "protocol": table.protocol,
        "records": table.records,
        "selected": table.selected,
        "subset": {"name": table.subset, "limit": table.limit, "seed": table.seed, "digest": table.digest},
        "by": table.by,
        "columns": [
            {
                "metric": column.metric,
                "tier": column.tier,
                "head": column.head,
                "unit": column.unit,
                "higher_is_better": column.higher_is_better,
                "ranked": column.ranked,
                "common": table.common[column.metric],
                "signatures": list(column.signatures),
            }
            for column in table.columns
        ],
        "rows": [
            {
                "kind": line.kind,
                "group": line.group,
                "system": line.system,
                "role": line.role,
                "cells": {
                    column.metric: None if cell is None else _cell(table, column, cell)
                    for column, cell in zip(table.columns, line.cells, strict=True)
                },
            }
            for line in table.lines
        ],
        "notes": list(table.notes),
    }


def _cell(table: Table, column: Column, cell: Cell) -> dict[str, Any]:
    figures = _figures(table, column, cell)
    shared = ("metric", "unit", "signature", "common_n")
    return {**{name: value for name, value in figures.items() if name not in shared}, "extras": dict(cell.extras)}
