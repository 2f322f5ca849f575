"""Noise models: what noise-reconstruction asks a system to undo.

Random numbers come straight from the generator's `random`, `normal` and `poisson`, whose streams NumPy keeps, rather
than through scikit-image's `random_noise`, whose use of the generator has changed between releases.
"""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import to_uint8


def salt_and_pepper(image: np.ndarray, rng: np.random.Generator, amount: float = 0.05) -> np.ndarray:
    """Sets a share of the pixels to white or black, half each; all channels of a pixel together.

    Args:
        image: uint8, H x W or H x W x 3.
        rng: source of the random numbers.
        amount: share of pixels, 0 to 1. The paper uses .05.
    """
    require_image(image)
    draw = rng.random(image.shape[:2])
    noisy = image.copy()
    noisy[draw < amount / 2] = 0
    noisy[draw >= 1 - amount / 2] = 255
    return noisy


def gaussian(image: np.ndarray, rng: np.random.Generator, sigma: float = 20.0) -> np.ndarray:
    """Adds independent normal noise of standard deviation `sigma`, in grey levels of 0..255."""
    require_image(image)
    return to_uint8(image + rng.normal(0.0, sigma, image.shape))


def rician(image: np.ndarray, rng: np.random.Generator, sigma: float = 20.0) -> np.ndarray:
    """Magnitude of a complex signal with normal noise of `sigma` grey levels in each part: the noise of MR images.

    Source: Gudbjartsson and Patz, The Rician distribution of noisy MRI data, Magn Reson Med 34 (1995).
    """
    require_image(image)
    real = image + rng.normal(0.0, sigma, image.shape)
    imaginary = rng.normal(0.0, sigma, image.shape)
    return to_uint8(np.sqrt(real * real + imaginary * imaginary))


def speckle(image: np.ndarray, rng: np.random.Generator, sigma: float = 0.3) -> np.ndarray:
    """Multiplies each pixel by 1 plus normal noise of standard deviation `sigma` (no unit), one draw for all channels.

    The multiplicative model used for coherent imaging such as ultrasound.
    """
    require_image(image)
    factor = 1 + rng.normal(0.0, sigma, image.shape[:2])
    return to_uint8(image * (factor if image.ndim == 2 else factor[:, :, None]))


def poisson(image: np.ndarray, rng: np.random.Generator, peak: float = 60.0) -> np.ndarray:
    """Photon noise: counts are drawn with `peak` photons expected at white, and scaled back to 0..255."""
    require_image(image)
    return to_uint8(rng.poisson(image * (peak / 255.0)) * (255.0 / peak))
