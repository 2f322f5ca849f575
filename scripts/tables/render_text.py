"""Tables for a terminal, readable in 100 columns."""

from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from .model import Document
from .model import Table
from .printing import Printed
from .printing import group_name
from .printing import printable
from .printing import printed

WIDTH = 100
# Where a terminal can't show bold and underlined, marks are characters.
STYLES = {"best": "bold", "second": "underline"}
CHARACTERS = {"best": "*", "second": "_"}


def write(document: Document, console: Console) -> None:
    """Print all tables and notes; names from result files are data, never markup."""
    styled = console.is_terminal and not console.is_dumb_terminal
    with console.capture() as capture:
        for part in _parts(document, styled):
            console.print(part)
    # Padding to the full width would wrap in a narrower window, and litter files.
    for line in capture.get().removesuffix("\n").split("\n"):
        console.file.write(f"{line.rstrip()}\n")


def _parts(document: Document, styled: bool) -> Iterator[RenderableType]:
    for table in document.tables:
        yield Text(printable(table.title), style="bold")
        yield _grid(table, styled)
        yield from _notes(table.notes)
        yield Text()
    if document.marked:
        yield from _notes(
            ["Best is bold, second underlined." if styled else "Best is *starred*, second _underscored_."]
        )
    yield from _notes(document.notes)


def _notes(notes: tuple[str, ...] | list[str]) -> Iterator[RenderableType]:
    return (Padding(Text(printable(note), style="dim"), (0, 0, 0, 2)) for note in notes)


def _grid(table: Table, styled: bool) -> Grid:
    grid = Grid(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="bold" if styled else "")
    grid.add_column("system", overflow="fold")
    for column in table.columns:
        # A stand-in's name goes to a line of its own, since it is longer than any figure.
        head = printable(column.head).replace("[", "\n[", 1)
        grid.add_column(Text(f"{head} {column.arrow}"), justify="right", no_wrap=True)
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
        cells = [
            _cell(printed(column, cell, table.protocol), styled)
            for column, cell in zip(table.columns, line.cells, strict=True)
        ]
        grid.add_row(Text(f"{'  ' if table.by else ''}{printable(line.system)}"), *cells)
    return grid


def _cell(cell: Printed, styled: bool) -> Text:
    if styled:
        text = Text(cell.value, style=STYLES.get(cell.mark, ""))
    else:
        around = CHARACTERS.get(cell.mark, "")
        text = Text(f"{around}{cell.value}{around}")
    return Text("\n").join([text, *(Text(detail, style="dim") for detail in cell.details)])
