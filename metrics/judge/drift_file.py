"""The file of kept probes: samples with their images, and the scores that they had.

It holds the images themselves, so that a later run needs neither the data set nor the same edition of it; share it only
where the images may be shared.
"""

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .prompt import JudgeSample

FORMAT = "medgen-bench/judge-probes@1"
_IMAGES = ("inputs", "reference_image", "output_image")


def pack(sample: JudgeSample, images: dict[str, str]) -> dict[str, Any]:
    """A sample as JSON.

    Args:
        sample: what to pack.
        images: SHA-256 -> base64 of image files; the sample's are added.
    """

    def put(data: bytes | None) -> str | None:
        if data is None:
            return None
        name = hashlib.sha256(data).hexdigest()
        images[name] = base64.b64encode(data).decode("ascii")
        return name

    fields = {name: getattr(sample, name) for name in JudgeSample.__slots__ if name not in _IMAGES}
    return fields | {
        "choices": list(sample.choices),
        "inputs": [put(data) for data in sample.inputs],
        "reference_image": put(sample.reference_image),
        "output_image": put(sample.output_image),
    }


def unpack(fields: Mapping[str, Any], images: Mapping[str, str]) -> JudgeSample:
    """The sample that `pack` packed.

    Raises:
        KeyError, TypeError, ValueError: something is missing or damaged.
    """

    def get(name: str | None) -> bytes | None:
        if name is None:
            return None
        data = base64.b64decode(images[name], validate=True)
        if hashlib.sha256(data).hexdigest() != name:
            raise ValueError(f"image {name[:16]}…: its content is another than when it was kept")
        return data

    rest = {name: value for name, value in fields.items() if name not in _IMAGES}
    return JudgeSample(
        **rest
        | {
            "choices": tuple(fields["choices"]),
            "inputs": tuple(data for name in fields["inputs"] if (data := get(name)) is not None),
            "reference_image": get(fields["reference_image"]),
            "output_image": get(fields["output_image"]),
        }
    )


def read(path: Path) -> tuple[dict[str, Any], list[tuple[JudgeSample, list[dict[str, float]]]]]:
    """A file's content, and its samples with their repeats.

    Raises:
        ValueError: it can't be read, or is none of these files.
    """
    remedy = "Write one with `medgen-bench judge-check --save`."
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: expected a file of kept probes, got {error}. {remedy}") from error
    if not isinstance(saved, dict) or saved.get("format") != FORMAT:
        got = saved.get("format") if isinstance(saved, dict) else type(saved).__name__
        raise ValueError(f"{path}: expected format {FORMAT!r}, got {got!r}. {remedy}")
    try:
        kept = [
            (unpack(entry["sample"], saved["images"]), [_numbers(scores) for scores in entry["repeats"]])
            for entry in saved["sentinels"]
        ]
        saved["definition"]["views"], saved["definition"]["judges"], saved["dimensions"], saved["fingerprints"].items()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path}: damaged: {type(error).__name__}: {error}. {remedy}") from error
    return saved, kept


def _numbers(scores: Mapping[str, Any]) -> dict[str, float]:
    if odd := [name for name, score in scores.items() if isinstance(score, bool) or not isinstance(score, int | float)]:
        raise ValueError(f"expected numbers as scores, got {scores[odd[0]]!r:.40} of {odd[0]}")
    return {name: float(score) for name, score in scores.items()}
