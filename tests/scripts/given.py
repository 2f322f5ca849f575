"""Records made up for tests that need particular ones, and predictions files for them."""

import json
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets

import medgen_bench
from medgen_scripts.records import Records

from .scored import png


def record(task: str, number: int, **changes: Any) -> dict[str, Any]:
    """A record of a task; `number` tells it from others, in its id and its pictures too."""
    config = medgen_bench.TASKS[task].config
    row: dict[str, Any] = {
        "id": f"{task}-{number:012x}",
        "release_id": f"medgen:{config}:{task}:{number:06d}",
        "task": task,
        "subtask": None,
        "modality": "CT",
        "instruction": f"Do what number {number} says.",
        "choices": [],
        "input_images": [{"bytes": png(number), "path": None}],
        "source": None,
        "group": f"g-{number}",
    }
    if config != "vqa":
        row["output_images"] = [{"bytes": png(1000 + number), "path": None}]
    if config != "edit":
        row["answer"] = f"answer {number}"
    return {**row, **changes}


def records(rows: Sequence[Mapping[str, Any]], edition: str = "release") -> Records:
    """Records of one config, that of the first row's task."""
    config = medgen_bench.TASKS[rows[0]["task"]].config
    made = datasets.Dataset.from_list([dict(row) for row in rows], features=medgen_bench.features(config))
    return Records(made, config, edition)


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Rows as JSONL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
