"""Tables for a terminal, readable in 100 columns."""

import re
from collections.abc import Iterator
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from .columns import Column
from .model import Document
from .model import Table
from .printing import Printed
from .printing import group_name
from .printing import printable
from .printing import printed

WIDTH = 100
GAP = 3  # characters around and between columns
# Where a terminal can't show bold and underlined, marks are characters.
STYLES = {"best": "bold", "second": "underline"}
CHARACTERS = {"best": "*", "second": "_"}


def write(document: Document, console: Console) -> None:
    """Print all tables and notes; names from result files are data, never markup."""
    styled = console.is_terminal and not console.is_dumb_terminal
    with console.capture() as capture:
        for part in _parts(document, styled, console.width):
            console.print(part)
    # Padding to the full width would wrap in a narrower window, and litter files.
    for line in capture.get().removesuffix("\n").split("\n"):
        console.file.write(f"{line.rstrip()}\n")


def _parts(document: Document, styled: bool, width: int) -> Iterator[RenderableType]:
    for table in document.tables:
        yield Text(printable(table.title), style="bold")
        for places in _splits(table, styled, width):
            yield _grid(table, places, styled)
        yield from _notes(table.notes, width)
        yield Text()
    if document.marked:
        yield from _notes(
            ["Best is bold, second underlined." if styled else "Best is *starred*, second _underscored_."], width
        )
    yield from _notes(document.notes, width)


def _notes(notes: tuple[str, ...] | list[str], width: int) -> Iterator[RenderableType]:
    for note in notes:
        words = [_broken(word, width - 2) for word in printable(note).split(" ")]
        yield Padding(Text(" ".join(words), style="dim"), (0, 0, 0, 2))


def _broken(word: str, room: int) -> str:
    """A signature too long for a line, broken behind its separators and not inside a name."""
    if len(word) <= room:
        return word
    lines = [""]
    for part in re.findall(r"[^|]*\||[^|]+", word):
        if lines[-1] and len(lines[-1]) + len(part) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _splits(table: Table, styled: bool, width: int) -> Iterator[list[int]]:
    """Columns that fit one grid beside the systems' names; what doesn't fit goes to further grids below."""
    names = [len(printable(name)) + (2 if table.by else 0) for line in table.lines for name in (line.system,)]
    names += [len(printable(group_name(table, line))) for line in table.lines]
    # A long name folds; figures don't.
    room = width - min(max([len("system"), *names]), width // 3) - GAP
    needed = []
    for place, column in enumerate(table.columns):
        texts = [_head(column)]
        texts += [_cell(printed(column, line.cells[place], table.protocol), styled) for line in table.lines]
        needed.append(max(_widest(text) for text in texts) + GAP)
    grids = _filled(needed, room)
    # As narrow as that many grids can be, so that no column is left to stand alone.
    narrower = [found for less in range(room) if len(found := _filled(needed, less)) == len(grids)]
    yield from narrower[0] if narrower else grids


def _filled(needed: Sequence[int], room: int) -> list[list[int]]:
    """Places of columns in grids that are filled one after another."""
    grids: list[list[int]] = []
    used = 0
    for place, width in enumerate(needed):
        if not grids or used + width > room:
            grids.append([])
            used = 0
        grids[-1].append(place)
        used += width
    return grids


def _widest(text: Text) -> int:
    return max(line.cell_len for line in text.split("\n", allow_blank=True))


def _head(column: Column) -> Text:
    # A stand-in's name, or a unit, goes to a line of its own, since it is longer than any figure.
    name = re.sub(r"(?<=\S)(?: (?=\()|(?=\[))", "\n", printable(column.head), count=1)
    return Text(f"{name} {column.arrow}".rstrip())


def _grid(table: Table, places: Sequence[int], styled: bool) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold" if styled else "")
    grid.add_column("system", overflow="fold")
    for place in places:
        grid.add_column(_head(table.columns[place]), justify="right", no_wrap=True)
    block = None
    anchored = False
    for line in table.lines:
        group = group_name(table, line)
        if group != block and table.by:
            grid.add_section()
            grid.add_row(Text(printable(group), style="bold" if styled else ""))
        elif line.role and not anchored and block is not None and not table.by:
            grid.add_section()
        block, anchored = group, bool(line.role)
        cells = [_cell(printed(table.columns[place], line.cells[place], table.protocol), styled) for place in places]
        grid.add_row(Text(f"{'  ' if table.by else ''}{printable(line.system)}"), *cells)
    return grid


def _cell(cell: Printed, styled: bool) -> Text:
    if styled:
        text = Text(cell.value, style=STYLES.get(cell.mark, ""))
    else:
        around = CHARACTERS.get(cell.mark, "")
        text = Text(f"{around}{cell.value}{around}")
    return Text("\n").join([text, *(Text(detail, style="dim") for detail in cell.details)])
