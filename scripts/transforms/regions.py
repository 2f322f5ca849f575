"""Regions of an image as boolean masks, drawn from a shape that a data file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

SHAPES = ("box", "ellipse", "polygon")


def box(shape: tuple[int, int], left: int, top: int, right: int, bottom: int) -> np.ndarray:
    """The pixels with left <= x < right and top <= y < bottom."""
    mask = np.zeros(shape, dtype=np.bool_)
    mask[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = True
    return mask


def ellipse(shape: tuple[int, int], x: float, y: float, rx: float, ry: float, degrees: float = 0.0) -> np.ndarray:
    """The pixels inside an ellipse about (x, y); `degrees` turns it counter-clockwise as seen on the screen."""
    from skimage.draw import ellipse as draw

    mask = np.zeros(shape, dtype=np.bool_)
    mask[draw(y, x, ry, rx, shape=shape, rotation=np.deg2rad(degrees))] = True
    return mask


def polygon(shape: tuple[int, int], points: list[tuple[float, float]]) -> np.ndarray:
    """The pixels inside the polygon through `points`, each (x, y)."""
    from skimage.draw import polygon as draw

    mask = np.zeros(shape, dtype=np.bool_)
    mask[draw([y for _, y in points], [x for x, _ in points], shape=shape)] = True
    return mask


def mask(shape: tuple[int, int], region: Mapping[str, Any]) -> np.ndarray:
    """Draws a region given as data: {"box": [left, top, right, bottom]}, {"ellipse": [x, y, rx, ry, degrees]} or
    {"polygon": [[x, y], …]}; a list under "any" unites several.

    Raises:
        ValueError: an unknown shape, more than one, or one that misses the image.
    """
    if len(region) != 1 or next(iter(region)) not in (*SHAPES, "any"):
        raise ValueError(f"a region has one of {', '.join(SHAPES)}, any; got {sorted(region)}")
    kind, value = next(iter(region.items()))
    if kind == "any":
        return np.logical_or.reduce([mask(shape, part) for part in value])
    if kind == "box":
        drawn = box(shape, *value)
    elif kind == "ellipse":
        drawn = ellipse(shape, *value)
    else:
        drawn = polygon(shape, value)
    if not drawn.any():
        raise ValueError(f"the {kind} {value} lies outside an image of {shape[1]} x {shape[0]} pixels")
    return drawn


def bounds(mask: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right, bottom of the mask's pixels; right and bottom exclusive."""
    rows = np.flatnonzero(mask.any(axis=1))
    columns = np.flatnonzero(mask.any(axis=0))
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
