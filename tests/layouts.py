"""Writes the records of a Parquet release again in the layouts that came before it, and in the views made of both."""

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

import medgen_bench

from . import builders

FORMATS = {"vqa": "VQA", "edit": "ImageEditing", "gen": "MultimodalGeneration"}
CATEGORIES = {"vqa": "VQA", "edit": "ImageEdit", "gen": "MMGeneration"}
Rows = dict[str, list[dict[str, Any]]]


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def _texts(config: str, row: dict[str, Any]) -> dict[str, Any]:
    return {
        "category": CATEGORIES[config],
        "paper_format": FORMATS[config],
        "paper_task": row["task"],
        "paper_subtask": row["subtask"],
        "sub-category": row["task"],
        "modality": row["modality"],
        "instruction": row["instruction"],
        **({"answer": row["answer"]} if config != "edit" else {}),
    }


def _files(config: str, row: dict[str, Any]) -> Iterator[tuple[str, list[bytes]]]:
    yield "input", [image["bytes"] for image in row["input_images"]]
    yield "ground_truth", [image["bytes"] for image in row["output_images"]] if config != "vqa" else []


def write_folder(root: Path, rows: Rows) -> Path:
    """The older layout: options in `choice` and not in the instruction, lists of paths, a manifest."""
    tasks: dict[str, list[dict[str, Any]]] = {}
    for config, part in rows.items():
        for row in part:
            name = f"{FORMATS[config]}/{row['task']}"
            written = tasks.setdefault(name, [])
            body, choices = medgen_bench.split_options(row["instruction"])
            record = _texts(config, row) | {"instruction": body, "choice": choices, "observed_subtask": "observed"}
            for kind, files in _files(config, row):
                names = [f"images/{kind} {len(written):03d}-{n}.png" for n in range(len(files))]
                for file, data in zip(names, files, strict=True):
                    (root / name / file).parent.mkdir(parents=True, exist_ok=True)
                    (root / name / file).write_bytes(data)
                record[f"{kind}_image"] = names
            written.append(record)
    for name, written in tasks.items():
        write_lines(root / name / "data.jsonl", written)
    table = {
        format_name: [n.split("/")[1] for n in tasks if n.startswith(format_name)] for format_name in FORMATS.values()
    }
    counts = {name: {"record_count": len(written)} for name, written in tasks.items()}
    (root / "manifest.json").write_text(json.dumps({"table_iv": table, "tasks": counts}))
    return root


def write_view_of_folder(root: Path, folder: Path, prefix: str = "tableiv") -> Path:
    """The view of the older layout: paths behind the link `source`, a contact sheet for several input images."""
    (root / "images" / "vqa_contact_sheets").mkdir(parents=True)
    (root / "source").symlink_to(os.path.relpath(folder, root))
    for config, format_name in FORMATS.items():
        records = []
        for path in sorted((folder / format_name).glob("*/data.jsonl")):
            place = path.parent.relative_to(folder).as_posix()
            for line, record in enumerate(map(json.loads, path.read_text().splitlines()), start=1):
                inputs = [f"source/{place}/{name}" for name in record["input_image"]]
                strategy = "single"
                if len(inputs) > 1:
                    strategy, inputs = "labeled_contact_sheet", [f"images/vqa_contact_sheets/{'0' * 24}.jpg"]
                    Image.new("RGB", (90, 50)).save(root / inputs[0], quality=95)
                outputs = [f"source/{place}/{name}" for name in record.pop("ground_truth_image")]
                adapter = {
                    "source_data_jsonl": f"{place}/data.jsonl",
                    "source_line": line,
                    "input_strategy": strategy,
                    "original_input_image": record["input_image"],
                }
                records.append(
                    record
                    | {"input_image": inputs[0], "input_images": inputs, "ground_truth_images": outputs}
                    | ({"ground_truth_image": outputs[0]} if outputs else {})
                    | {"sample_id": f"{prefix}:{place.replace('/', ':')}:{line:06d}", "eval_adapter": adapter}
                )
        write_lines(root / f"{config}.jsonl", records)
    (root / "adapter_manifest.json").write_text("{}")
    return root


def write_view_of_release(root: Path, release: Path) -> Path:
    """The view of the Parquet release: images named by their content, rows named by shard and number."""
    for config, folder in builders.FOLDERS.items():
        records = []
        for path in sorted(release.rglob(f"{folder}/*.parquet")):
            for number, row in enumerate(builders.pq.read_table(path).to_pylist()):
                record = _texts(config, row) | {"dataset_source": {"config": folder, "row_index": number}}
                for kind, files in _files(config, row):
                    names = []
                    for data in files:
                        digest = hashlib.sha256(data).hexdigest()
                        names.append(f"images/assets/{digest[:2]}/{digest}.png")
                        (root / names[-1]).parent.mkdir(parents=True, exist_ok=True)
                        (root / names[-1]).write_bytes(data)
                    record[f"{kind}_images"] = names
                    if names:
                        record[f"{kind}_image"] = names[0] if len(names) == 1 else "images/vqa_contact_sheets/1.jpg"
                records.append(record | {"sample_id": f"medgen:{folder}:{path.stem}:{number:06d}"})
        write_lines(root / f"{config}.jsonl", records)
    return root
