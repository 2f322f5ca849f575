"""Removing an organ or filling a region: organic-removal's references and organic-reconstruction's inputs."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms._arrays import broadcast
from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import require_mask
from medgen_scripts.transforms._arrays import to_uint8
from medgen_scripts.transforms.regions import bounds


def black_fill(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Sets the masked pixels to 0. `mask`: boolean, H x W."""
    require_image(image)
    require_mask(image, mask)
    filled = image.copy()
    filled[mask] = 0
    return filled


def blur(image: np.ndarray, mask: np.ndarray, sigma: float = 8.0) -> np.ndarray:
    """Replaces the masked pixels by the image under a Gaussian blur of `sigma` pixels."""
    from scipy.ndimage import gaussian_filter

    require_image(image)
    require_mask(image, mask)
    sigmas = (sigma, sigma) if image.ndim == 2 else (sigma, sigma, 0)
    blurred = to_uint8(gaussian_filter(image.astype(np.float64), sigmas))
    return np.where(broadcast(mask, image), blurred, image)


def inpaint(image: np.ndarray, mask: np.ndarray, rng: np.random.Generator, grain: float = 3.0) -> np.ndarray:
    """Continues the surroundings into the mask: each masked pixel becomes the mean of its four neighbours.

    Solves Laplace's equation in the mask, with the pixels around it as the border, by relaxation.

    Args:
        image: uint8, H x W or H x W x 3.
        mask: boolean, H x W; must leave a pixel of the image outside.
        rng: source of the grain.
        grain: standard deviation in grey levels of normal noise added inside, so that the patch isn't glassy; may be 0.
    """
    require_image(image)
    require_mask(image, mask)
    if mask.all():
        raise ValueError("the mask covers the whole image: there is no border to continue")
    left, top, right, bottom = bounds(mask)
    window = (slice(max(top - 1, 0), bottom + 1), slice(max(left - 1, 0), right + 1))
    values = image[window].astype(np.float64)
    inside = broadcast(mask[window], image)
    values = np.where(inside, image[window][~mask[window]].mean(axis=0), values)
    pad = ((1, 1), (1, 1)) + ((0, 0),) * (image.ndim - 2)
    # A point's influence spreads by diffusion, so the rounds grow with the square of the mask's extent.
    for _ in range(min(right - left, bottom - top) ** 2):
        padded = np.pad(values, pad, mode="edge")
        mean = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
        values = np.where(inside, mean, values)
    noise = rng.normal(0.0, grain, mask[window].shape)
    values = values + inside * (noise if image.ndim == 2 else noise[:, :, None])
    filled = image.copy()
    filled[window] = to_uint8(values)
    return filled
