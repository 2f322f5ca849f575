"""A data set and a system's outputs of any number of image pairs, for benches of the whole `score`."""

import json
import os
from pathlib import Path

from .material import image_pairs

DISTINCT = 16  # pictures; more records share them, which changes no work: nothing is cached by content


def write(folder: Path, count: int, size: int = 512) -> tuple[Path, Path]:
    """Config edit with `count` records, and predictions for it.

    Returns:
        The data folder and the predictions folder.
    """
    import datasets

    import medgen_bench

    pairs = image_pairs(min(count, DISTINCT), size)
    data, system = folder / "data", folder / "mine"
    (data / "edit").mkdir(parents=True)
    (system / "images").mkdir(parents=True)
    lines = []

    def rows() -> "object":
        for number in range(count):
            image = [{"bytes": pairs[number % len(pairs)][1], "path": None}]
            yield {
                "id": f"noise-reconstruction-{number:012x}",
                "release_id": f"made:{number}",
                "task": "noise-reconstruction",
                "subtask": None,
                "modality": "CT",
                "instruction": f"Remove the noise of image {number}.",
                "choices": [],
                "input_images": image,
                "output_images": image,
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
        os.link(system / "images" / f"{number % DISTINCT}.png", system / name)
        lines.append({"id": f"noise-reconstruction-{number:012x}", "text": None, "image": name})
    (system / "edit.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return data, system


def backbone(folder: Path) -> Path:
    """Random AlexNet weights: speed and memory do not depend on them."""
    import torch
    from torchvision.models import alexnet

    torch.manual_seed(0)
    path = folder / "alex.pth"
    torch.save(alexnet(weights=None).state_dict(), path)
    return path
