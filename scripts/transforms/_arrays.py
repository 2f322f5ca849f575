"""What every transform checks at its door, and how results go back to 8 bits."""

from __future__ import annotations

import numpy as np


def require_image(image: np.ndarray) -> None:
    """Raises ValueError unless `image` is uint8 and H x W or H x W x 3."""
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or (image.ndim == 3 and image.shape[2] != 3):
        raise ValueError(f"expected a uint8 array, H x W or H x W x 3; got {image.dtype} of shape {image.shape}")


def require_mask(image: np.ndarray, mask: np.ndarray) -> None:
    """Raises ValueError unless `mask` is a boolean H x W array of the image's size with something in it."""
    if mask.dtype != np.bool_ or mask.shape != image.shape[:2]:
        raise ValueError(f"expected a boolean mask of shape {image.shape[:2]}; got {mask.dtype} of shape {mask.shape}")
    if not mask.any():
        raise ValueError("the mask is empty: nothing would change")


def to_uint8(values: np.ndarray) -> np.ndarray:
    """Rounds to the nearest integer and clips to 0..255."""
    return np.clip(np.rint(values), 0, 255).astype(np.uint8)


def to_rgb(image: np.ndarray) -> np.ndarray:
    """A copy as H x W x 3; grey values go to all three channels."""
    return np.repeat(image[:, :, None], 3, axis=2) if image.ndim == 2 else image.copy()


def broadcast(mask: np.ndarray, image: np.ndarray) -> np.ndarray:
    """`mask` with a channel axis where `image` has one."""
    return mask if image.ndim == 2 else mask[:, :, None]
