"""Pictures as a judge is shown them: read, scaled down, labelled by a strip below, encoded once.

Intake is that of all metrics (`medgen_metrics.images`): upright, alpha dropped, 8-bit RGB, deep images by the fixed map
of their depth. A picture is never scaled up; what is sent, strip included, is no longer than `side` pixels.
"""

import base64
import hashlib
import io
from dataclasses import dataclass
from functools import cached_property
from functools import lru_cache
from typing import TYPE_CHECKING
from typing import NamedTuple

from .. import images
from ..failures import Unscored
from ..pairs import eight_bit
from ..signature import digest as digest_of
from . import lettering
from .kept import Kept
from .sheet import sheet

if TYPE_CHECKING:
    from PIL import Image

DRAWING = 1
"""Revision of how pictures are drawn; raised when a change moves any pixel."""
FORMATS = {"png": "image/png", "jpeg": "image/jpeg"}
MIN_SIDE = 128
JPEG_QUALITY = 95
_CACHE_BYTES = 64 << 20  # the views of a record share pictures, and are asked for together
_PAPER, _RULE, _INK = (255, 255, 255), (128, 128, 128), (0, 0, 0)


class Drawn(NamedTuple):
    """An encoded picture, strip included: its file, its size in pixels, the depths of the images it was made of."""

    data: bytes
    width: int
    height: int
    depths: tuple[str, ...]


_drawn: Kept[Drawn] = Kept(_CACHE_BYTES, lambda drawn: len(drawn.data))


@dataclass(frozen=True)
class Picture:
    """One picture of a prompt, drawn when it is first looked at.

    Attributes:
        label: on the strip below it.
        sources: the files it shows; several on a contact sheet.
        role: `input`, `reference` or `output`.
        side: most pixels of a side of what is sent.
        format: `png` or `jpeg`.
    """

    label: str
    sources: tuple[bytes, ...]
    role: str
    side: int = 1024
    format: str = "png"

    def __post_init__(self) -> None:
        if self.format not in FORMATS:
            raise ValueError(f"image_format: expected {' or '.join(FORMATS)}; got {self.format!r}")
        if self.side < MIN_SIDE:
            raise ValueError(f"image_side: expected at least {MIN_SIDE} pixels, which hold a label; got {self.side}")

    @cached_property
    def digest(self) -> str:
        """16 hex digits of all that determines the picture: the files' bytes and how it is drawn.

        Not of the encoded bytes: those differ between releases of Pillow, and replies that were paid for would be asked
        for again.
        """
        found = [_sha256(source) for source in self.sources]
        return digest_of([DRAWING, self.label, found, self.side, self.format])

    @property
    def drawn(self) -> Drawn:
        """The encoded picture; made once as long as it is kept.

        Raises:
            Unscored: `unreadable`, `not_an_image`, … of `images.read`, or no declared range; `reference_missing` where
                the fault is the record's own image.
        """
        return _drawn.get(self.digest, self._draw)

    @property
    def data(self) -> bytes:
        """The encoded file."""
        return self.drawn.data

    @property
    def width(self) -> int:
        """Pixels across."""
        return self.drawn.width

    @property
    def height(self) -> int:
        """Pixels down, the strip included."""
        return self.drawn.height

    @property
    def media_type(self) -> str:
        """`image/png` or `image/jpeg`."""
        return FORMATS[self.format]

    @property
    def url(self) -> str:
        """The picture as a data URL."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode('ascii')}"

    def _draw(self) -> Drawn:
        found = [self._read(index) for index in range(len(self.sources))]
        shown = [image for image, _ in found]
        image = shown[0]
        if len(shown) > 1:
            # the strip is never higher than below a square picture of the full side
            strip = lettering.strip_height(lettering.font_size(self.side, self.side))
            image = sheet(shown, self.side, self.side - strip)
        labelled = label(image, self.label, self.side)
        return Drawn(encode(labelled, self.format), *labelled.size, tuple(depth for _, depth in found))

    def _read(self, index: int) -> tuple["Image.Image", str]:
        where = self.label if len(self.sources) == 1 else f"{self.label}, image {index + 1}"
        try:
            picture = images.read(self.sources[index], where)
            return eight_bit(picture), picture.depth
        except Unscored as error:
            detail = f"{where}: {error.detail or error.reason}"
            raise Unscored(error.reason if self.role == "output" else "reference_missing", detail) from error


@lru_cache(maxsize=32)
def _sha256(source: bytes) -> str:
    # a record's views show the same files one after the other
    return hashlib.sha256(source).hexdigest()


def label(image: "Image.Image", text: str, side: int) -> "Image.Image":
    """An image scaled down, a white strip with its label below it.

    Args:
        image: RGB.
        text: the label; never empty.
        side: most pixels of a side of the result.

    Returns:
        RGB; wider than the image only where its label needs the room, the image in the middle.
    """
    from PIL import Image
    from PIL import ImageDraw

    scale = min(1.0, side / image.width, lettering.room_above(image.width, image.height, side) / image.height)
    width, height = max(1, round(image.width * scale)), max(1, int(image.height * scale))
    if (width, height) != image.size:
        image = image.resize((width, height), Image.Resampling.LANCZOS)
    size = lettering.fitted(text, lettering.font_size(width, height), width - 4)
    strip = lettering.strip_height(size)
    canvas = Image.new("RGB", (max(width, lettering.text_width(text, size) + 4), height + strip), _PAPER)
    canvas.paste(image, ((canvas.width - width) // 2, 0))
    draw = ImageDraw.Draw(canvas)
    # where a white picture ends
    draw.line((0, height, canvas.width - 1, height), fill=_RULE)
    lettering.centre(draw, (0, height, canvas.width, strip), text, size, _INK)
    return canvas


def encode(image: "Image.Image", format_: str) -> bytes:
    """A file of an RGB image; grey images take one channel, which holds the same pixels."""
    red, green, blue = image.split()
    if red.tobytes() == green.tobytes() == blue.tobytes():
        image = red
    buffer = io.BytesIO()
    if format_ == "jpeg":
        image.save(buffer, "JPEG", quality=JPEG_QUALITY, subsampling=0)
    else:
        # a third of the time of level 6 for a few per cent of the bytes
        image.save(buffer, "PNG", compress_level=3)
    return buffer.getvalue()
