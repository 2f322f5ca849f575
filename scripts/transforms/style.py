"""Style transfer: a colour map or a stain is exchanged, the anatomy stays."""

from __future__ import annotations

import numpy as np

from medgen_scripts.transforms._arrays import require_image
from medgen_scripts.transforms._arrays import to_uint8

# From cold to hot, as infrared cameras show it: grey level -> RGB.
_THERMAL = (
    (0, (0, 0, 0)),
    (50, (40, 0, 110)),
    (100, (150, 0, 140)),
    (150, (230, 70, 40)),
    (205, (255, 180, 0)),
    (255, (255, 255, 225)),
)


def _luminance(image: np.ndarray) -> np.ndarray:
    from PIL import Image

    return image if image.ndim == 2 else np.asarray(Image.fromarray(image).convert("L"))


def thermal(image: np.ndarray) -> np.ndarray:
    """Colours grey levels like a thermal camera: black, violet, magenta, orange, yellow, white. Returns H x W x 3."""
    require_image(image)
    levels = [level for level, _ in _THERMAL]
    table = np.stack([np.interp(np.arange(256), levels, [c[i] for _, c in _THERMAL]) for i in range(3)], axis=1)
    return to_uint8(table)[_luminance(image)]


def negative(image: np.ndarray) -> np.ndarray:
    """255 minus each value: dark bone on light ground, as a radiograph looks in MONOCHROME1."""
    require_image(image)
    return 255 - image


def _restain(image: np.ndarray, source: int, target: int, gain: float) -> np.ndarray:
    from skimage.color import hed2rgb
    from skimage.color import rgb2hed

    require_image(image)
    if image.ndim != 3:
        raise ValueError("stains are separated by colour: expected H x W x 3, got a grey image")
    stains = rgb2hed(image)
    stains[:, :, target] = gain * np.maximum(stains[:, :, source], 0)
    stains[:, :, source] = 0
    return to_uint8(255 * hed2rgb(stains))


def dab_to_eosin(image: np.ndarray, gain: float = 1.0) -> np.ndarray:
    """Recolours an immunohistochemistry image (haematoxylin, DAB) as haematoxylin and eosin.

    Colour deconvolution after Ruifrok and Johnston (2001), scikit-image's matrix; the DAB density, times `gain`, is
    given eosin's colour, haematoxylin stays. Colour only: no antigen or structure is inferred.
    """
    return _restain(image, source=2, target=1, gain=gain)


def eosin_to_dab(image: np.ndarray, gain: float = 1.0) -> np.ndarray:
    """The reverse: the eosin density of an H&E image, times `gain`, is given DAB's brown."""
    return _restain(image, source=1, target=2, gain=gain)


def match_colours(image: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Gives `image` the mean and the spread of `target` in each channel of CIELAB, both uint8 H x W x 3.

    Source: Reinhard et al., Color transfer between images, IEEE CG&A 21 (2001), with CIELAB for their l-alpha-beta.
    """
    from skimage.color import lab2rgb
    from skimage.color import rgb2lab

    require_image(image)
    require_image(target)
    source_lab = rgb2lab(image)
    target_lab = rgb2lab(target)
    axes = (0, 1)
    scaled = (source_lab - source_lab.mean(axes)) * (target_lab.std(axes) / source_lab.std(axes))
    return to_uint8(255 * np.clip(lab2rgb(scaled + target_lab.mean(axes)), 0, 1))
