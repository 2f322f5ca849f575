"""Text in Pillow's fixed bitmap font: a scalable font would look different under each FreeType release."""

from __future__ import annotations

import numpy as np

Colour = tuple[int, int, int]


def size(text: str, scale: int = 1) -> tuple[int, int]:
    """Width and height in pixels of one line of `text` as `draw` sets it."""
    mask = _glyphs(text)
    return mask.shape[1] * scale, mask.shape[0] * scale


def _glyphs(text: str) -> np.ndarray:
    from PIL import Image
    from PIL import ImageDraw
    from PIL import ImageFont

    font = ImageFont.load_default_imagefont()
    left, top, right, bottom = font.getbbox(text)
    canvas = Image.new("1", (int(right - left), int(bottom - top)))
    ImageDraw.Draw(canvas).text((0, 0), text, fill=1, font=font)
    return np.asarray(canvas)


def draw(image: np.ndarray, text: str, x: int, y: int, colour: Colour, scale: int = 1) -> None:
    """Writes lines of `text` into the RGB array `image`, from (x, y) on; what falls outside is cut off."""
    for number, line in enumerate(text.split("\n")):
        _draw_line(image, line, x, y + 12 * scale * number, colour, scale)


def _draw_line(image: np.ndarray, text: str, x: int, y: int, colour: Colour, scale: int) -> None:
    glyphs = np.kron(_glyphs(text), np.ones((scale, scale), dtype=np.bool_))
    rows = np.arange(glyphs.shape[0]) + y
    columns = np.arange(glyphs.shape[1]) + x
    fits = np.outer((rows >= 0) & (rows < image.shape[0]), (columns >= 0) & (columns < image.shape[1]))
    for row, column in np.argwhere(glyphs.astype(np.bool_) & fits):
        image[row + y, column + x] = colour
