"""Predictions written to Parquet from the rows of a JSONL file, as users do."""

import json
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


def push(system: Path, folder: Path, **options: Any) -> Path:
    """A system's vqa.jsonl and edit.jsonl as `push_to_hub` lays out configs: edit in two shards, images embedded."""
    rows = {name: [json.loads(line) for line in (system / f"{name}.jsonl").open()] for name in ("vqa", "edit")}
    write(folder / "vqa/test-00000-of-00001.parquet", rows["vqa"], **options)
    half = len(rows["edit"]) // 2
    for number, part in enumerate((rows["edit"][:half], rows["edit"][half:])):
        write(folder / f"edit/test-{number:05d}-of-00002.parquet", embedded(part, system), **options)
    return folder
