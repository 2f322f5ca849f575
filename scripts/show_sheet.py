"""The sheet of `show`: a record's texts, and below them pictures side by side with what belongs to each."""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import NamedTuple

from .terminal import printable

if TYPE_CHECKING:
    from PIL import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont
    from PIL.ImageFont import ImageFont

    Font = ImageFont | FreeTypeFont

CELL = 384  # the longer side of a picture on the sheet, in pixels
MARGIN = 12
COLUMNS = 6
LINE = 19  # pixels from one line of text to the next
_FONT = 14
_NAMES = 130  # pixels of the heading's first column
_MOST = {"heading": 40, "label": 1, "note": 4, "text": 30}  # lines; what is longer ends in …


class Panel(NamedTuple):
    """A picture on the sheet, or why there is none, below its label; and an answer below that."""

    label: str
    image: "Image.Image | None"
    note: str
    text: str = ""


def sheet(shown: Sequence[Panel], heading: Sequence[tuple[str, str]] = ()) -> "Image.Image":
    """Panels in rows, each picture scaled to the same longer side, its label above, its size and an answer below.

    Args:
        shown: the panels.
        heading: names and texts above them, over the whole width.
    """
    from PIL import Image
    from PIL import ImageDraw
    from PIL import ImageFont

    font = ImageFont.load_default(_FONT)
    # Texts in a single narrow column would be long.
    columns = min(COLUMNS, max(2 if heading else 1, len(shown)))
    width = columns * (CELL + MARGIN) + MARGIN
    words = [(name, wrapped(text, font, width - _NAMES - 2 * MARGIN, _MOST["heading"])) for name, text in heading]
    top = heading_height(words)
    cells = [_scaled(panel.image) if panel.image is not None else None for panel in shown]
    notes = [wrapped(panel.note, font, CELL, _MOST["note"]) for panel in shown]
    texts = [wrapped(panel.text, font, CELL, _MOST["text"]) for panel in shown]
    rows = [range(start, min(start + columns, len(shown))) for start in range(0, len(shown), columns)]
    pictures = [max([cell.height for i in row if (cell := cells[i]) is not None], default=0) for row in rows]
    heights = [
        LINE + high + LINE * max(len(notes[i]) + len(texts[i]) for i in row) + 2 * MARGIN
        for row, high in zip(rows, pictures, strict=True)
    ]
    canvas = Image.new("RGB", (width, top + sum(heights) + MARGIN), "white")
    draw = ImageDraw.Draw(canvas)
    below = MARGIN
    for name, lines in words:
        _lines(draw, (MARGIN, below), [name], "gray", font)
        below = _lines(draw, (MARGIN + _NAMES, below), lines, "black", font)
    top += MARGIN
    for row, height in zip(rows, heights, strict=True):
        for column, index in enumerate(row):
            left = MARGIN + column * (CELL + MARGIN)
            label = wrapped(shown[index].label, font, CELL, _MOST["label"])
            below = _lines(draw, (left, top), label, "black", font)
            cell = cells[index]
            if cell is not None:
                canvas.paste(cell, (left, below))
                # A black background would otherwise run into the next one, and a white one into the sheet.
                draw.rectangle((left - 1, below - 1, left + cell.width, below + cell.height), outline="gray")
                below += cell.height + 2
            below = _lines(draw, (left, below), notes[index], "gray" if cell else "red", font)
            _lines(draw, (left, below), texts[index], "black", font)
        top += height
    return canvas


def heading_height(words: Sequence[tuple[str, Sequence[str]]]) -> int:
    """Pixels that a heading takes, the margin below it included."""
    return LINE * sum(len(lines) for _, lines in words) + (MARGIN if words else 0)


def wrapped(text: str, font: "Font", width: int, most: int) -> list[str]:
    """Lines of at most `width` pixels, as many as `most`; the text's own line breaks are kept.

    The font that comes with Pillow knows Latin letters only; others are shown as question marks.
    """
    latin = printable(text, "\n").encode("latin-1", "replace").decode("latin-1")
    lines: list[str] = []
    for paragraph in latin.split("\n") if latin else ():
        line = ""
        # One line more than is shown tells that there is more.
        for word in paragraph.split(" ") if len(lines) <= most else ():
            longer = f"{line} {word}" if line else word
            if font.getlength(longer) <= width:
                line = longer
                continue
            lines += [line] if line else []
            *full, line = _broken(word, font, width)
            lines += full
        lines.append(line)
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while last and font.getlength(f"{last} ...") > width:
        last = last[:-1]
    return [*lines[: most - 1], f"{last} ..."]


def _broken(word: str, font: "Font", width: int) -> list[str]:
    """A word in pieces that fit; the last may be short."""
    pieces = [""]
    for letter in word:
        if pieces[-1] and font.getlength(pieces[-1] + letter) > width:
            pieces.append("")
        pieces[-1] += letter
    return pieces


def _lines(draw: "ImageDraw", place: tuple[int, int], lines: Sequence[str], fill: str, font: "Font") -> int:
    """Write lines; the place below them."""
    left, top = place
    for number, words in enumerate(lines):
        draw.text((left, top + number * LINE), words, fill=fill, font=font)
    return top + len(lines) * LINE


def _scaled(image: "Image.Image") -> "Image.Image":
    from PIL import Image

    factor = CELL / max(image.size)
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    # Enlarged pixels stay visible as such.
    return image.resize(size, Image.Resampling.LANCZOS if factor < 1 else Image.Resampling.NEAREST)
