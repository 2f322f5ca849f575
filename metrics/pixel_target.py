"""What a record's reference and input give, prepared once for all candidates that are compared with them."""

import math
from functools import cached_property
from typing import Any
from typing import NamedTuple

import numpy as np
from PIL import Image

from . import lpips_model
from .failures import Unscored
from .images import Picture
from .images import read
from .locality import Edit
from .locality import edit
from .pairs import eight_bit
from .pairs import pair

PAPER_LPIPS_SIDE = 256  # pixels: the paper protocol squashes both images to this square
STANDARD_LPIPS_PIXELS = 2**20  # larger pairs are reduced to this area, both alike, keeping their aspect

_KEPT_PIXELS = 2**22  # window sums of larger references are computed again for each candidate: they take 8 bytes each


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


class Shape(NamedTuple):
    """How both images of a pair are brought to LPIPS: size (width, height) and filter."""

    size: tuple[int, int]
    filter: Image.Resampling
    is_reduced: bool


class Input(NamedTuple):
    """The image that was to be edited, as it was read, and what its edit is."""

    picture: Picture
    edit: Edit


class Target:
    """A reference with its input, read at the first candidate that needs it; used by one thread at a time.

    Args:
        plan: what is computed.
        reference: as of `images.read`, or the failure to read it.
        edited: the input, likewise; None where there is none.
        window: the grey levels shown as black and as white.
        position: among the samples, for messages.
        is_shared: whether several candidates are compared with it.
    """

    def __init__(
        self,
        plan: Plan,
        reference: Any,
        edited: Any = None,
        window: tuple[float, float] | None = None,
        position: int = 0,
        is_shared: bool = False,
    ) -> None:
        self.plan = plan
        self.window = window
        self.features: Any = None  # of LPIPS, kept here while candidates wait for them
        self._reference = reference
        self._edited = edited
        self._position = position
        self._is_shared = is_shared
        self._failure: Unscored | None = None

    @property
    def picture(self) -> Picture:
        """The reference as it was read.

        Raises:
            Unscored: `reference_missing`.
        """
        if self._failure is not None:
            raise self._failure
        try:
            return self._picture
        except Unscored as error:
            self._failure = Unscored("reference_missing", str(error))
            raise self._failure from error

    @cached_property
    def _picture(self) -> Picture:
        return picture_of(self._reference, f"references[{self._position}]")

    @cached_property
    def image(self) -> Image.Image:
        """The reference at 8 bits (`pairs.eight_bit`).

        Raises:
            Unscored: its values have no declared range.
        """
        return eight_bit(self.picture, self.window)

    @cached_property
    def for_ssim(self) -> np.ndarray:
        """Grey in the paper protocol, else RGB."""
        return np.asarray(self.image.convert("L" if self.plan.is_paper else "RGB"))

    @cached_property
    def window_sums(self) -> dict[Any, Any] | None:
        """Where `ssim` keeps the reference's window sums; None where they are not kept."""
        width, height = self.image.size
        return {} if self._is_shared and width * height <= _KEPT_PIXELS else None

    @cached_property
    def lpips_shape(self) -> Shape:
        """How pairs with this reference are brought to LPIPS."""
        size = self.image.size
        if self.plan.is_paper:
            # torchvision's Resize((256, 256)) of a PIL image is this call
            return Shape((PAPER_LPIPS_SIDE, PAPER_LPIPS_SIDE), Image.Resampling.BILINEAR, False)
        if size[0] * size[1] <= STANDARD_LPIPS_PIXELS:
            return Shape(size, Image.Resampling.LANCZOS, False)
        scale = math.sqrt(STANDARD_LPIPS_PIXELS / (size[0] * size[1]))
        reduced = (max(1, int(size[0] * scale)), max(1, int(size[1] * scale)))
        return Shape(reduced, Image.Resampling.LANCZOS, True)

    @property
    def is_too_small_for_lpips(self) -> bool:
        """Whether the network has no features left to compare."""
        return min(self.lpips_shape.size) < lpips_model.MIN_SIDE[self.plan.lpips_net]

    @cached_property
    def for_lpips(self) -> np.ndarray:
        """The reference as LPIPS takes it, RGB uint8."""
        return resized(self.image, self.lpips_shape)

    @cached_property
    def input(self) -> Input | None:
        """The input and its edit; None where there is none, or none that can be compared with the reference."""
        if self._edited is None:
            return None
        try:
            picture = picture_of(self._edited, f"inputs[{self._position}]")
            before = pair(picture, self.picture, self.window, self).candidate
        except Unscored:
            return None  # the scores don't depend on the input: only its diagnostics don't apply
        return Input(picture, edit(self.image, before))


def picture_of(source: Any, where: str) -> Picture:
    """An image that may have been read already, or have failed to.

    Raises:
        Unscored: it can't be read.
    """
    if isinstance(source, Unscored):
        raise source
    return source if isinstance(source, Picture) else read(source, where)


def resized(image: Image.Image, shape: Shape) -> np.ndarray:
    """The image at the size of `shape`, uint8 [height, width, 3]."""
    return np.asarray(image if image.size == shape.size else image.resize(shape.size, shape.filter))
