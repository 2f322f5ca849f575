"""Predictions written to Parquet from the rows of a JSONL file, as users do."""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def embedded(rows: Sequence[Mapping[str, Any]], folder: Path, column: str = "image") -> list[dict[str, Any]]:
    """Rows with the image files that they name, below `folder`, embedded."""
    return [
        {
            **row,
            column: {"bytes": (folder / row[column]).read_bytes(), "path": row[column]} if row.get(column) else None,
        }
        for row in rows
    ]


def write(path: Path, rows: Sequence[Mapping[str, Any]], **options: Any) -> Path:
    """Rows as Parquet, the types as pyarrow finds them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path, **options)
    return path
