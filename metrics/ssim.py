"""Structural similarity (Wang et al. 2004), the two variants of DESIGN section 5, for numpy arrays and torch tensors.

Both equal scikit-image's `structural_similarity` with the arguments named below. Window sums are exact integers or
float64: in float32 they are wrong by 1e-2 on bright flat images. Only windows that lie inside the image count, as in
scikit-image.

One code serves both libraries, since it only slices, adds and multiplies: shifted sums over a strip that stays in the
processor's cache took 5 ms for 512x512, four cumulative sums 26 ms, scipy's filters 18 ms, scikit-image 40 ms.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

UNIFORM_SIDE = 7  # pixels of the paper protocol's window
GAUSSIAN_SIDE = 11  # pixels of the standard protocol's window: sigma 1.5 cut at 3.5 sigma
_SIGMA = 1.5
_C1 = (0.01 * 255) ** 2
_C2 = (0.03 * 255) ** 2
_STRIP = 2**15  # pixels worked on at once

_WEIGHTS = [math.exp(-0.5 * (offset / _SIGMA) ** 2) for offset in range(GAUSSIAN_SIDE // 2 + 1)]
_WEIGHTS = [weight / (2 * math.fsum(_WEIGHTS) - _WEIGHTS[0]) for weight in _WEIGHTS]


def uniform(first: np.ndarray, second: np.ndarray, sums: dict[Any, Any] | None = None) -> float:
    """SSIM of the paper protocol: `structural_similarity(first, second, data_range=255)`.

    Args:
        first: grey uint8 [height, width], each side at least `UNIFORM_SIDE`.
        second: the same.
        sums: where window sums of `second` are kept for further calls with it; the value is the same without.
    """
    return _in_strips(_uniform_map, first.astype(np.int32), second.astype(np.int32), UNIFORM_SIDE, sums)


def gaussian(first: np.ndarray, second: np.ndarray, sums: dict[Any, Any] | None = None) -> float:
    """SSIM of the standard protocol.

    Equals `structural_similarity(first, second, data_range=255, channel_axis=-1, gaussian_weights=True, sigma=1.5,
    use_sample_covariance=False)`.

    Args:
        first: RGB uint8 [height, width, 3], each side at least `GAUSSIAN_SIDE`.
        second: the same.
        sums: where window sums of `second` are kept for further calls with it; the value is the same without.
    """
    channels = [
        _in_strips(
            _gaussian_map,
            first[..., channel].astype(float),
            second[..., channel].astype(float),
            GAUSSIAN_SIDE,
            None if sums is None else sums.setdefault(channel, {}),
        )
        for channel in range(3)
    ]
    return math.fsum(channels) / 3


def uniform_batch(first: Any, second: Any) -> list[float]:
    """`uniform` of torch tensors: grey uint8 [batch, height, width] on any device with float64."""
    return _uniform_map(first.int(), second.int()).mean((-2, -1)).tolist()


def gaussian_batch(first: Any, second: Any) -> list[float]:
    """`gaussian` of torch tensors: RGB uint8 [batch, height, width, 3] on any device with float64."""
    first, second = (images.double().movedim(-1, 1) for images in (first, second))
    return _gaussian_map(first, second).mean((-3, -2, -1)).tolist()


def _in_strips(
    similarity: Callable[[Any, Any, dict[str, Any] | None], Any],
    first: np.ndarray,
    second: np.ndarray,
    side: int,
    sums: dict[Any, Any] | None,
) -> float:
    height, width = first.shape
    overlap = side - 1
    rows = max(side, _STRIP // width)
    totals = [
        similarity(
            first[top : top + rows + overlap],
            second[top : top + rows + overlap],
            None if sums is None else sums.setdefault(top, {}),
        ).sum()
        for top in range(0, height - overlap, rows)
    ]
    return math.fsum(totals) / ((height - overlap) * (width - overlap))


def _uniform_map(first: Any, second: Any, sums: dict[str, Any] | None = None) -> Any:
    # Integers throughout: 49 * 49 * 255 * 255 * 2 < 2 ** 31. The window's 49 and the sample covariance's 48 cancel.
    count = UNIFORM_SIDE**2
    if sums is None:
        sum_2 = _box_sums(second)
        squares = _box_sums(first * first + second * second)
    else:
        if not sums:
            sums.update(first=_box_sums(second), second=_box_sums(second * second))
        sum_2 = sums["first"]
        squares = _box_sums(first * first) + sums["second"]
    sum_1 = _box_sums(first)
    products = _box_sums(first * second)
    means = sum_1 * sum_2
    mean_squares = sum_1 * sum_1 + sum_2 * sum_2
    covariance = _double(count * products - means)
    variances = _double(count * squares - mean_squares)
    c1, c2 = _C1 * count**2, _C2 * count * (count - 1)
    similarity = (2 * _double(means) + c1) * (2 * covariance + c2)
    return similarity / ((_double(mean_squares) + c1) * (variances + c2))


def _gaussian_map(first: Any, second: Any, sums: dict[str, Any] | None = None) -> Any:
    # Only the means are kept: the squares of both are averaged as one sum, and floats add up to other bits in parts.
    if sums is None:
        mean_2 = _gaussian_means(second)
    else:
        if not sums:
            sums["first"] = _gaussian_means(second)
        mean_2 = sums["first"]
    mean_1 = _gaussian_means(first)
    squares = _gaussian_means(first * first + second * second)
    products = _gaussian_means(first * second)
    means = mean_1 * mean_2
    mean_squares = mean_1 * mean_1 + mean_2 * mean_2
    similarity = (2 * means + _C1) * (2 * (products - means) + _C2)
    return similarity / ((mean_squares + _C1) * (squares - mean_squares + _C2))


def _box_sums(values: Any) -> Any:
    """Sums over all 7x7 windows that lie inside."""
    return _sums_of_seven(_sums_of_seven(values, 0), 1)


def _sums_of_seven(values: Any, axis: int) -> Any:
    count = values.shape[axis - 2] - 6
    pairs = _part(values, axis, 0, count + 5) + _part(values, axis, 1, count + 5)
    fours = _part(pairs, axis, 0, count) + _part(pairs, axis, 2, count)
    return fours + _part(pairs, axis, 4, count) + _part(values, axis, 6, count)


def _gaussian_means(values: Any) -> Any:
    """Weighted means over all 11x11 windows that lie inside."""
    return _weighted(_weighted(values, 0), 1)


def _weighted(values: Any, axis: int) -> Any:
    radius = GAUSSIAN_SIDE // 2
    count = values.shape[axis - 2] - 2 * radius
    total = _part(values, axis, radius, count) * _WEIGHTS[0]
    for offset in range(1, radius + 1):
        sides = _part(values, axis, radius - offset, count) + _part(values, axis, radius + offset, count)
        total = total + sides * _WEIGHTS[offset]
    return total


def _part(values: Any, axis: int, start: int, count: int) -> Any:
    """`count` rows (axis 0) or columns (axis 1) of the last two axes, from `start` on."""
    part = slice(start, start + count)
    return values[..., part, :] if axis == 0 else values[..., part]


def _double(values: Any) -> Any:
    return values.astype(np.float64) if isinstance(values, np.ndarray) else values.double()
