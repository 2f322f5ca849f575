"""`classical`: a named method of scikit-image or SciPy a task, as a baseline that does something and needs no model.

It sees what a system sees, instruction and input image, never the reference; and none of its methods is the transform
that made the sample's references. Text answers are those of `copy-input`: the first option, or none.
"""

import re
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import numpy as np
from PIL import Image

from medgen_metrics import images

from ..prediction import GIVES
from ..records import Record
from .base import Response
from .baselines import TRACK
from .baselines import first_option

Method = Callable[[np.ndarray, str], np.ndarray]  # H x W x 3 uint8 pixels and the instruction, to pixels of any size


def _to_uint8(unit: np.ndarray) -> np.ndarray:
    """Rounds pixels of the unit range to 8 bits."""
    return (np.clip(unit, 0, 1) * 255 + 0.5).astype(np.uint8)


def _denoise(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Median filter for impulse noise, non-local means for any other; which it is, the pixels tell."""
    from scipy.ndimage import median_filter
    from skimage.restoration import denoise_nl_means
    from skimage.restoration import estimate_sigma

    smooth = median_filter(pixels, size=(3, 3, 1))
    # An impulse is black or white amid something else; 1 % of them can't be anatomy.
    extreme = np.all(pixels <= 1, axis=2) | np.all(pixels >= 254, axis=2)
    jump = np.abs(pixels.astype(int) - smooth).max(axis=2) > 60
    if np.mean(extreme & jump) > 0.01:
        return smooth
    unit = pixels / 255
    if pixels.min() == pixels.max():
        return pixels  # nothing to estimate noise from
    sigma = float(np.mean(estimate_sigma(unit, channel_axis=-1)))
    # 0.6 sigma is what scikit-image's documentation advises for the fast variant.
    cleaned = denoise_nl_means(unit, h=0.6 * sigma, sigma=sigma, patch_size=5, patch_distance=6, channel_axis=-1)
    return _to_uint8(cleaned)


_LINE = 0.12  # of the range: how far a line must stand out from its neighbours over much of its length
_LINE_REACH = 9  # pixels: the median window, so that lines up to 4 thick are found


def _remove_artifact(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Interpolation over lines that cross the whole picture; where there are none, total variation (Chambolle)."""
    from skimage.restoration import denoise_tv_chambolle

    unit = pixels / 255
    for axis in (0, 1):
        lines = _lines(unit.mean(axis=2), axis)
        if lines.any():
            return _to_uint8(_interpolate(unit, lines, axis))
    return _to_uint8(denoise_tv_chambolle(unit, weight=0.03, channel_axis=-1))


def _lines(grey: np.ndarray, axis: int) -> np.ndarray:
    """Which rows (axis 0) or columns (axis 1) stand out from a median across them, beyond what the others do."""
    from scipy.ndimage import median_filter

    across = (_LINE_REACH, 1) if axis == 0 else (1, _LINE_REACH)
    rest = np.abs(grey - median_filter(grey, size=across))
    share = np.mean(rest > _LINE, axis=1 - axis)
    spread = np.median(np.abs(share - np.median(share)))
    lines = (share > 0.3) & (share > np.median(share) + 8 * spread)
    # Lines are few and thin: a texture that stands out everywhere is no artifact.
    return lines if lines.mean() < 0.1 else np.zeros_like(lines)


def _interpolate(unit: np.ndarray, lines: np.ndarray, axis: int) -> np.ndarray:
    from scipy.interpolate import interp1d

    # One pixel on both sides goes too: lines have soft edges.
    good = np.flatnonzero(~np.convolve(lines, np.ones(3), mode="same").astype(bool))
    values = np.take(unit, good, axis=axis)
    return interp1d(good, values, axis=axis, bounds_error=False, fill_value="extrapolate")(np.arange(len(lines)))


_SIZE = re.compile(r"\b(\d{1,5})\s*(?:x|×|by)\s*(\d{1,5})\b", re.IGNORECASE)
_FACTORS = (
    (
        re.compile(
            r"\b(?:x|×)\s?([2-8])\b|\b([2-8])\s?(?:x|×|times|-?fold)(?!\w)|\bfactor (?:of )?([2-8])\b", re.IGNORECASE
        ),
        0,
    ),
    (re.compile(r"\b(?:a|one)[- ]third\b|\b0?\.33\b|\bthree(?:fold| times)\b|\btriple\b", re.IGNORECASE), 3),
    (re.compile(r"\b(?:a|one)[- ](?:quarter|fourth)\b|\b0?\.25\b|\bfour(?:fold| times)\b", re.IGNORECASE), 4),
)
_MAX_SIDE = 4096  # pixels: an instruction is data, and must not fill the memory


def upscaled_size(instruction: str, height: int, width: int) -> tuple[int, int]:
    """Height and width that an instruction asks for: named in pixels, or by a factor; twice the input's otherwise.

    >>> upscaled_size("Bring it back to 376 x 288 pixels.", height=144, width=188)
    (288, 376)
    >>> upscaled_size("It was reduced to a third of its width and height.", height=74, width=74)
    (222, 222)
    """
    named = _SIZE.search(instruction)
    if named is not None:
        size = int(named[2]), int(named[1])
    else:
        factor = next(
            (_factor(found, fixed) for pattern, fixed in _FACTORS if (found := pattern.search(instruction))), 2
        )
        size = height * factor, width * factor
    return max(1, min(size[0], _MAX_SIDE)), max(1, min(size[1], _MAX_SIDE))


def _factor(found: "re.Match[str]", fixed: int) -> int:
    return fixed or int(next(filter(None, found.groups())))


def _upscale(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Bicubic interpolation to the size that the instruction asks for."""
    from skimage.transform import resize

    return _to_uint8(resize(pixels / 255, upscaled_size(instruction, *pixels.shape[:2]), order=3))


def _stretch(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Percentile stretch: the levels between the 1st and the 99th percentile are spread over the whole range."""
    from skimage.exposure import rescale_intensity

    low, high = np.percentile(pixels, (1, 99))
    levels = rescale_intensity(pixels / 255, in_range=(low / 255, max(high, low + 1) / 255), out_range=(0, 1))
    return _to_uint8(levels)


def _tint(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """The picture's brightness in one warm hue, which knows nothing of the style that is wanted."""
    from skimage.color import rgb2gray

    return _to_uint8(rgb2gray(pixels)[..., None] * np.array([1.0, 0.67, 0.24]))


def _annotate(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """A yellow outline of the largest bright region (Otsu's threshold); no label."""
    from skimage.filters import threshold_otsu
    from skimage.measure import label
    from skimage.segmentation import find_boundaries

    grey = pixels.mean(axis=2)
    if grey.min() == grey.max():
        return pixels
    regions = label(grey > threshold_otsu(grey))
    sizes = np.bincount(regions.ravel())
    sizes[0] = 0
    marked = pixels.copy()
    marked[find_boundaries(regions == sizes.argmax(), mode="thick")] = (255, 255, 0)
    return marked


_HOLE = (0.002, 0.25)  # share of the picture that a hole covers: neither a speck nor a black surround
_HOLE_SIDE = 96  # pixels: larger holes are filled at a lower resolution, since the equations grow with their area


def _inpaint(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """Biharmonic inpainting of the largest black or white box or ellipse; the input where there is none."""
    hole = _hole(pixels)
    if hole is None:
        return pixels
    return _fill(pixels, hole)


def _hole(pixels: np.ndarray) -> np.ndarray | None:
    """The largest evenly black or white region that is shaped like a drawn mask: a box, or a convex blob.

    Returns:
        A boolean H x W mask, or None.
    """
    from skimage.measure import label
    from skimage.measure import regionprops
    from skimage.morphology import dilation
    from skimage.morphology import disk
    from skimage.morphology import opening

    best: tuple[float, np.ndarray] | None = None
    for value in (0, 255):
        flat = np.all(pixels == value, axis=2)
        # Opening cuts a mask free of dark anatomy that it touches by a few pixels; what it took of the mask comes back.
        regions = label(opening(flat, disk(2)))
        for region in regionprops(regions):
            share = region.area / flat.size
            drawn = region.extent > 0.9 or region.solidity > 0.93
            if _HOLE[0] <= share <= _HOLE[1] and drawn and (best is None or share > best[0]):
                best = (share, dilation(regions == region.label, disk(2)) & flat)
    return None if best is None else best[1]


def _fill(pixels: np.ndarray, hole: np.ndarray) -> np.ndarray:
    from skimage.restoration import inpaint_biharmonic
    from skimage.transform import resize

    rows, columns = np.flatnonzero(hole.any(axis=1)), np.flatnonzero(hole.any(axis=0))
    # The equations look two pixels far; a margin of 16 leaves the reduced picture enough of them.
    top, bottom = max(rows[0] - 16, 0), rows[-1] + 17
    left, right = max(columns[0] - 16, 0), columns[-1] + 17
    around, inside = pixels[top:bottom, left:right] / 255, hole[top:bottom, left:right]
    shrink = min(1.0, _HOLE_SIDE / max(np.ptp(rows), np.ptp(columns)))
    small = tuple(max(1, round(side * shrink)) for side in inside.shape)
    # A reduced pixel that saw any of the hole is unknown: black must not seep into the known ones.
    unknown = resize(inside.astype(float), small, order=1, anti_aliasing=shrink < 1) > 1e-6
    known = resize(around, small, order=1, anti_aliasing=shrink < 1)
    filled = resize(inpaint_biharmonic(known, unknown, channel_axis=-1), inside.shape, order=1)
    result = pixels.copy()
    result[top:bottom, left:right][inside] = _to_uint8(filled)[inside]
    return result


def _keep(pixels: np.ndarray, instruction: str) -> np.ndarray:
    """No classical method does this task without a segmentation or a volume: the input as it is."""
    return pixels


METHODS: Mapping[str, tuple[str, Method]] = {
    "noise-reconstruction": ("median 3x3, or non-local means", _denoise),
    "artifact-removal": ("interpolation over outlying lines, or total variation (Chambolle)", _remove_artifact),
    "resolution-editing": ("bicubic upscaling", _upscale),
    "contrast-enhancement": ("percentile stretch", _stretch),
    "style-transfer": ("warm tint", _tint),
    "anatomical-annotation": ("Otsu outline", _annotate),
    "organic-removal": ("none: input kept", _keep),
    "organic-reconstruction": ("biharmonic inpainting of a drawn mask", _inpaint),
    "instruction-editing": ("none: input kept", _keep),
    "3d-to-2d-projection": ("none: input kept", _keep),
    "2d-to-3d-reconstruction": ("none: input kept", _keep),
    "disease-prediction": ("none: input kept", _keep),
}


class Classical:
    """Image tasks by a classical method; see the module."""

    name = "classical"
    track = TRACK
    takes = gives = ("text", "image")
    definition: Mapping[str, Any] = {"revision": 2, "methods": {task: name for task, (name, _) in METHODS.items()}}

    def __init__(self, config: str) -> None:
        self._wanted = GIVES[config]

    def respond(self, record: Record) -> Response:
        """Answer one record."""
        text = first_option(record) if "text" in self._wanted else None
        if "image" not in self._wanted:
            return Response(text)
        name, method = METHODS[record.task]
        pixels = method(_read(record), record.instruction)
        return Response(text, Image.fromarray(pixels), {"method": name})


def _read(record: Record) -> np.ndarray:
    """The first input image as it is scored: upright, 8-bit RGB."""
    picture = images.read(record.input_images[0].data)
    if picture.image is None:
        raise ValueError(f"expected an 8-bit image, got a {picture.depth} one")
    return np.asarray(picture.image)
