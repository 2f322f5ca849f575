"""Contours and labels: anatomical-annotation's references."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms import _text
from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import require_mask
from medgen_scripts.transforms._arrays import to_rgb


def outline(
    image: np.ndarray,
    mask: np.ndarray,
    label: str,
    at: tuple[int, int],
    colour: tuple[int, int, int] = (255, 255, 0),
    width: int = 2,
    scale: int = 1,
) -> np.ndarray:
    """Draws the contour of a region, and its label.

    Args:
        image: uint8, H x W or H x W x 3.
        mask: boolean, H x W; the contour lies outside the region, so that the region's own pixels stay as they are.
        label: text in ASCII; "" for none.
        at: upper left corner of the label, (x, y).
        colour: RGB of contour and label.
        width: of the contour, in pixels.
        scale: the label's size in multiples of an 11-pixel font.

    Returns:
        uint8, H x W x 3.
    """
    from scipy.ndimage import binary_dilation

    require_image(image)
    require_mask(image, mask)
    drawn = to_rgb(image)
    drawn[binary_dilation(mask, iterations=width) & ~mask] = colour
    if label:
        _text.draw(drawn, label, at[0], at[1], colour, scale)
    return drawn
