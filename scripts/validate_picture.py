"""One picture as `validate` sees it: what it is alike by, and what is wrong with it whatever it is compared with."""

import hashlib
import io
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from PIL import Image

from medgen_metrics.failures import Unscored
from medgen_metrics.groups import perceptual_hash
from medgen_metrics.images import FORMATS
from medgen_metrics.images import read


class Seen(NamedTuple):
    """One picture.

    Attributes:
        pixels: a digest of its pixels and size.
        hash: for near matches.
        fault: why it can't be read.
        format: of its file, as Pillow calls it.
        hollow: the kind of finding that a picture which shows nothing is.
    """

    pixels: bytes | None
    hash: bytes | None
    fault: str | None
    format: str | None
    hollow: str | None = None


def see(data: bytes, near: bool = True) -> Seen:
    """Read a picture; `near` makes its perceptual hash too."""
    source: Image.Image | bytes = data
    with suppress(Exception):  # of bytes that are no picture `read` says why
        # Opened here and decoded by `read`, which drops alpha: what was there is seen without decoding anew.
        source = Image.open(io.BytesIO(data), formats=FORMATS)
    try:
        picture = read(source)
    except Unscored as error:
        return Seen(None, None, str(error), None)
    values = np.asarray(picture.image) if picture.image is not None else picture.levels
    assert values is not None
    digest = hashlib.sha256(repr((values.shape, picture.depth)).encode() + values.tobytes()).digest()
    opened = source if isinstance(source, Image.Image) else None
    hollow = None
    if picture.size == (1, 1):
        hollow = "output of one pixel"
    elif opened is not None and _is_transparent(opened):
        hollow = "transparent output"
    format_ = None if opened is None else opened.format
    return Seen(digest, perceptual_hash(data) if near else None, None, format_, hollow)


def _is_transparent(image: Image.Image) -> bool:
    """Whether a decoded picture has an alpha of zero everywhere."""
    bands = image.getbands()
    if bands[-1] in ("A", "a"):
        return image.getchannel(len(bands) - 1).getextrema() == (0, 0)
    # A deep grey picture may declare one of its levels transparent; Pillow makes no alpha of that.
    if "transparency" in image.info and image.mode in ("1", "L", "P", "RGB"):
        return image.convert("RGBA").getchannel("A").getextrema() == (0, 0)
    return False
