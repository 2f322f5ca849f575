"""Data sets of any number of records, and a system's outputs for them, for benches of whole commands."""

import json
import os
import struct
import zlib
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

from PIL import Image

from .material import image_pairs

DISTINCT = 16  # pictures; more records share them, which changes no work where nothing is cached by content


def write(folder: Path, count: int, size: int = 512, *, unlike: bool = False, grey: bool = False) -> tuple[Path, Path]:
    """Config edit with `count` records, and predictions for it.

    Args:
        folder: where to.
        count: of records.
        size: side of the pictures.
        unlike: no two files have the same bytes, for what is cached by content; else input and reference are one.
        grey: one channel, as radiographs, CT and MRI have it.

    Returns:
        The data folder and the predictions folder.
    """
    import datasets

    import medgen_bench

    pairs = image_pairs(min(count, DISTINCT), size)
    if grey:
        pairs = [(_grey(candidate), _grey(reference)) for candidate, reference in pairs]
    data, system = folder / "data", folder / "mine"
    (data / "edit").mkdir(parents=True)
    (system / "images").mkdir(parents=True)
    lines = []

    def rows() -> "object":
        for number in range(count):
            data = pairs[number % len(pairs)][1]
            image, reference = (
                [{"bytes": _marked(data, f"{role} {number}") if unlike else data, "path": None}]
                for role in ("input", "reference")
            )
            yield {
                "id": f"noise-reconstruction-{number:012x}",
                "release_id": f"made:{number}",
                "task": "noise-reconstruction",
                "subtask": None,
                "modality": "CT",
                "instruction": f"Remove the noise of image {number}.",
                "choices": [],
                "input_images": image,
                "output_images": reference,
                "source": None,
                "group": f"g-{number}",
            }

    features = medgen_bench.features("edit")
    made = datasets.Dataset.from_generator(rows, features=features, cache_dir=str(folder / "cache"))
    made.to_parquet(data / "edit" / "test-00000-of-00001.parquet", batch_size=16)
    for number in range(min(count, DISTINCT)):
        (system / "images" / f"{number}.png").write_bytes(pairs[number][0])
    for number in range(count):
        name = f"images/r{number}.png"
        if unlike:
            (system / name).write_bytes(_marked(pairs[number % len(pairs)][0], f"output {number}"))
        else:
            os.link(system / "images" / f"{number % DISTINCT}.png", system / name)
        lines.append({"id": f"noise-reconstruction-{number:012x}", "text": None, "image": name})
    (system / "edit.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return data, system


def questions(folder: Path, count: int, size: int, answer: Callable[[int], str] = lambda number: "Noise.") -> None:
    """Config vqa with `count` records, which share one picture.

    Args:
        folder: of the data.
        count: of records.
        size: side of the picture.
        answer: from a record's number to its reference.
    """
    import datasets

    import medgen_bench

    picture = [{"bytes": image_pairs(1, size)[0][0], "path": None}]

    def rows() -> "object":
        for number in range(count):
            yield {
                "id": f"question-answering-{number:012x}",
                "release_id": f"made:{number}",
                "task": "question-answering",
                "subtask": None,
                "modality": "CT",
                "instruction": f"What does image {number} show?",
                "choices": [],
                "input_images": picture,
                "answer": answer(number),
                "source": None,
                "group": f"g-{number}",
            }

    features = medgen_bench.features("vqa")
    made = datasets.Dataset.from_generator(rows, features=features, cache_dir=str(folder / "cache"))
    (folder / "vqa").mkdir(parents=True, exist_ok=True)
    made.to_parquet(folder / "vqa" / "test-00000-of-00001.parquet")


def _grey(png: bytes) -> bytes:
    with Image.open(BytesIO(png)) as picture, BytesIO() as out:
        picture.convert("L").save(out, "PNG")
        return out.getvalue()


def _marked(png: bytes, text: str) -> bytes:
    """The same picture with a comment in its file, before the last chunk."""
    chunk = b"tEXt" + b"Comment\0" + text.encode()
    return png[:-12] + struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) + png[-12:]


def backbone(folder: Path) -> Path:
    """Random AlexNet weights: speed and memory do not depend on them."""
    import torch
    from torchvision.models import alexnet

    torch.manual_seed(0)
    path = folder / "alex.pth"
    torch.save(alexnet(weights=None).state_dict(), path)
    return path


def dinov2_base(folder: Path) -> Path:
    """Random weights of DINOv2's base size, at 224x224: a small encoder leaves the most of the time to the rest."""
    import torch
    from transformers import BitImageProcessor
    from transformers import Dinov2Config
    from transformers import Dinov2Model

    torch.manual_seed(0)
    path = folder / "dinov2-base"
    Dinov2Model(Dinov2Config(image_size=224)).save_pretrained(path)
    BitImageProcessor(
        size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}, do_resize=True, do_center_crop=True
    ).save_pretrained(path)
    return path
