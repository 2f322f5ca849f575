"""The labelled contact sheet by which the public release shows a question's several images as one.

Its geometry (official evaluator, all versions): cells of up to 768 pixels, at most three columns, a dark bar with
"Image k" above each picture, pictures scaled down by Lanczos and centred. Here a cell is no larger than the largest
picture needs, and the sheet is laid out at the size at which it is sent, so that nothing is resampled twice.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import lettering

if TYPE_CHECKING:
    from PIL import Image

CELL = 768
MIN_CELL = 128
COLUMNS = 3
_BAR = 44 / 768
_BACKGROUND, _BAR_COLOUR, _INK = (255, 255, 255), (32, 32, 32), (255, 255, 255)


def columns(count: int) -> int:
    """Columns of a sheet of `count` pictures."""
    return min(COLUMNS, math.ceil(math.sqrt(count)))


def sheet(pictures: Sequence["Image.Image"], width: int, height: int) -> "Image.Image":
    """A contact sheet of at most `width` x `height` pixels.

    Args:
        pictures: RGB, 8 bits a channel, in order; labelled "Image 1" and so on.
        width: most pixels across.
        height: most pixels down; so many pictures that not even their labels fit make a higher sheet.

    Raises:
        ValueError: no pictures.
    """
    from PIL import Image
    from PIL import ImageDraw

    if not pictures:
        raise ValueError("expected at least one picture for a contact sheet, got none")
    across = columns(len(pictures))
    down = math.ceil(len(pictures) / across)
    largest = max(max(picture.size) for picture in pictures)
    wanted = min(CELL, max(MIN_CELL, largest))
    cell_width = max(1, min(wanted, width // across))
    bar = lettering.strip_height(max(lettering.MIN_FONT, round(_BAR * cell_width / lettering.LINE)))
    cell_height = max(1, min(wanted, height // down - bar))
    canvas = Image.new("RGB", (across * cell_width, down * (cell_height + bar)), _BACKGROUND)
    draw = ImageDraw.Draw(canvas)
    for index, picture in enumerate(pictures):
        left, top = index % across * cell_width, index // across * (cell_height + bar)
        draw.rectangle((left, top, left + cell_width - 1, top + bar - 1), fill=_BAR_COLOUR)
        text = f"Image {index + 1}"
        size = lettering.fitted(text, bar / lettering.LINE, cell_width - 4)
        lettering.centre(draw, (left, top, cell_width, bar), text, size, _INK)
        scale = min(1.0, cell_width / picture.width, cell_height / picture.height)
        fitting = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
        shown = picture if picture.size == fitting else picture.resize(fitting, Image.Resampling.LANCZOS)
        canvas.paste(shown, (left + (cell_width - fitting[0]) // 2, top + bar + (cell_height - fitting[1]) // 2))
    return canvas
