"""What a cell prints, the same in every format for readers."""

from collections.abc import Callable
from collections.abc import Iterator
from typing import NamedTuple

from medgen_metrics.failures import is_system_failure

from .anchors import shown_position
from .columns import Column
from .model import Cell
from .model import Line
from .model import Table

NONE = "–"
NOT_APPLICABLE = "n/a"


class Printed(NamedTuple):
    """A cell's text: its value, what stands beside it in small, and `best`, `second` or nothing."""

    value: str
    details: tuple[str, ...] = ()
    mark: str = ""


def printed(column: Column, cell: Cell | None, protocol: str) -> Printed:
    """A cell as readers see it: the mean; beside it the mean with failures at worst, and coverage where incomplete."""
    if cell is None:
        return Printed(NONE)
    if cell.n == 0:
        return Printed(NOT_APPLICABLE)
    value = NONE if cell.mean is None else column.printed(cell.mean)
    details = []
    worst = NONE if cell.worst is None else column.printed(cell.worst)
    if protocol == "standard" and any(map(is_system_failure, cell.failures)) and worst != value:
        details.append(f"[{worst}]")
    details += _beside(column, cell)
    # Over groups there are no shares of the paper's EM; those of all records stand in the line `micro`.
    if not cell.complete and not column.has_own_shares:
        details.append(f"{cell.scored}/{cell.n}")
    return Printed(value, tuple(details), cell.mark)


def _beside(column: Column, cell: Cell) -> Iterator[str]:
    """What a metric's own definition puts beside its mean."""
    if cell.groups:
        yield cell.groups
    if cell.interval is not None and cell.interval.low is not None and cell.interval.high is not None:
        yield f"{column.printed(cell.interval.low)}–{column.printed(cell.interval.high)}"
    if cell.position is not None:
        yield shown_position(column, cell.position)
    extras = cell.extras
    if extras.get("pooled") is not None:
        yield f"pooled {column.printed(extras['pooled'])}"
    if extras.get("identical_share"):
        yield f"identical {extras['identical_share']:.1%}"
    if column.metric == "em" and extras:
        if column.has_own_shares:
            left_out = sum(cell.failures.values()) - sum(cell.wrong.values())
            yield f"{extras['right']}/{cell.n - left_out} right"
            yield f"{extras['parsed']}/{extras['closed']} parsed"
        elif extras["chance"] is not None:
            yield f"chance {column.printed(extras['chance'])}"


def printable(text: str) -> str:
    """One line of printable characters: control and format characters, which could steer a terminal, are spelled out.

    >>> printable("a\\x1b[31mb\\n")
    'a\\\\x1b[31mb\\\\n'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def group_name(table: Table, line: Line) -> str:
    """What a line's block is called; empty where lines aren't grouped."""
    return line.group if line.kind in ("group", "all") else line.kind


def rows(table: Table, escape: Callable[[str], str], write: Callable[[Printed], str]) -> list[list[str]]:
    """A table's rows as text: group (only where lines are grouped), system, cells."""
    return [
        [
            *([escape(printable(group_name(table, line)))] if table.by else []),
            escape(printable(line.system)),
            *(
                write(printed(column, cell, table.protocol))
                for column, cell in zip(table.columns, line.cells, strict=True)
            ),
        ]
        for line in table.lines
    ]
