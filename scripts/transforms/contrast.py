"""Contrast: compressed for contrast-enhancement's inputs, equalised for its references."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import to_uint8


def compress(image: np.ndarray, factor: float = 0.35, centre: float = 110.0) -> np.ndarray:
    """Pulls all values towards `centre` (grey level): new = centre + factor (old - centre)."""
    require_image(image)
    return to_uint8(centre + factor * (image.astype(np.float64) - centre))


def stretch(image: np.ndarray, low: float, high: float) -> np.ndarray:
    """Maps the grey levels `low`..`high` linearly to 0..255; what lies outside is clipped."""
    require_image(image)
    if low >= high:
        raise ValueError(f"low must be below high; got {low} and {high}")
    return to_uint8((image.astype(np.float64) - low) * (255.0 / (high - low)))


def equalise(image: np.ndarray) -> np.ndarray:
    """Global histogram equalisation; colour images by luminance (Y of YCbCr), which keeps their hue."""
    from PIL import Image
    from PIL import ImageOps

    require_image(image)
    if image.ndim == 2:
        return np.asarray(ImageOps.equalize(Image.fromarray(image)))
    luma, blue, red = Image.fromarray(image).convert("YCbCr").split()
    return np.asarray(Image.merge("YCbCr", (ImageOps.equalize(luma), blue, red)).convert("RGB"))


def clahe(image: np.ndarray, clip_limit: float = 0.01, tiles: int = 8) -> np.ndarray:
    """Contrast-limited adaptive histogram equalisation (scikit-image); colour images by value (V of HSV).

    Args:
        image: uint8, H x W or H x W x 3.
        clip_limit: 0 to 1, higher gives more contrast.
        tiles: tiles along each side.
    """
    from skimage.exposure import equalize_adapthist

    require_image(image)
    tile = (max(1, image.shape[0] // tiles), max(1, image.shape[1] // tiles))
    return to_uint8(255 * equalize_adapthist(image, kernel_size=tile, clip_limit=clip_limit))
