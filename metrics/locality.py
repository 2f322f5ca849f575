"""Where an edit took place: scores of the changed and of the kept region apart, and the gain over doing nothing.

Scores over the whole image favour systems that do nothing, since most of a medical image is background that no edit
touches. These figures are diagnostics of this project, not of the published evaluator.

The changed region is where reference and input differ by more than `THRESHOLD` grey levels in any channel, dilated to
`SIDE` x `SIDE` squares; the kept region is the rest. An input of another size is resized to the reference's first.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image
from PIL import ImageChops

from .rows import MetricSpec

THRESHOLD = 10  # grey levels of 255: above what lossy encoding changes, below any visible edit
SIDE = 7  # pixels: SSIM's window, which is how far an edit reaches into its surroundings there

DEFINITION = {"threshold": THRESHOLD, "side": SIDE}

SPECS = (
    MetricSpec("changed_share", 0.0, 1.0),
    MetricSpec("changed_mae", 0.0, 255.0, higher_is_better=False),
    MetricSpec("changed_gain", None, 1.0),
    MetricSpec("kept_mae", 0.0, 255.0, higher_is_better=False),
    MetricSpec("psnr_gain", None, None),
)
"""How the diagnostics are ranged: the changed region's share of the image; the mean absolute error, in grey levels of
255, of the changed and of the kept region; how much of the input's error in the changed region is gone (0 of a copy of
the input, 1 of the reference, negative where the error grew); the PSNR over the input's, in dB."""

COLUMNS = (*(spec.name for spec in SPECS), "input_mse", "input_width", "input_height")
"""All floats that a row may hold for these: also the input's mean squared error and its size."""


def changed_region(difference: Image.Image) -> Image.Image:
    """The changed region, mode L, 255 where changed, else 0.

    Args:
        difference: of reference and input, absolute, 8-bit RGB.
    """
    red, green, blue = difference.split()
    largest = ImageChops.lighter(ImageChops.lighter(red, green), blue)
    is_over = np.asarray(largest) > THRESHOLD
    return Image.fromarray(_dilated(_dilated(is_over).T).T.view(np.uint8) * np.uint8(255))


def _dilated(mask: np.ndarray) -> np.ndarray:
    """Dilated by `SIDE` along the first axis. By shifts that double, a tenth of the time of scipy's filters."""
    reach = SIDE // 2
    found = np.pad(mask, ((reach, reach), (0, 0)))
    covered = 1
    while covered < SIDE:
        step = min(covered, SIDE - covered)
        found = found[:-step] | found[step:]
        covered += step
    return found


class Edit(NamedTuple):
    """An edit as the reference has it, for any number of candidates.

    Attributes:
        reference: the record's image, 8-bit RGB.
        changed: the changed region, mode L.
        input_mse: the input's mean squared error.
        changed_error: the input's summed error in the changed region.
    """

    reference: Image.Image
    changed: Image.Image
    input_mse: float
    changed_error: int

    def compare(self, candidate: Image.Image) -> dict[str, float]:
        """The diagnostics of one candidate, as `locality`."""
        after = ImageChops.difference(candidate, self.reference)
        inside = _error(after.histogram(self.changed))
        whole = _error(after.histogram())
        outside = (whole[0] - inside[0], whole[1] - inside[1])
        found = {"input_mse": self.input_mse, "changed_share": inside[1] / whole[1]}
        if inside[1]:
            found["changed_mae"] = inside[0] / inside[1]
            found["changed_gain"] = 1 - inside[0] / self.changed_error
        if outside[1]:
            found["kept_mae"] = outside[0] / outside[1]
        return found


def edit(reference: Image.Image, source: Image.Image) -> Edit:
    """What `locality` needs of reference and input.

    Args:
        reference: the record's image, 8-bit RGB.
        source: the image that was to be edited, 8-bit RGB, of the same size.
    """
    before = ImageChops.difference(source, reference)
    changed = changed_region(before)
    return Edit(reference, changed, mean_square(before.histogram()), _error(before.histogram(changed))[0])


def locality(candidate: Image.Image, reference: Image.Image, source: Image.Image) -> dict[str, float]:
    """The diagnostics of one edit, without `psnr_gain`.

    Args:
        candidate: the system's image, 8-bit RGB.
        reference: the record's image, 8-bit RGB, of the same size.
        source: the image that was to be edited, 8-bit RGB, of the same size.

    Returns:
        `input_mse`, the input's mean squared error; `changed_share`; `changed_mae` and `changed_gain` unless nothing
        changes; `kept_mae` unless everything does.
    """
    return edit(reference, source).compare(candidate)


def mean_square(counts: Sequence[int]) -> float:
    """Mean square of the values in a histogram of 8-bit channels; summed in integers."""
    return sum((index % 256) ** 2 * count for index, count in enumerate(counts)) / sum(counts)


def _error(counts: Sequence[int]) -> tuple[int, int]:
    """Sum of the errors in a histogram of three channels, and how many there are; exact, in integers."""
    return sum(index % 256 * count for index, count in enumerate(counts)), sum(counts)
