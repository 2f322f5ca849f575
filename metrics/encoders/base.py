"""What the embedding tier asks of an image encoder."""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from typing import Any
from typing import Protocol

import numpy as np
from PIL import Image

from ..failures import Unscored

if TYPE_CHECKING:
    import torch


ASPECT = 200  # longer side by shorter side


def check_aspect(image: Image.Image) -> None:
    """Refuse strips, for encoders with preprocessing of their own.

    Where that scales the shorter side to a fixed length, a file of 300 bytes would need gigabytes.

    Raises:
        Unscored: `too_large`.
    """
    if max(image.size) > ASPECT * min(image.size):
        raise Unscored("too_large", f"{image.width}x{image.height}; this encoder takes at most {ASPECT} to 1")


class EncoderFault(ValueError):
    """An encoder that can't be loaded, or gives what can't be scored; the message says which and why."""


class Encoder(Protocol):
    """A loaded encoder.

    Attributes:
        device: where it runs.
    """

    @property
    def device(self) -> "torch.device": ...

    def preprocess(self, image: Image.Image) -> np.ndarray:
        """The pixels [...] that the encoder wants of an 8-bit RGB image of any size. Called from several threads.

        Raises:
            Unscored: it can't be brought to the encoder's size.
        """
        ...

    def encode(self, pixels: Sequence[np.ndarray]) -> np.ndarray:
        """Embeddings, float32 [n, d], each of length 1, of n arrays of one shape that `preprocess` gave."""
        ...


@dataclass(frozen=True)
class Found:
    """An encoder whose weights are on this machine, not loaded yet.

    Attributes:
        definition: all that determines its embeddings, JSON-able; not package versions.
        library: what runs it, for signatures, e.g. `timm-1.0.31`.
        load: device, one of `devices.DTYPES` -> the encoder; raises ValueError where the weights don't fit.
    """

    definition: Mapping[str, Any]
    library: str
    load: "Callable[[torch.device, str], Encoder]"


def unit(embeddings: "torch.Tensor") -> np.ndarray:
    """Rows [n, d] scaled to length 1, float32; a row of zeros, which has no direction, stays one."""
    values = embeddings.detach().float()
    length = values.norm(dim=-1, keepdim=True)
    return (values / length.clamp_min(1e-12)).cpu().numpy()
