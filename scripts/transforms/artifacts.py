"""MR artifacts: what artifact-removal asks a system to undo."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import to_uint8

SEVERITIES = ("mild", "moderate", "severe")

# Lines, their width in pixels, and the amplitude in grey levels.
_ZIPPER = {"mild": (1, 1, 90), "moderate": (2, 2, 130), "severe": (4, 3, 180)}
# Share of k-space kept along the axis.
_TRUNCATION = {"mild": 0.6, "moderate": 0.4, "severe": 0.25}


def _setting(table: dict, severity: str) -> tuple:
    if severity not in table:
        raise ValueError(f"severity is one of {', '.join(SEVERITIES)}; got {severity!r}")
    return table[severity]


def zipper(image: np.ndarray, rng: np.random.Generator, severity: str = "moderate", axis: int = 0) -> np.ndarray:
    """Dashed bright and dark lines across the whole image, as radio-frequency interference leaves them.

    Args:
        image: uint8, H x W or H x W x 3.
        rng: places the lines and draws their dashes.
        severity: mild (one line, 1 pixel), moderate (two, 2 pixels) or severe (four, 3 pixels).
        axis: 0 for lines that run down the image, 1 for lines that run across it.
    """
    require_image(image)
    lines, width, amplitude = _setting(_ZIPPER, severity)
    canvas = np.moveaxis(image.astype(np.int16), axis, 0)
    length, across = canvas.shape[:2]
    # One line in each of `lines` equal bands keeps them apart and inside the image.
    band = across / lines
    for line in range(lines):
        start = int((line + 0.2 + 0.6 * rng.random()) * band)
        dashes = np.where(rng.random((length, 1)) < 0.5, -amplitude, amplitude).astype(np.int16)
        stripe = canvas[:, start : start + width]
        stripe += dashes if image.ndim == 2 else dashes[:, :, None]
    return np.clip(np.moveaxis(canvas, 0, axis), 0, 255).astype(np.uint8)


def truncation(image: np.ndarray, severity: str = "moderate", axis: int = 0) -> np.ndarray:
    """Gibbs ringing: the high spatial frequencies along one axis are cut off, the size stays.

    Args:
        image: uint8, H x W or H x W x 3.
        severity: share of k-space kept along the axis: mild .6, moderate .4, severe .25.
        axis: 0 cuts vertical frequencies (ringing above and below edges), 1 horizontal ones.
    """
    require_image(image)
    kept = _setting(_TRUNCATION, severity)
    spectrum = np.fft.rfft(image.astype(np.float64), axis=axis)
    size = spectrum.shape[axis]
    beyond = np.arange(size) >= round(size * kept)
    shape = [1] * image.ndim
    shape[axis] = size
    spectrum = np.where(beyond.reshape(shape), 0, spectrum)
    return to_uint8(np.abs(np.fft.irfft(spectrum, n=image.shape[axis], axis=axis)))
