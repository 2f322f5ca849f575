"""Images on their way into a model and out of it: what is sent, and what becomes of what was given."""

import hashlib
import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..backends.pictures import png
from ..backends.pictures import rgb
from ..records import Picture
from .png_chunks import pixels_alone

if TYPE_CHECKING:
    from PIL.Image import Image

_SHEET_SIDE = 2048


class BadImage(ValueError):
    """What a system gave as an image can't be kept as one.

    Attributes:
        kind: a system's reason of `medgen_metrics.failures`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Kept:
    """An output image as it is written.

    Attributes:
        png: the file.
        digest: its SHA-256, 64 hex digits.
        size: (width, height) in pixels.
        received: format in which it came, e.g. `JPEG`; None where it was pixels.
        flags: `uniform`: one colour all over; `unchanged`: the input's very pixels; `several`: the first of several
            frames.
    """

    png: bytes
    digest: str
    size: tuple[int, int]
    received: str | None
    flags: tuple[str, ...]


def sha256(data: bytes) -> str:
    """64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def keep(data: bytes, inputs: Sequence[Picture]) -> Kept:
    """Decode a file that a system gave, look at it, and make a PNG of its pixels; what else it holds is dropped.

    The pixels of a PNG of 8 bits a channel stay packed as they came.

    Args:
        data: the file.
        inputs: the record's input images; the first is what the output is compared with.

    Raises:
        BadImage: `not_an_image`, `unreadable` or `too_large`.
    """
    from PIL import ExifTags
    from PIL import Image
    from PIL import ImageOps
    from PIL import UnidentifiedImageError

    from medgen_metrics.images import FORMATS

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=FORMATS) as opened:
                received, several = opened.format, getattr(opened, "n_frames", 1) > 1
                opened.load()
                turned = opened.getexif().get(ExifTags.Base.Orientation, 1) != 1
                image = ImageOps.exif_transpose(opened)
    except UnidentifiedImageError:
        raise BadImage("not_an_image", f"expected an image, got {len(data)} bytes that begin {data[:16]!r}") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning, MemoryError) as error:
        raise BadImage("too_large", str(error)) from error
    except Exception as error:  # Pillow's readers raise whatever their parsing meets
        raise BadImage("unreadable", f"{type(error).__name__}: {error}") from error
    # an animation's other frames would be written too
    image.info.clear()
    image = image.copy() if several else image
    try:
        file = (pixels_alone(data) if received == "PNG" and not turned else None) or png(image)
    except ValueError as error:
        raise BadImage("unreadable", str(error)) from error
    flags = [
        *(["several"] if several else []),
        *(["uniform"] if _is_uniform(image) else []),
        *(["unchanged"] if _is_input(image, inputs) else []),
    ]
    return Kept(file, sha256(file), image.size, received, tuple(flags))


def sent(pictures: Sequence[Picture], side: int | None, most: int | None) -> tuple[tuple[bytes, ...], bool]:
    """The input images as a model is given them.

    Args:
        pictures: the record's.
        side: longest side in pixels; larger ones are scaled down. None: as they are.
        most: images at most; more are put on one contact sheet. None: any number.

    Returns:
        Encoded files, and whether they are a contact sheet.

    Raises:
        CallFailed: one that has to be drawn anew, and is no image.
    """
    if most is not None and len(pictures) > most:
        from medgen_metrics.judge.sheet import sheet

        edge = side or _SHEET_SIDE
        return (png(sheet([rgb(picture.data) for picture in pictures], edge, edge)),), True
    return tuple(_within(picture, side) for picture in pictures), False


def size_for(picture: Picture, sizes: Sequence[tuple[int, int]] | None) -> tuple[int, int] | None:
    """Of the sizes offered the one whose aspect ratio is nearest the picture's; of equals the one nearest its area.

    None where any size may be given, which leaves it to the model.
    """
    if not sizes:
        return None
    width, height = _dimensions(picture)

    def distance(size: tuple[int, int]) -> tuple[float, float]:
        aspect = abs(math.log(size[0] / size[1] * height / width))
        return round(aspect, 6), abs(math.log(size[0] * size[1] / (width * height)))

    return min(sizes, key=distance)


def _dimensions(picture: Picture) -> tuple[int, int]:
    """Width and height as the picture is looked at; decodes nothing."""
    from PIL import ExifTags
    from PIL import Image

    with Image.open(io.BytesIO(picture.data)) as image:
        # EXIF orientations 5 to 8 lie on their side
        turned = image.getexif().get(ExifTags.Base.Orientation, 1) >= 5
        return (image.height, image.width) if turned else image.size


def _within(picture: Picture, side: int | None) -> bytes:
    if side is None or max(_dimensions(picture)) <= side:
        return picture.data
    from PIL import Image

    image = rgb(picture.data)
    scale = side / max(image.size)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return png(image.resize(size, Image.Resampling.LANCZOS))


def _is_uniform(image: "Image") -> bool:
    ends = image.getextrema()
    return all(low == high for low, high in (ends if isinstance(ends[0], tuple) else [ends]))


def _is_input(image: "Image", inputs: Sequence[Picture]) -> bool:
    if not inputs or image.size != _dimensions(inputs[0]):
        return False
    return image.convert("RGB").tobytes() == inputs[0].open().convert("RGB").tobytes()
