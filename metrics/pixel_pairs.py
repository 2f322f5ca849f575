"""What the pixel tier does with one pair, what it does with many at once, and how it keeps both flat in memory."""

import math
import os
from collections import deque
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import NamedTuple

import numpy as np
from PIL import Image
from PIL import ImageChops

from . import lpips_model
from . import ssim
from .failures import Unscored
from .images import Picture
from .images import check_type
from .images import read
from .locality import locality
from .locality import mean_square
from .pairs import Pair
from .pairs import check_window
from .pairs import pair

PAPER_LPIPS_SIDE = 256  # pixels: the paper protocol squashes both images to this square
STANDARD_LPIPS_PIXELS = 2**20  # larger pairs are reduced to this area, both alike, keeping their aspect
IDENTICAL_PSNR = 100.0  # dB, of identical images in the paper protocol

_AHEAD = 8  # pairs read before they are asked for

Arrays = tuple[np.ndarray, np.ndarray]


class Plan(NamedTuple):
    """What is computed of each pair.

    Attributes:
        is_paper: which protocol.
        metrics: which of `ssim`, `psnr`, `lpips`.
        lpips_net: the network.
        lpips_column: its name among the values.
        has_lpips: whether the network's weights are here.
        batches_ssim: whether SSIM waits for a batch (on a GPU), as LPIPS does.
    """

    is_paper: bool
    metrics: tuple[str, ...]
    lpips_net: str
    lpips_column: str
    has_lpips: bool
    batches_ssim: bool


@dataclass
class Draft:
    """A pair's row in the making.

    Attributes:
        values: as of `Row`.
        reasons: as of `Row`.
        flags: as of `Row`.
        failure: why the pair has no score at all, if so.
        waiting: column -> the two uint8 arrays whose value is computed in a batch.
    """

    values: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)
    failure: Unscored | None = None
    waiting: dict[str, Arrays] = field(default_factory=dict)


class Source(NamedTuple):
    """One sample's inputs, and its position for messages."""

    candidate: Any
    reference: Any
    window: tuple[float, float] | None
    position: int
    edited: Any = None  # the record's input image


# --- one pair -------------------------------------------------------------------------------------------------------


def psnr(mse: float) -> float | None:
    """10 log10(255² / mse) in dB; None of identical images."""
    return 10 * math.log10(255**2 / mse) if mse else None


def mean_squared_error(first: Image.Image, second: Image.Image) -> float:
    """Of two 8-bit RGB images of one size, over all pixels and channels; summed in integers."""
    return mean_square(ImageChops.difference(first, second).histogram())


def draft(plan: Plan, source: Source) -> Draft:
    """Read a pair and compute all that is computed pair by pair."""
    result = Draft()
    try:
        candidate, reference = _read(source, result)
        images = pair(candidate, reference, source.window)
        _compare(plan, images, result)
        if source.edited is not None:
            _against_input(plan, source, candidate, reference, images, result)
    except Unscored as failure:
        result.failure = failure
    return result


def _read(source: Source, result: Draft) -> tuple[Picture, Picture]:
    # The candidate first: whether there is an output does not depend on the reference.
    candidate = _picture(source.candidate, f"predictions[{source.position}]")
    result.values.update(candidate_width=float(candidate.size[0]), candidate_height=float(candidate.size[1]))
    if candidate.several:
        result.flags.append("several_images")
    try:
        reference = _picture(source.reference, f"references[{source.position}]")
    except Unscored as error:
        raise Unscored("reference_missing", str(error)) from error
    result.values.update(reference_width=float(reference.size[0]), reference_height=float(reference.size[1]))
    return candidate, reference


def _against_input(
    plan: Plan, source: Source, candidate: Picture, reference: Picture, images: Pair, result: Draft
) -> None:
    try:
        edited = _picture(source.edited, f"inputs[{source.position}]")
        before = pair(edited, reference, source.window).candidate
    except Unscored:
        return  # the scores don't depend on the input: only its diagnostics don't apply
    result.values.update(input_width=float(edited.size[0]), input_height=float(edited.size[1]))
    if is_same(candidate, edited):
        result.flags.append("no_op")
    result.values.update(locality(images.candidate, images.reference, before))
    ends = [psnr(result.values["mse"]), psnr(result.values["input_mse"])]
    after, start = (IDENTICAL_PSNR if end is None and plan.is_paper else end for end in ends)
    if after is not None and start is not None:
        result.values["psnr_gain"] = after - start


def is_same(first: Picture, second: Picture) -> bool:
    """Whether two images hold the same pixels at the same depth, whatever the files' encoding."""
    if first.size != second.size or first.depth != second.depth:
        return False
    if first.image is not None and second.image is not None:
        return ImageChops.difference(first.image, second.image).getbbox() is None
    return first.levels is not None and second.levels is not None and np.array_equal(first.levels, second.levels)


def _picture(source: Any, where: str) -> Picture:
    if isinstance(source, Unscored):
        raise source
    return source if isinstance(source, Picture) else read(source, where)


def _compare(plan: Plan, images: Pair, result: Draft) -> None:
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
        _ssim(plan, images, result)
    if "lpips" in plan.metrics:
        _lpips(plan, images, result)


def _ssim(plan: Plan, images: Pair, result: Draft) -> None:
    if min(images.reference.size) < (ssim.UNIFORM_SIDE if plan.is_paper else ssim.GAUSSIAN_SIDE):
        result.reasons["ssim"] = "too_small"
        return
    mode = "L" if plan.is_paper else "RGB"
    arrays = (np.asarray(images.candidate.convert(mode)), np.asarray(images.reference.convert(mode)))
    if plan.batches_ssim:
        result.waiting["ssim"] = arrays
    else:
        result.values["ssim"] = ssim.uniform(*arrays) if plan.is_paper else ssim.gaussian(*arrays)


