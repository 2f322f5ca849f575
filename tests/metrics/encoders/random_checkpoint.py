"""A small MedImageInsight with random weights, and images for it: equal wherever they are made.

Numbers come from `numpy.random.RandomState`, whose stream NumPy promises not to change.
"""

from collections.abc import Mapping
from collections.abc import Sequence

import numpy as np
from PIL import Image

# The published `config.yaml`, narrower and less deep.
SIZES = {"DIM_EMBED": [16, 32, 64, 128], "NUM_HEADS": [2, 4, 8, 16], "DEPTHS": [1, 1, 2, 1]}
PROJECTION = 32
SEED = 2410


def weights(shapes: Mapping[str, Sequence[int]]) -> dict[str, np.ndarray]:
    """Weights that let an image's content through to the embedding, as freshly initialised ones hardly do.

    Args:
        shapes: a tensor's name -> its shape.

    Returns:
        Name -> float32 values, drawn in the order of names.
    """
    random = np.random.RandomState(SEED)
    made = {}
    for name in sorted(shapes):
        values = random.standard_normal(tuple(shapes[name]))
        if len(shapes[name]) > 1:
            fan_in = shapes[name][0] if name.endswith("projection") else int(np.prod(shapes[name][1:]))
            values *= 2 / np.sqrt(fan_in)
        else:
            values = values * 0.3 + (1.0 if name.endswith("weight") else 0.0)
        made[name] = values.astype(np.float32)
    return made


def images() -> list[Image.Image]:
    """Five RGB images of various sizes: noise, a ramp, a disc, blocks, and one of a single pixel's width."""
    random = np.random.RandomState(SEED + 1)
    ramp = np.add.outer(np.arange(300), np.arange(200)) * 255 // 498
    rows, columns = np.mgrid[:480, :480]
    disc = np.where((rows - 200) ** 2 + (columns - 260) ** 2 < 120**2, 220, 15)
    blocks = np.kron(random.randint(0, 256, (5, 8, 3)), np.ones((97, 83, 1), int))
    arrays = [
        random.randint(0, 256, (64, 64, 3)),
        np.stack([ramp, ramp[::-1], ramp // 2], axis=-1),
        np.stack([disc] * 3, axis=-1),
        blocks,
        random.randint(0, 256, (33, 1, 3)),
    ]
    return [Image.fromarray(array.astype(np.uint8)) for array in arrays]
