"""Builds small data sets in the layouts that the loader reads, from the description of their formats."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

import medgen_bench

FOLDERS = {"vqa": "vqa", "edit": "image_editing", "gen": "multimodal_generation"}
_IMAGES = pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
_TEXT = pa.string()


def picture(seed: int, size: tuple[int, int] = (48, 40)) -> Image.Image:
    """A smooth random colour picture; different seeds look different."""
    noise = np.random.default_rng(seed).integers(0, 256, size=(6, 6, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize(size, Image.Resampling.BICUBIC)


def encoded(image: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    """The bytes of an image file."""
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def png(seed: int) -> bytes:
    return encoded(picture(seed))


def images(*files: bytes | int) -> list[dict[str, Any]]:
    """An image column's value; a number stands for the picture of that seed."""
    return [
        {"bytes": png(file) if isinstance(file, int) else file, "path": f"img_{n}.png"} for n, file in enumerate(files)
    ]


def public_schema(config: str) -> pa.Schema:
    """The columns of the public release: no ids, no choices; edit without answer, vqa without output images."""
    columns = {"input_images": _IMAGES, "output_images": _IMAGES, "instruction": _TEXT, "answer": _TEXT}
    columns |= {"task": _TEXT, "subtask": _TEXT, "modality": _TEXT}
    unused = {"vqa": "output_images", "edit": "answer", "gen": ""}[config]
    return pa.schema([(name, kind) for name, kind in columns.items() if name != unused])


def public_row(task: str, seed: int, **changes: Any) -> dict[str, Any]:
    """A row of the public release."""
    choices = "\n\nOptions:\nA. left lung\nB. right lung\nC. heart" if task == "multiple-choice" else ""
    row = {
        "input_images": images(seed, seed + 1000) if task == "question-answering" else images(seed),
        "output_images": images(seed + 500),
        "instruction": f"Instruction {seed} of {task}.{choices}",
        "answer": "B. right lung" if choices else f"Answer {seed}.",
        "task": task,
        "subtask": None,
        "modality": "CT",
    }
    return {**row, **changes}


def release_rows(each: int = 2) -> dict[str, list[dict[str, Any]]]:
    """`each` rows for each of the release's 16 tasks."""
    rows: dict[str, list[dict[str, Any]]] = {config: [] for config in FOLDERS}
    for seed, task in enumerate(task for task in medgen_bench.TASKS for _ in range(each)):
        rows[medgen_bench.TASKS[task].config].append(public_row(task, seed))
    return rows


def write_shards(
    folder: Path, rows: list[dict[str, Any]], schema: pa.Schema, shards: int = 1, group: int = 2
) -> list[Path]:
    """Write `rows` to `train-…-of-….parquet`, with `group` rows a row group."""
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // shards)
    paths = [folder / f"train-{n:05d}-of-{shards:05d}.parquet" for n in range(shards)]
    for n, path in enumerate(paths):
        part = [{name: row[name] for name in schema.names} for row in rows[n * size : (n + 1) * size]]
        pq.write_table(pa.Table.from_pylist(part, schema=schema), path, row_group_size=group)
    return paths


def write_release(root: Path, rows: dict[str, list[dict[str, Any]]] | None = None, shards: int = 2) -> Path:
    """The public Parquet release at `root`, several folders deep as it is published."""
    for config, part in (release_rows() if rows is None else rows).items():
        write_shards(root / "MedGEN_raw" / "parquet" / FOLDERS[config], part, public_schema(config), shards)
    return root


def paper_rows(release_only: int = 201, subtasks: int = 27) -> dict[str, list[dict[str, Any]]]:
    """A release of one row for each of the paper's subtasks, and `release_only` rows of disease-prediction."""
    tasks = [task for task in medgen_bench.TASKS if task != medgen_bench.RELEASE_ONLY_TASK]
    rows: dict[str, list[dict[str, Any]]] = {config: [] for config in FOLDERS}
    for n in range(subtasks):
        task = tasks[n % len(tasks)]
        rows[medgen_bench.TASKS[task].config].append(public_row(task, n, subtask=f"Subtask {n}"))
    same = images(1), images(2)
    rows["gen"] += [
        public_row(
            medgen_bench.RELEASE_ONLY_TASK, n, input_images=same[0], output_images=same[1], subtask="Early to Late"
        )
        for n in range(release_only)
    ]
    return rows


def our_schema(config: str) -> pa.Schema:
    """Our own layout's columns."""
    kinds = {"choices": pa.list_(_TEXT), "input_images": _IMAGES, "output_images": _IMAGES}
    return pa.schema([(name, kinds.get(name, _TEXT)) for name in medgen_bench.features(config)])
