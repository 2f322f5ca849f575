"""A candidate and its reference, brought to 8-bit RGB by one map and to the reference's size.

Definition: DESIGN section 5, rows *intake* and *size*.
"""

import math
from typing import Any
from typing import NamedTuple
from typing import Protocol

import numpy as np
from PIL import Image

from .failures import Unscored
from .images import ROUNDING
from .images import Picture


class Pair(NamedTuple):
    """A candidate and its reference, both RGB, 8 bits a channel, of the reference's size.

    Attributes:
        candidate: the system's image.
        reference: the record's image.
        flags: `resized`, `aspect_changed`.
    """

    candidate: Image.Image
    reference: Image.Image
    flags: tuple[str, ...]


class Shown(Protocol):
    """What holds a reference at 8 bits, so that it is computed once for all its candidates."""

    @property
    def image(self) -> Image.Image: ...


def pair(
    candidate: Picture,
    reference: Picture,
    window: tuple[float, float] | None = None,
    shown_reference: Shown | None = None,
) -> Pair:
    """Bring a pair to 8 bits by one map, and to the reference's size.

    Deep images go through a fixed map with the same constants on both sides, never one taken from the values: `window`
    if there is one, else the bit depth (16 bits: the high byte; floats: [0, 1]). The candidate is resized by Lanczos.

    Args:
        candidate: the system's image.
        reference: the record's image.
        window: the grey levels shown as black and as white, in the deep images' own units.
        shown_reference: gives `eight_bit(reference, window)`; None computes it here.

    Raises:
        Unscored: `unreadable` where the depths can't be compared, the detail names the rule; `reference_missing` where
            the reference alone declares no range.
    """
    check_depths(candidate.depth, reference.depth, window)
    try:
        target = eight_bit(reference, window) if shown_reference is None else shown_reference.image
    except Unscored as error:
        raise Unscored("reference_missing", error.detail) from error
    shown = eight_bit(candidate, window)
    if shown.size == target.size:
        return Pair(shown, target, ())
    flags = ("resized", "aspect_changed") if _is_aspect_changed(shown.size, target.size) else ("resized",)
    return Pair(shown.resize(target.size, Image.Resampling.LANCZOS), target, flags)


def check_depths(candidate: str, reference: str, window: tuple[float, float] | None) -> None:
    """Whether images of these depths (`Picture.depth`) go through one map.

    Raises:
        Unscored: `unreadable`; the detail names the rule.
    """
    if window is None and candidate.removesuffix(" colour") != reference.removesuffix(" colour"):
        raise Unscored(
            "unreadable",
            f"candidate is {candidate}, reference {reference}: images of different depth have no common "
            "scale unless the record gives a window",
        )


def eight_bit(picture: Picture, window: tuple[float, float] | None = None) -> Image.Image:
    """One image through the fixed map of its depth or `window`; see `pair`.

    Raises:
        Unscored: `unreadable` where its values have no declared range.
    """
    if picture.image is not None:
        if picture.depth != "8-bit" and window is not None:
            raise Unscored("unreadable", "a window applies to grey levels; got 16-bit colour")
        return picture.image
    levels = picture.levels
    assert levels is not None
    if window is not None:
        low, high = window
        levels = np.rint(np.clip((levels - low) / (high - low), 0, 1) * 255)
    elif picture.depth == "16-bit":
        levels = levels // 256
    elif picture.depth == "float":
        if levels.min() < -ROUNDING or levels.max() > 1 + ROUNDING:
            raise Unscored("unreadable", "float values outside [0, 1] have no declared range; give the record's window")
        levels = np.rint(np.clip(levels, 0, 1) * 255)
    else:
        raise Unscored("unreadable", f"{picture.depth} values have no declared range; give the record's window")
    return Image.fromarray(levels.astype(np.uint8)).convert("RGB")


def _is_aspect_changed(size: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether the aspect ratios differ by more than rounding either image to whole pixels explains."""
    gap = abs(size[0] * other[1] - size[1] * other[0])
    return gap > max(sum(size), sum(other)) / 2


def check_window(window: Any, where: str) -> None:
    """Whether `window` is one that `pair` takes.

    Args:
        window: what was given.
        where: its position, for the message.

    Raises:
        TypeError: neither None nor two numbers.
        ValueError: not finite, or black not below white.
    """
    if window is None:
        return
    try:
        black, white = (float(value) for value in window)
    except (TypeError, ValueError):
        raise TypeError(f"{where}: expected None or two numbers (black, white); got {window!r:.80}") from None
    if not (math.isfinite(black) and math.isfinite(white) and black < white):
        raise ValueError(f"{where}: expected finite grey levels, black below white; got {window!r:.80}")
