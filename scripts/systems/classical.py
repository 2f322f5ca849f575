"""`classical`: a named method of scikit-image a task, as a baseline that does something and needs no model.

It sees what a system sees, instruction and input image, never the reference; and none of its methods is the transform
that made the sample's references. Text answers are those of `copy-input`: none, or the first option.
"""

import re
from collections.abc import Callable
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from ..predictions import GIVES
from ..records import Record
from .base import Response

if TYPE_CHECKING:
    from PIL.Image import Image

Method = Callable[[np.ndarray, str], np.ndarray]


def _denoise(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Median filter for impulse noise, non-local means for any other (told from the pixels)."""
    from skimage.filters import median
    from skimage.morphology import disk
    from skimage.restoration import denoise_nl_means
    from skimage.restoration import estimate_sigma

    grey = pixels.mean(axis=2)
    smooth = median(grey, disk(1))
    extreme = (grey <= 1) | (grey >= 254)
    if np.mean(extreme & (np.abs(grey - smooth) > 60)) > 0.01:
        return np.stack([median(pixels[..., channel], disk(1)) for channel in range(3)], axis=2)
    floats = pixels / 255
    sigma = float(np.mean(estimate_sigma(floats, channel_axis=-1)))
    cleaned = denoise_nl_means(floats, h=0.8 * sigma, sigma=sigma, patch_size=5, patch_distance=6, channel_axis=-1)
    return np.uint8(np.clip(cleaned, 0, 1) * 255 + 0.5)


def _artifact(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Total variation denoising (Chambolle): damps ringing and single bright lines."""
    from skimage.restoration import denoise_tv_chambolle

    return np.uint8(np.clip(denoise_tv_chambolle(pixels / 255, weight=0.06, channel_axis=-1), 0, 1) * 255 + 0.5)


_FACTORS = ((r"\b(?:three|3)\s*(?:x|×|times|-?fold)|\bx\s*3\b|\bthreefold\b|\btriple\b|\bone[- ]third\b", 3),)


def _upscale(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Bicubic upscaling by the factor that the instruction names, 2 where it names none."""
    from skimage.transform import resize

    factor = next((value for pattern, value in _FACTORS if re.search(pattern, instruction, re.IGNORECASE)), 2)
    size = (pixels.shape[0] * factor, pixels.shape[1] * factor)
    return np.uint8(np.clip(resize(pixels / 255, size, order=3), 0, 1) * 255 + 0.5)


def _stretch(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Percentile stretch: levels between the 1st and the 99th percentile are spread over the whole range."""
    from skimage.exposure import rescale_intensity

    low, high = np.percentile(pixels, (1, 99))
    return rescale_intensity(pixels, in_range=(low, max(high, low + 1)), out_range=(0, 255)).astype(np.uint8)


def _recolour(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Tint: the picture's brightness in one warm hue, which knows nothing of the wanted style."""
    from skimage.color import rgb2gray

    return np.uint8(rgb2gray(pixels)[..., None] * np.array([255, 170, 60]))


def _annotate(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Yellow outline of the largest bright region (Otsu's threshold)."""
    from skimage.filters import threshold_otsu
    from skimage.measure import label
    from skimage.morphology import dilation
    from skimage.morphology import disk
    from skimage.segmentation import find_boundaries

    grey = pixels.mean(axis=2)
    if grey.min() == grey.max():
        return pixels
    regions = label(grey > threshold_otsu(grey))
    sizes = np.bincount(regions.ravel())
    sizes[0] = 0
    outline = dilation(find_boundaries(regions == sizes.argmax()), disk(1))
    marked = pixels.copy()
    marked[outline] = (255, 255, 0)
    return marked


_MAX_HOLE = 0.25  # of the picture: a black surround is no hole


def _inpaint(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Biharmonic inpainting of flat black or white boxes that don't touch the border; else the input."""
    from skimage.measure import label
    from skimage.measure import regionprops
    from skimage.restoration import inpaint_biharmonic

    flat = np.all(pixels == 0, axis=2) | np.all(pixels == 255, axis=2)
    holes = np.zeros(flat.shape, dtype=bool)
    for region in regionprops(label(flat)):
        top, left, bottom, right = region.bbox
        inside = top > 0 and left > 0 and bottom < flat.shape[0] and right < flat.shape[1]
        if inside and region.extent > 0.95 and 64 <= region.area <= _MAX_HOLE * flat.size:
            holes[region.slice] |= region.image
    if not holes.any():
        return pixels
    filled = inpaint_biharmonic(pixels / 255, holes, split_into_regions=True, channel_axis=-1)
    return np.uint8(np.clip(filled, 0, 1) * 255 + 0.5)


def _keep(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """No classical method does this task: the input as it is."""
    return pixels


METHODS: Mapping[str, tuple[str, Method]] = {
    "noise-reconstruction": ("median or non-local means", _denoise),
    "artifact-removal": ("total variation (Chambolle)", _artifact),
    "resolution-editing": ("bicubic upscaling", _upscale),
    "contrast-enhancement": ("percentile stretch", _stretch),
    "style-transfer": ("warm tint", _recolour),
    "anatomical-annotation": ("Otsu outline", _annotate),
    "organic-removal": ("biharmonic inpainting of flat boxes", _inpaint),
    "organic-reconstruction": ("biharmonic inpainting of flat boxes", _inpaint),
    "instruction-editing": ("none: input kept", _keep),
    "3d-to-2d-projection": ("none: input kept", _keep),
    "2d-to-3d-reconstruction": ("none: input kept", _keep),
    "disease-prediction": ("none: input kept", _keep),
}


class Classical:
    """Image tasks by a classical method; see the module."""

    name = "classical"
    track = "baseline"
    definition: Mapping[str, Any] = {"revision": 1, "methods": {task: name for task, (name, _) in METHODS.items()}}

    def __init__(self, config: str) -> None:
        self.gives = GIVES[config]

    def respond(self, record: Record) -> Response:
        """Answer one record."""
        text = (record.choices[0] if record.choices else "") if "text" in self.gives else None
        if "image" not in self.gives:
            return Response(text)
        name, method = METHODS[record.task]
        return Response(text, _edited(record.input_images[0].open(), method, record.instruction), {"method": name})


def _edited(image: "Image", method: Method, instruction: str) -> "Image":
    from PIL import Image

    return Image.fromarray(method(np.asarray(image.convert("RGB")), instruction))
