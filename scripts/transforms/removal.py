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


def blur(image: np.ndarray, mask: np.ndarray, sigma: float = 8.0, feather: float = 0.0) -> np.ndarray:
    """Replaces the masked pixels by the image under a Gaussian blur of `sigma` pixels.

    Args:
        image: uint8, H x W or H x W x 3.
        mask: boolean, H x W; nothing outside it changes.
        sigma: standard deviation of the blur in pixels.
        feather: width in pixels of a band inside the mask's border in which the blur sets in gradually; 0 for none.
    """
    from scipy.ndimage import distance_transform_edt
    from scipy.ndimage import gaussian_filter

    require_image(image)
    require_mask(image, mask)
    sigmas = (sigma, sigma) if image.ndim == 2 else (sigma, sigma, 0)
    sharp = image.astype(np.float64)
    blurred = gaussian_filter(sharp, sigmas)
    share = mask.astype(np.float64)
    if feather > 0:
        share = np.clip(distance_transform_edt(mask) / (feather + 1), 0, 1)
    return to_uint8(sharp + broadcast(share, image) * (blurred - sharp))


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
    _require_border(image, mask)
    window = _around(mask)
    values = image[window].astype(np.float64)
    inside = broadcast(mask[window], image)
    values = _membrane(np.where(inside, image[window][~mask[window]].mean(axis=0), values), inside)
    noise = rng.normal(0.0, grain, mask[window].shape)
    values = values + inside * (noise if image.ndim == 2 else noise[:, :, None])
    filled = image.copy()
    filled[window] = to_uint8(values)
    return filled


def clone(image: np.ndarray, mask: np.ndarray, offset: tuple[int, int]) -> np.ndarray:
    """Fills the mask with another place of the image, shaded so that it meets the pixels around the mask.

    Poisson image editing: what is added to the copied pixels is the smoothest function (Laplace's equation) that takes
    away the difference at the mask's border.

    Source: Perez, Gangnet, Blake, Poisson image editing, ACM Trans Graph 22 (2003), "seamless cloning".

    Args:
        image: uint8, H x W or H x W x 3.
        mask: boolean, H x W.
        offset: from the mask to the place that is copied, (x, y).

    Raises:
        ValueError: that place, with a pixel around it, leaves the image, or the mask covers all of it.
    """
    require_image(image)
    _require_border(image, mask)
    x, y = offset
    rows, columns = window = _around(mask)
    source = (slice(rows.start + y, rows.stop + y), slice(columns.start + x, columns.stop + x))
    copied = image[source] if source[0].start >= 0 and source[1].start >= 0 else image[:0]
    if copied.shape != image[window].shape:
        raise ValueError(f"the place at offset {offset} from the mask leaves the image of {image.shape[1::-1]} pixels")
    inside = broadcast(mask[window], image)
    difference = image[window].astype(np.float64) - copied
    difference = np.where(inside, difference[~mask[window]].mean(axis=0), difference)
    filled = image.copy()
    filled[window] = np.where(inside, to_uint8(copied + _membrane(difference, inside)), image[window])
    return filled


def _require_border(image: np.ndarray, mask: np.ndarray) -> None:
    require_mask(image, mask)
    if mask.all():
        raise ValueError("the mask covers the whole image: there is no border to continue")


def _around(mask: np.ndarray) -> tuple[slice, slice]:
    """The mask's rows and columns, and one more on each side where the image has one."""
    left, top, right, bottom = bounds(mask)
    height, width = mask.shape
    return slice(max(top - 1, 0), min(bottom + 1, height)), slice(max(left - 1, 0), min(right + 1, width))


def _membrane(values: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """Relaxes the values inside until each is the mean of its four neighbors."""
    pad = ((1, 1), (1, 1)) + ((0, 0),) * (values.ndim - 2)
    # A point's influence spreads by diffusion, so the rounds grow with the square of the region's extent.
    for _ in range((min(values.shape[:2]) - 2) ** 2):
        padded = np.pad(values, pad, mode="edge")
        mean = (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:]) / 4
        values = np.where(inside, mean, values)
    return values
