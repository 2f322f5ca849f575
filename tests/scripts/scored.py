"""A small data set in our own layout, and predictions for it, that tests of scoring share."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import medgen_bench
from medgen_scripts.scoring.options import ScoreOptions

from ..builders import encoded

TASKS = {"edit": ("noise-reconstruction", "style-transfer"), "vqa": ("multiple-choice", "question-answering")}


def png(seed: int, size: int = 24) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)
    return encoded(Image.fromarray(pixels))


def rows(config: str, count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        task = TASKS[config][number % 2]
        image = [{"bytes": png(number), "path": None}]
        row: dict[str, Any] = {
            "task": task,
            "subtask": None,
            "modality": ("CT", "MRI", "X-ray")[number % 3],
            "instruction": f"Do what number {number} says.",
            "choices": ["A. one", "B. two"] if task == "multiple-choice" else [],
            "input_images": image,
            "source": None,
            "group": f"g-{number}",
            "release_id": f"made:{config}:{number}",
        }
        if config == "edit":
            row["output_images"] = [{"bytes": png(1000 + number), "path": None}]
        else:
            row["answer"] = "B. two" if row["choices"] else f"a lung nodule of {number} mm in the left upper lobe"
        outputs = [image["bytes"] for image in row.get("output_images", [])]
        row["id"] = medgen_bench.record_id(task, row["instruction"], [image[0]["bytes"]], outputs)
        yield row


def write_data(folder: Path, count: int) -> Path:
    """Configs edit and vqa of `count` records each, as a `data_dir`."""
    import datasets

    for config in TASKS:
        made = datasets.Dataset.from_list(list(rows(config, count)), features=medgen_bench.features(config))
        (folder / config).mkdir(parents=True)
        made.to_parquet(folder / config / "test-00000-of-00001.parquet")
    return folder


def write_predictions(folder: Path, count: int, skip: tuple[int, ...] = ()) -> Path:
    """A system's outputs: noisy copies of the references and half-right texts; records in `skip` have no row."""
    (folder / "images").mkdir(parents=True)
    for config in TASKS:
        lines = []
        for number, row in enumerate(rows(config, count)):
            if number in skip:
                continue
            if config == "edit":
                name = f"images/{row['id']}.png"
                (folder / name).write_bytes(png(1000 + number if number % 2 else 2000 + number))
                lines.append({"id": row["id"], "text": None, "image": name})
            else:
                text = "The answer is B." if row["choices"] else f"a nodule of {number} mm in the right upper lobe"
                lines.append({"id": row["id"], "text": text, "image": None})
        (folder / f"{config}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def write_work(folder: Path, count: int, without: int) -> Path:
    """A folder of `data` with records, and `mine` with answers to all of them but one; the folder."""
    write_data(folder / "data", count)
    write_predictions(folder / "mine", count, skip=(without,))
    return folder


def options(data: Path, out: Path, **changes: Any) -> ScoreOptions:
    """Score `data` offline; LPIPS and BERTScore stay unscored, for want of weights."""
    return ScoreOptions(**{"edition": "release", "data_dir": data, "out": out, "offline": True, **changes})
