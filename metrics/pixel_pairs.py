"""What the pixel tier does with one pair, and with many; a reference is prepared once for all its candidates."""

import math
import os
from collections.abc import Iterator
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from functools import partial
from typing import Any
from typing import NamedTuple

import numpy as np
from PIL import Image
from PIL import ImageChops

from . import ssim
from .ahead import in_order
from .failures import Unscored
from .images import Picture
from .images import check_type
from .images import read
from .locality import mean_square
from .pairs import Pair
from .pairs import check_window
from .pairs import pair
from .pixel_target import Plan
from .pixel_target import Target
from .pixel_target import picture_of
from .pixel_target import resized

IDENTICAL_PSNR = 100.0  # dB, of identical images in the paper protocol


@dataclass
class Draft:
    """A pair's row in the making.

    Attributes:
        values: as of `Row`.
        reasons: as of `Row`.
        flags: as of `Row`.
        failure: why the pair has no score at all, if so.
        ssim_arrays: candidate and reference, uint8, whose SSIM is computed in a batch; None if none is.
        lpips_array: the candidate, uint8, whose LPIPS is computed in a batch; None if none is.
    """

    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    failure: Unscored | None = None
    ssim_arrays: tuple[np.ndarray, np.ndarray] | None = None
    lpips_array: np.ndarray | None = None


class Source(NamedTuple):
    """One record's images: a candidate a system, the reference, and the input; and its position for messages."""

    candidates: tuple[Any, ...]
    reference: Any
    window: tuple[float, float] | None
    position: int
    edited: Any = None  # the record's input image


class Drafts(NamedTuple):
    """A record's drafts, one a candidate, and what they wait for."""

    target: Target
    rows: list[Draft]


# --- one record -----------------------------------------------------------------------------------------------------


def psnr(mse: float) -> float | None:
    """10 log10(255² / mse) in dB; None of identical images."""
    return 10 * math.log10(255**2 / mse) if mse else None


def mean_squared_error(first: Image.Image, second: Image.Image) -> float:
    """Of two 8-bit RGB images of one size, over all pixels and channels; summed in integers."""
    return mean_square(ImageChops.difference(first, second).histogram())


def draft(plan: Plan, source: Source) -> Drafts:
    """Read a record's images and compute all that is computed pair by pair."""
    several = len(source.candidates) > 1
    target = Target(plan, source.reference, source.edited, source.window, source.position, several)
    return Drafts(target, [_draft(target, candidate, source.position) for candidate in source.candidates])


def _draft(target: Target, source: Any, position: int) -> Draft:
    result = Draft()
    try:
        candidate = _read(target, source, position, result)
        images = pair(candidate, target.picture, target.window, target)
        _compare(target, images, result)
        _against_input(target, candidate, images, result)
    except Unscored as failure:
        result.failure = failure
    return result


def _read(target: Target, source: Any, position: int, result: Draft) -> Picture:
    # The candidate first: whether there is an output does not depend on the reference.
    candidate = picture_of(source, f"predictions[{position}]")
    result.values.update(candidate_width=float(candidate.size[0]), candidate_height=float(candidate.size[1]))
    if candidate.several:
        result.flags.append("several_images")
    width, height = target.picture.size
    result.values.update(reference_width=float(width), reference_height=float(height))
    return candidate


def _against_input(target: Target, candidate: Picture, images: Pair, result: Draft) -> None:
    source = target.input
    if source is None:
        return
    width, height = source.picture.size
    result.values.update(input_width=float(width), input_height=float(height))
    if is_same(candidate, source.picture):
        result.flags.append("no_op")
    result.values.update(source.edit.compare(images.candidate))
    ends = [psnr(result.values["mse"]), psnr(result.values["input_mse"])]
    after, start = (IDENTICAL_PSNR if end is None and target.plan.is_paper else end for end in ends)
    if after is not None and start is not None:
        result.values["psnr_gain"] = after - start


def is_same(first: Picture, second: Picture) -> bool:
    """Whether two images hold the same pixels at the same depth, whatever the files' encoding."""
    if first.size != second.size or first.depth != second.depth:
        return False
    if first.image is not None and second.image is not None:
        return ImageChops.difference(first.image, second.image).getbbox() is None
    return first.levels is not None and second.levels is not None and np.array_equal(first.levels, second.levels)


