"""The older folder layout: `<Format>/<task>/data.jsonl` with images beside it, `manifest.json` above."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .common import encodable
from .common import metadata_ids
from .common import names
from .common import read_images
from .common import texts
from .jsonl import pieces
from .jsonl import shorten

FILE = "data.jsonl"
_COLUMNS = {"input_images": "input_image", "output_images": "ground_truth_image"}


def root_of(path: Path) -> Path:
    """The data set's folder, from one of its `data.jsonl`."""
    return path.parents[2]


def candidates(row: Mapping[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """The names of a row's images by column, relative to its `data.jsonl`; ValueError where there is no such list."""
    return {ours: [(name,) for name in names(row.get(theirs), theirs)] for ours, theirs in _COLUMNS.items()}


def read_row(path: Path, line: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the columns of the Parquet release, with image bytes, `choices`, `source` and names.

    `release_id` is what the row's `metadata` calls it, else `position`: the name that the public evaluator derives from
    format, task and line.

    Raises:
        ValueError: what is wrong with the row.
    """
    columns = texts(row)
    position = f"tableiv:{path.parents[1].name}:{path.parent.name}:{line:06d}"
    own = [name for name in metadata_ids(row) if isinstance(name, str) and name]
    encodable("metadata", own[0] if own else None)
    images = {
        name: read_images(found, _COLUMNS[name], path.parent, root_of(path)) for name, found in candidates(row).items()
    }
    return {**columns, **images, "release_id": own[0] if own else position, "position": position}


def differences(root: Path) -> list[str]:
    """Where the files are other than `manifest.json` states: tasks without a file, other numbers of records.

    Raises:
        ValueError: a manifest that can't be read.
    """
    path = root / "manifest.json"
    if not path.is_file():
        return []
    try:
        manifest = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path.name}: expected a JSON object, can't be read ({error}); download it again") from error
    tasks = manifest.get("tasks") if isinstance(manifest, dict) else None
    if not isinstance(tasks, dict):
        raise ValueError(f"{path.name}: expected an object with `tasks`, got {shorten(manifest)}; download it again")
    found = []
    for name, stated in tasks.items():
        file = root / name / FILE
        count = stated.get("record_count") if isinstance(stated, dict) else None
        if ".." in Path(name).parts or not file.is_file():
            found.append(f"{name}/{FILE} is not there")
        elif isinstance(count, int) and (here := sum(piece.rows for piece in pieces(file))) != count:
            found.append(f"{name}/{FILE} has {here} records of {count}")
    return found
