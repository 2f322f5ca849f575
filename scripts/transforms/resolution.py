"""Downsampling: what resolution-editing asks a system to undo."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms._arrays import require_image

FILTERS = ("lanczos", "area")


def downsample(image: np.ndarray, factor: float = 0.5, method: str = "lanczos") -> np.ndarray:
    """A smaller image; sides are `factor` times the old ones, rounded.

    Args:
        image: uint8, H x W or H x W x 3.
        factor: 0 to 1. The paper uses .5 and .33.
        method: "lanczos", or "area" for the mean over each new pixel's footprint. Pillow does both in integers.
    """
    from PIL import Image

    require_image(image)
    if method not in FILTERS:
        raise ValueError(f"method is one of {', '.join(FILTERS)}; got {method!r}")
    if not 0 < factor < 1:
        raise ValueError(f"factor lies between 0 and 1; got {factor}")
    size = (round(image.shape[1] * factor), round(image.shape[0] * factor))
    resample = Image.Resampling.LANCZOS if method == "lanczos" else Image.Resampling.BOX
    return np.asarray(Image.fromarray(image).resize(size, resample))
