"""Local changes by instruction: instruction-editing's references."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms import _text
from medgen_scripts.transforms._arrays import broadcast
from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import require_mask
from medgen_scripts.transforms._arrays import to_rgb
from medgen_scripts.transforms._arrays import to_uint8

Colour = tuple[int, int, int]


def scale_bar(
    image: np.ndarray,
    length: int,
    label: str,
    at: tuple[int, int],
    colour: Colour = (255, 255, 255),
    thickness: int = 3,
) -> np.ndarray:
    """A horizontal bar of `length` pixels with its left end at `at` (x, y), and `label` centred above. H x W x 3."""
    require_image(image)
    x, y = at
    drawn = to_rgb(image)
    drawn[y : y + thickness, x : x + length] = colour
    width, height = _text.size(label)
    _text.draw(drawn, label, x + (length - width) // 2, y - height - 3, colour)
    return drawn


def arrow(
    image: np.ndarray,
    tail: tuple[int, int],
    tip: tuple[int, int],
    colour: Colour = (255, 255, 0),
    width: int = 3,
    head: int = 9,
) -> np.ndarray:
    """A straight arrow from `tail` to `tip`, both (x, y), `width` thick, its head `head` pixels long. H x W x 3."""
    from skimage.draw import polygon

    require_image(image)
    start, end = np.array(tail, dtype=float), np.array(tip, dtype=float)
    along = (end - start) / np.hypot(*(end - start))
    aside = np.array([-along[1], along[0]])
    neck = end - head * along
    corners = [
        start + aside * width / 2,
        neck + aside * width / 2,
        neck + aside * head * 0.6,
        end,
        neck - aside * head * 0.6,
        neck - aside * width / 2,
        start - aside * width / 2,
    ]
    drawn = to_rgb(image)
    drawn[polygon([y for _, y in corners], [x for x, _ in corners], shape=image.shape[:2])] = colour
    return drawn


def inset(
    image: np.ndarray,
    source: tuple[int, int, int, int],
    at: tuple[int, int],
    factor: int = 2,
    colour: Colour = (255, 255, 0),
) -> np.ndarray:
    """Pastes a magnified copy of a box, framed, and frames the box itself.

    Args:
        image: uint8, H x W or H x W x 3.
        source: the box to magnify: left, top, right, bottom, right and bottom exclusive.
        at: upper left corner of the copy, (x, y), without its frame of one pixel.
        factor: whole number; pixels are repeated, nothing is interpolated.
        colour: RGB of both frames.

    Returns:
        uint8, H x W x 3.
    """
    require_image(image)
    left, top, right, bottom = source
    x, y = at
    drawn = to_rgb(image)
    patch = drawn[top:bottom, left:right].repeat(factor, axis=0).repeat(factor, axis=1)
    height, width = patch.shape[:2]
    if x < 1 or y < 1 or y + height >= drawn.shape[0] or x + width >= drawn.shape[1]:
        raise ValueError(f"the copy, {width} x {height} at {at}, and its frame don't fit into {drawn.shape[1::-1]}")
    _frame(drawn, left - 1, top - 1, right, bottom, colour)
    drawn[y : y + height, x : x + width] = patch
    _frame(drawn, x - 1, y - 1, x + width, y + height, colour)
    return drawn


def _frame(image: np.ndarray, left: int, top: int, right: int, bottom: int, colour: Colour) -> None:
    image[[top, bottom], left : right + 1] = colour
    image[top : bottom + 1, [left, right]] = colour


def desaturate(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Turns the masked pixels to grey (Pillow's luminance); the rest stays. H x W x 3."""
    from PIL import Image

    require_image(image)
    require_mask(image, mask)
    if image.ndim != 3:
        raise ValueError("there is no colour to take from a grey image: expected H x W x 3")
    grey = np.asarray(Image.fromarray(image).convert("L"))
    return np.where(mask[:, :, None], grey[:, :, None], image)


def gamma(image: np.ndarray, mask: np.ndarray, exponent: float) -> np.ndarray:
    """Brightens (exponent below 1) or darkens (above 1) the masked pixels by a power law; the rest stays."""
    require_image(image)
    require_mask(image, mask)
    table = to_uint8(255 * np.power(np.arange(256) / 255, exponent))
    return np.where(broadcast(mask, image), table[image], image)


def flip(image: np.ndarray) -> np.ndarray:
    """Mirrors the image left to right."""
    require_image(image)
    return image[:, ::-1].copy()
