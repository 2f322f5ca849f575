"""Labels on pictures, in a font that scales with them."""

import math
from functools import lru_cache
from typing import TYPE_CHECKING
from typing import Any

if TYPE_CHECKING:
    from PIL import ImageDraw

MIN_FONT = 16
"""Pixels of the smallest label; below it a vision encoder's patches hold no letters."""
LINE = 1.6
"""Height of a label's strip in units of its font's size."""
_SHARE = 0.05  # font size in units of the picture's side, taken as the root of its area


def font_size(width: float, height: float) -> int:
    """The size in pixels of the label's font below a picture of `width` x `height` pixels."""
    return max(MIN_FONT, round(_SHARE * math.sqrt(width * height)))


def strip_height(size: float) -> int:
    """Pixels of the strip that holds one line of a font of `size` pixels."""
    return math.ceil(LINE * size)


def room_above(width: int, height: int, side: int) -> float:
    """The most pixels down for a picture of this shape, so that it and its strip are at most `side` pixels high."""
    strip = LINE * _SHARE * math.sqrt(width * height)
    # two pixels for the rounding of font and strip
    return min(side - strip_height(MIN_FONT), (side - 2) * height / (height + strip))


@lru_cache(maxsize=128)
def _font(size: int) -> Any:
    from PIL import ImageFont
    from PIL import features

    if not features.check("freetype2"):
        raise RuntimeError(
            "this Pillow has no FreeType, so labels would not scale with their pictures; install Pillow's own wheel"
        )
    return ImageFont.load_default(size)


def text_width(text: str, size: int) -> int:
    """Pixels across one line of `text`."""
    left, _, right, _ = _font(size).getbbox(text)
    return math.ceil(right - left)


def fitted(text: str, size: float, width: int) -> int:
    """The largest font size up to `size`, and no smaller than `MIN_FONT`, at which `text` is no wider than `width`."""
    found = max(MIN_FONT, int(size))
    wide = text_width(text, found)
    return found if wide <= width else max(MIN_FONT, int(found * width / wide))


def centre(
    draw: "ImageDraw.ImageDraw",
    box: tuple[int, int, int, int],
    text: str,
    size: int,
    colour: tuple[int, int, int],
) -> None:
    """Set one line of `text` into the middle of a box (left, top, width, height)."""
    left, top, width, height = box
    draw.text((left + width / 2, top + height / 2), text, fill=colour, font=_font(size), anchor="mm")
