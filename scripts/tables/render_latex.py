"""Tables for a paper: LaTeX with `booktabs`."""

import re

from .model import Document
from .model import Table
from .printing import Printed
from .printing import printable
from .printing import rows

MARKS = {"best": r"\textbf{%s}", "second": r"\underline{%s}", "": "%s"}
ESCAPES = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # A bracket at the start of a row would be read as an option of the line break before it.
    "[": "{[}",
    "]": "{]}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "·": r"$\cdot$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "–": r"\textendash{}",
    "`": r"\textasciigrave{}",
    "…": r"\ldots{}",
}


def render(document: Document) -> str:
    """All tables, one `table` environment each, with the notes below it."""
    reading = ("Best is bold, second underlined.",) if document.marked else ()
    tables = (_table(table, (*table.notes, *reading, *document.notes)) for table in document.tables)
    return "\n".join(["% needs \\usepackage{booktabs}, and T1 fonts (\\usepackage[T1]{fontenc}) for quotes", *tables])


def escape(text: str) -> str:
    """Text that LaTeX sets as it is."""
    escaped = "".join(ESCAPES.get(character, character) for character in text)
    return re.sub("-(?=-)", "-{}", escaped)  # two hyphens would be set as a dash


def _table(table: Table, notes: tuple[str, ...]) -> str:
    by = [escape(table.by)] if table.by else []
    head = [*by, "system", *(escape(f"{printable(column.head)} {column.arrow}") for column in table.columns)]
    body, block = [], None
    for line, cells in zip(table.lines, rows(table, escape, _cell), strict=True):
        if block is not None and (line.kind, line.group) != block:
            body.append(r"\midrule")
        block = (line.kind, line.group)
        body.append(_row(cells))
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(printable(table.title))}}}",
            rf"\begin{{tabular}}{{{'l' * (len(by) + 1)}{'r' * len(table.columns)}}}",
            r"\toprule",
            _row(head),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\par\smallskip\footnotesize\raggedright",
            *(rf"{escape(printable(note))}\par" for note in notes),
            r"\end{table}",
            "",
        ]
    )


def _row(cells: list[str]) -> str:
    return rf"{' & '.join(cells)} \\"


def _cell(cell: Printed) -> str:
    small = [rf"{{\scriptsize {escape(detail)}}}" for detail in cell.details]
    return " ".join([MARKS[cell.mark] % escape(cell.value), *small])
