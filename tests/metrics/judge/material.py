"""Small images and records for the judge's tests."""

import io
from typing import Any

import numpy as np
from PIL import Image

from medgen_metrics.judge.prompt import JudgeSample

from ...builders import encoded


def png(image: Any) -> bytes:
    """A PNG of an array [height, width(, channels)] or a PIL image."""
    return encoded(image if isinstance(image, Image.Image) else Image.fromarray(image))


def noise(seed: int, width: int = 40, height: int = 30) -> bytes:
    """A PNG of RGB noise."""
    return png(np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8))


def opened(data: bytes) -> Image.Image:
    """A file's image, loaded."""
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


INPUT, REFERENCE, OUTPUT = noise(1), noise(2), noise(3)

GEN = JudgeSample(
    id="organic-removal-1",
    config="gen",
    task="organic-removal",
    instruction="Remove the left kidney and say what was done.",
    inputs=(INPUT,),
    reference_image=REFERENCE,
    output_image=OUTPUT,
    answer="The left kidney was removed; the spleen is unchanged.",
    response="The kidney on the left was taken out.",
)
EDIT = JudgeSample(
    id="noise-reconstruction-1",
    config="edit",
    task="noise-reconstruction",
    instruction="Remove the noise.",
    inputs=(INPUT,),
    reference_image=REFERENCE,
    output_image=OUTPUT,
)
VQA = JudgeSample(
    id="multiple-choice-1",
    config="vqa",
    task="multiple-choice",
    instruction="In which of the two images is the lesion larger?",
    choices=("A. In the first", "B. In the second"),
    inputs=(INPUT, noise(4)),
    answer="A. In the first",
    response="It is larger in image 1.",
)