def _lpips(plan: Plan, images: Pair, result: Draft) -> None:
    if not plan.has_lpips:
        result.reasons[plan.lpips_column] = "weights_missing"
        return
    size, filter_ = images.reference.size, Image.Resampling.LANCZOS
    if plan.is_paper:
        # torchvision's Resize((256, 256)) of a PIL image is this call
        size, filter_ = (PAPER_LPIPS_SIDE, PAPER_LPIPS_SIDE), Image.Resampling.BILINEAR
    elif size[0] * size[1] > STANDARD_LPIPS_PIXELS:
        scale = math.sqrt(STANDARD_LPIPS_PIXELS / (size[0] * size[1]))
        size = (max(1, int(size[0] * scale)), max(1, int(size[1] * scale)))
        result.flags.append("lpips_reduced")
    if min(size) < lpips_model.MIN_SIDE[plan.lpips_net]:
        result.reasons[plan.lpips_column] = "too_small"
        return
    result.waiting[plan.lpips_column] = (
        _resized(images.candidate, size, filter_),
        _resized(images.reference, size, filter_),
    )


def _resized(image: Image.Image, size: tuple[int, int], filter_: Image.Resampling) -> np.ndarray:
    return np.asarray(image if image.size == size else image.resize(size, filter_))


# --- many pairs -----------------------------------------------------------------------------------------------------


def sources(
    predictions: Sequence[Any],
    references: Sequence[Any],
    windows: Sequence[Any] | None,
    inputs: Sequence[Any] | None = None,
) -> list[Source]:
    """Check all inputs before any is read.

    Raises:
        TypeError: a value that is no image or no window, with its position.
        ValueError: unequal lengths, an impossible window.
    """
    windows = [None] * len(predictions) if windows is None else windows
    inputs = [None] * len(predictions) if inputs is None else inputs
    if not len(predictions) == len(references) == len(windows) == len(inputs):
        got = f"{len(predictions)} predictions, {len(references)} references, {len(windows)} windows"
        raise ValueError(f"expected as many of each; got {got}, {len(inputs)} inputs")
    samples = [
        Source(*sample[:3], index, sample[3])
        for index, sample in enumerate(zip(predictions, references, windows, inputs, strict=True))
    ]
    for sample in samples:
        check_type(sample.candidate, f"predictions[{sample.position}]")
        check_type(sample.reference, f"references[{sample.position}]")
        check_type(sample.edited, f"inputs[{sample.position}]")
        check_window(sample.window, f"windows[{sample.position}]")
    return samples


def drafts(plan: Plan, samples: Sequence[Source]) -> Iterator[Draft]:
    """`draft` of each sample in order, a few pairs ahead in threads; the values are those of one thread."""
    Image.init()  # registers Pillow's readers, which threads would do at once
    threads = thread_count()
    if threads == 1:
        yield from (draft(plan, sample) for sample in samples)
        return
    with ThreadPoolExecutor(threads) as pool:
        running: deque[Future[Draft]] = deque()
        try:
            for sample in samples:
                running.append(pool.submit(draft, plan, _settled(sample)))
                if len(running) > _AHEAD:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for future in running:
                future.cancel()


def thread_count() -> int:
    """Threads for reading and comparing: what the process may use (`OMP_NUM_THREADS`, its processors), 4 at most."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, min(4, allowed, int(wanted) if wanted.isdigit() else allowed))


def _settled(source: Source) -> Source:
    """PIL images are read by the caller's thread: one object may stand in several samples, and is not safe to share."""
    return source._replace(
        candidate=_if_pil(source.candidate, f"predictions[{source.position}]"),
        reference=_if_pil(source.reference, f"references[{source.position}]"),
        edited=_if_pil(source.edited, f"inputs[{source.position}]"),
    )


def _if_pil(source: Any, where: str) -> Any:
    first = source[0] if isinstance(source, list | tuple) and source else source
    if not isinstance(first, Image.Image):
        return source
    try:
        return read(source, where)
    except Unscored as failure:
        return failure


class Batches:
    """Collects arrays of one size until there are enough for one call.

    Args:
        column: where the values go.
        compute: first arrays, second arrays -> values.
        limit: (height, width) -> pairs a call.
    """

    def __init__(
        self,
        column: str,
        compute: Callable[[list[np.ndarray], list[np.ndarray]], list[float]],
        limit: Callable[[tuple[int, int]], int],
    ) -> None:
        self.column = column
        self._compute = compute
        self._limit = limit
        self._waiting: dict[tuple[int, int], list[tuple[Draft, Arrays]]] = {}

    def add(self, waiting: Draft) -> None:
        """Take a draft's arrays, if it has any for this column."""
        arrays = waiting.waiting.pop(self.column, None)
        if arrays is None:
            return
        shape = (arrays[0].shape[0], arrays[0].shape[1])
        group = self._waiting.setdefault(shape, [])
        group.append((waiting, arrays))
        if len(group) >= self._limit(shape):
            self._run(self._waiting.pop(shape))

    def flush(self) -> None:
        """Compute what is left."""
        while self._waiting:
            self._run(self._waiting.pop(next(iter(self._waiting))))

    def _run(self, group: list[tuple[Draft, Arrays]]) -> None:
        values = self._compute([arrays[0] for _, arrays in group], [arrays[1] for _, arrays in group])
        for (waiting, _), value in zip(group, values, strict=True):
            waiting.values[self.column] = value
