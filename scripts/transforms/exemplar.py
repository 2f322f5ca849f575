"""Filling a region with patches of its surroundings, so that their texture goes on inside it."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import require_mask
from medgen_scripts.transforms.regions import bounds


def fill(image: np.ndarray, mask: np.ndarray, radius: int = 4, reach: int = 40) -> np.ndarray:
    """Fills the mask from outside to inside with the best fitting patches around it.

    In each round the border pixel with the most known pixels around it is taken, and the unknown pixels of the patch
    centered there are copied from the patch, wholly outside the mask, with the smallest squared difference on the known
    ones; every second row and column is looked at. All sums are of integers and exact, so that the result is the same
    everywhere.

    Source: Criminisi, Perez, Toyama, Region filling and object removal by exemplar-based image inpainting, IEEE Trans
    Image Process 13 (2004), with the confidence term as the only priority.

    Args:
        image: uint8, H x W or H x W x 3.
        mask: boolean, H x W.
        radius: half a patch; its side is 2 * radius + 1 pixels.
        reach: patches are looked for up to this many pixels beyond the mask's bounds.

    Raises:
        ValueError: no whole patch lies outside the mask and within reach.
    """
    from numpy.lib.stride_tricks import sliding_window_view

    require_image(image)
    require_mask(image, mask)
    left, top, right, bottom = bounds(mask)
    window = (slice(max(top - reach, 0), bottom + reach), slice(max(left - reach, 0), right + reach))
    values = image[window].astype(np.int32).reshape(*mask[window].shape, -1)
    unknown = mask[window].copy()
    side = 2 * radius + 1
    if min(unknown.shape) < side:
        raise ValueError(f"a patch of {side} x {side} pixels is larger than the image around the mask")
    step = (slice(None, None, 2), slice(None, None, 2))
    usable = ~sliding_window_view(unknown, (side, side))[step].any(axis=(2, 3))
    if not usable.any():
        raise ValueError(f"no patch of {side} x {side} pixels lies outside the mask within {reach} pixels of it")
    patches = sliding_window_view(values, (side, side), axis=(0, 1))[step][usable]
    flat = patches.reshape(len(patches), -1).astype(np.float64)
    squares = flat * flat
    confidence = np.where(unknown, 0, 255)
    while unknown.any():
        row, column = _next(unknown, confidence, radius)
        here = (slice(row - radius, row + radius + 1), slice(column - radius, column + radius + 1))
        wanted = np.moveaxis(values[here], 2, 0)
        known = ~unknown[here]
        weights = np.broadcast_to(known, wanted.shape).ravel().astype(np.float64)
        best = patches[(squares @ weights - 2 * (flat @ (weights * wanted.ravel()))).argmin()]
        values[here][~known] = best[:, ~known].T
        confidence[here][~known] = confidence[here][known].sum() // side**2
        unknown[here] = False
    filled = image.copy()
    filled[window] = values.reshape(image[window].shape).astype(np.uint8)
    return filled


def _next(unknown: np.ndarray, confidence: np.ndarray, radius: int) -> tuple[int, int]:
    """Center of the patch to fill next: on the border, moved so that the patch lies within the array."""
    from scipy.ndimage import binary_erosion

    border = np.argwhere(unknown & ~binary_erosion(unknown, border_value=1))
    centers = np.clip(border, radius, np.array(unknown.shape) - radius - 1)
    total = np.pad(confidence.astype(np.int64).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    low, high = centers - radius, centers + radius + 1
    sums = total[high[:, 0], high[:, 1]] - total[low[:, 0], high[:, 1]] - total[high[:, 0], low[:, 1]]
    row, column = centers[(sums + total[low[:, 0], low[:, 1]]).argmax()]
    return int(row), int(column)
