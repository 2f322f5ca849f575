"""Image files on their way to and from a server: in a form that servers take, and told from what is no image."""

import base64
import binascii
import io
import zlib
from typing import TYPE_CHECKING

from medgen_metrics.serving.faults import REJECTED
from medgen_metrics.serving.faults import CallFailed

from .base import NOT_AN_IMAGE

if TYPE_CHECKING:
    from PIL.Image import Image

# What every provider takes; others refuse TIFF, BMP and the like.
_TAKEN = ("PNG", "JPEG", "WEBP")
# Modes that all readers see alike; of CMYK and 16 bits each makes what it likes.
_PLAIN = ("1", "L", "LA", "P", "RGB", "RGBA")
PNG_MODES = ("1", "L", "LA", "I;16", "P", "RGB", "RGBA")
"""What PNG holds as it is; other modes (CMYK, YCbCr, …) become RGB, as they do when they are scored."""
# Of a photograph a quarter of the time of level 6, for a few per cent more bytes; the pixels are the same.
_PACKED = {"compress_level": 1, "compress_type": zlib.Z_RLE}


def png(image: "Image") -> bytes:
    """The picture as PNG, without loss.

    Raises:
        ValueError: floating-point or 32-bit pixels, which PNG can't hold.
    """
    if image.mode in ("F", "I"):
        raise ValueError(f"expected an image of 8 or 16 bits, got mode {image.mode}")
    file = io.BytesIO()
    (image if image.mode in PNG_MODES else image.convert("RGB")).save(file, "PNG", **_PACKED)
    return file.getvalue()


def grey_square() -> bytes:
    """The input of a request that only sees whether a model answers."""
    from PIL import Image

    return png(Image.new("RGB", (256, 256), (128, 128, 128)))


def media_type(data: bytes) -> str | None:
    """The media type of an image file by its content; None where it doesn't open as an image."""
    from PIL import Image

    from medgen_metrics.images import FORMATS

    try:
        with Image.open(io.BytesIO(data), formats=FORMATS) as image:
            return Image.MIME[image.format or ""]
    except Exception:  # Pillow's readers raise whatever their parsing meets
        return None


def as_sent(data: bytes) -> tuple[bytes, str]:
    """A file that a server sees as metrics do, and its media type.

    PNG, JPEG and WebP of 8 bits go as they are; others, and those that EXIF turns, as an upright 8-bit RGB PNG.

    Raises:
        CallFailed: the input is no image.
    """
    from PIL import ExifTags
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=_TAKEN) as image:
            if image.mode in _PLAIN and image.getexif().get(ExifTags.Base.Orientation, 1) == 1:
                return data, Image.MIME[image.format or ""]
    except Exception:  # as above; reading it in earnest tells what is wrong
        pass
    return png(rgb(data)), "image/png"


def rgb(data: bytes) -> "Image":
    """A file's picture as metrics see it: upright, 8-bit RGB.

    Raises:
        CallFailed: the input is no image, or its values have no declared range.
    """
    from medgen_metrics.failures import Unscored
    from medgen_metrics.images import read
    from medgen_metrics.pairs import eight_bit

    try:
        return eight_bit(read(data, "input image"))
    except Unscored as error:
        raise CallFailed(REJECTED, f"the input image can't be sent: {error}", 0) from error


def data_url(data: bytes) -> str:
    """A file as a data URL; see `as_sent`."""
    sent, kind = as_sent(data)
    return f"data:{kind};base64,{base64.b64encode(sent).decode('ascii')}"


def checked(data: bytes) -> bytes:
    """What a server sent as an image.

    Raises:
        CallFailed: it doesn't begin as an image does; whether all of it can be decoded is the runner's to see.
    """
    if media_type(data) is None:
        raise CallFailed(NOT_AN_IMAGE, f"expected an image file, got {len(data)} bytes that begin with {data[:24]!r}")
    return data


def of_base64(text: str) -> bytes:
    """What a server sent as an image in base64, also behind `data:…;base64,` or broken into lines.

    Raises:
        CallFailed: no base64, or no image.
    """
    head, comma, rest = text.partition(",")
    if comma and head.startswith("data:"):
        text = rest
    text = "".join(text.split())
    try:
        # some servers leave the padding off
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError) as error:
        raise CallFailed(NOT_AN_IMAGE, f"expected an image in base64, got {text[:40]!r} ({error})") from None
    return checked(data)
