"""Tables for GitHub, Hub cards and anything else that reads GitHub's Markdown."""

import re

from .model import Document
from .model import Table
from .printing import Printed
from .printing import printable
from .printing import rows

# `ins` is what GitHub's sanitizer leaves of the ways to underline.
MARKS = {"best": "**{}**", "second": "<ins>{}</ins>", "": "{}"}


def render(document: Document) -> str:
    """All tables, each under a heading, then the notes that hold for all."""
    reading = ["Best is bold, second underlined."] if document.marked else []
    return "\n\n".join([*map(_table, document.tables), _notes((*reading, *document.notes))]) + "\n"


def escape(text: str) -> str:
    """Text that Markdown shows as it is, inside a table cell too."""
    return re.sub(r"([\\`*_{}\[\]<>|~#&$])", r"\\\1", text)


def _table(table: Table) -> str:
    by = [table.by] if table.by else []
    head = [*by, "system", *(f"{escape(printable(column.head))} {column.arrow}" for column in table.columns)]
    rule = ["---"] * (len(by) + 1) + ["---:"] * len(table.columns)
    lines = [head, rule, *rows(table, escape, _cell)]
    grid = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return "\n\n".join([f"### {escape(printable(table.title))}", grid, *([_notes(table.notes)] if table.notes else [])])


def _cell(cell: Printed) -> str:
    small = [f"<sub>{escape(detail)}</sub>" for detail in cell.details]
    return " ".join([MARKS[cell.mark].format(cell.value), *small])


def _notes(notes: tuple[str, ...]) -> str:
    return "\n".join(f"- {escape(printable(note))}" for note in notes)