def _compare(target: Target, images: Pair, result: Draft) -> None:
    plan = target.plan
    result.flags.extend(images.flags)
    result.values["mse"] = mean_squared_error(images.candidate, images.reference)
    is_identical = not result.values["mse"]
    if is_identical:
        result.flags.append("identical")
    if "psnr" in plan.metrics:
        decibels = psnr(result.values["mse"])
        if decibels is None and plan.is_paper:
            decibels = IDENTICAL_PSNR
        if decibels is not None:
            result.values["psnr"] = decibels
    if "ssim" in plan.metrics:
        _ssim(target, images, result)
    if "lpips" in plan.metrics:
        _lpips(target, images, result)


def _ssim(target: Target, images: Pair, result: Draft) -> None:
    plan = target.plan
    if min(images.reference.size) < (ssim.UNIFORM_SIDE if plan.is_paper else ssim.GAUSSIAN_SIDE):
        result.reasons["ssim"] = "too_small"
        return
    arrays = (np.asarray(images.candidate.convert("L" if plan.is_paper else "RGB")), target.for_ssim)
    if plan.batches_ssim:
        result.ssim_arrays = arrays
        return
    compute = ssim.uniform if plan.is_paper else ssim.gaussian
    result.values["ssim"] = compute(*arrays, target.window_sums)


def _lpips(target: Target, images: Pair, result: Draft) -> None:
    plan = target.plan
    if not plan.has_lpips:
        result.reasons[plan.lpips_column] = "weights_missing"
        return
    if target.lpips_shape.is_reduced:
        result.flags.append("lpips_reduced")
    if target.is_too_small_for_lpips:
        result.reasons[plan.lpips_column] = "too_small"
        return
    _ = target.for_lpips  # here, where threads share the work
    result.lpips_array = resized(images.candidate, target.lpips_shape)


# --- many records ---------------------------------------------------------------------------------------------------


def sources(
    predictions: Sequence[Sequence[Any]],
    references: Sequence[Any],
    windows: Sequence[Any] | None,
    inputs: Sequence[Any] | None = None,
) -> list[Source]:
    """Check all inputs before any is read.

    Args:
        predictions: each system's images, one a record.
        references: one a record.
        windows: one a record, or None.
        inputs: one a record, or None.

    Raises:
        TypeError: a value that is no image or no window, with its position.
        ValueError: unequal lengths, an impossible window.
    """
    windows = [None] * len(references) if windows is None else windows
    inputs = [None] * len(references) if inputs is None else inputs
    lengths = {len(given) for given in (*predictions, references, windows, inputs)}
    if len(lengths) > 1:
        counts = ", ".join(str(len(given)) for given in predictions)
        got = f"{counts} predictions, {len(references)} references, {len(windows)} windows"
        raise ValueError(f"expected as many of each; got {got}, {len(inputs)} inputs")
    samples = [
        Source(tuple(candidates), reference, window, index, edited)
        for index, (reference, window, edited, *candidates) in enumerate(
            zip(references, windows, inputs, *predictions, strict=True)
        )
    ]
    for sample in samples:
        for candidate in sample.candidates:
            check_type(candidate, f"predictions[{sample.position}]")
        check_type(sample.reference, f"references[{sample.position}]")
        check_type(sample.edited, f"inputs[{sample.position}]")
        check_window(sample.window, f"windows[{sample.position}]")
    return samples


def drafts(plan: Plan, samples: Sequence[Source]) -> Iterator[Drafts]:
    """`draft` of each sample in order, a few ahead in threads; the values are those of one thread."""
    Image.init()  # registers Pillow's readers, which threads would do at once
    threads = thread_count()
    yield from in_order(partial(draft, plan), samples if threads == 1 else map(_settled, samples), threads)


def thread_count() -> int:
    """Threads for reading and comparing: what the process may use (`OMP_NUM_THREADS`, its processors), 4 at most."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(4, allowed, int(wanted) if wanted.isdigit() else allowed))


def _settled(source: Source) -> Source:
    """PIL images are read by the caller's thread: one object may stand in several samples, and is not safe to share."""
    return source._replace(
        candidates=tuple(settled(candidate, f"predictions[{source.position}]") for candidate in source.candidates),
        reference=settled(source.reference, f"references[{source.position}]"),
        edited=settled(source.edited, f"inputs[{source.position}]"),
    )


def settled(source: Any, where: str) -> Any:
    """A PIL image as it was read, or the failure to; anything else as it is."""
    first = source[0] if isinstance(source, list | tuple) and source else source
    if not isinstance(first, Image.Image):
        return source
    try:
        return read(source, where)
    except Unscored as failure:
        return failure
