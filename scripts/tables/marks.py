"""Best and second best, set only among systems that can be compared."""

from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace

from .columns import Column
from .model import Line


def mark(lines: Sequence[Line], columns: Sequence[Column]) -> list[Line]:
    """Set `best` and `second` column by column, within each group of lines.

    Compared are means over the records that every shown system has scored, as printed: values that print alike are
    tied, and all of them are marked. Anchors are never marked. No marks where fewer than two systems can be compared,
    where one's mean leaves out records of its own, or where the means that are printed would be marked otherwise: a
    reader would see best on a lower figure.
    """
    marks: dict[tuple[int, int], str] = {}
    for place, column in enumerate(columns):
        if not column.ranked:
            continue
        for numbers in _blocks(lines).values():
            found = _places(lines, numbers, place, column)
            if not _contradicts(lines, numbers, place, column, found):
                marks |= {(number, place): name for number, name in found.items()}
    return [
        replace(
            line,
            cells=tuple(
                replace(cell, mark=marks[number, place]) if cell is not None and (number, place) in marks else cell
                for place, cell in enumerate(line.cells)
            ),
        )
        for number, line in enumerate(lines)
    ]


def contradicted(lines: Sequence[Line], place: int, column: Column) -> list[list[Line]]:
    """The groups of lines in which a column has no marks because printed means and common records' disagree."""
    if not column.ranked:
        return []
    return [
        [lines[number] for number in numbers if lines[number].cells[place] is not None]
        for numbers in _blocks(lines).values()
        if _contradicts(lines, numbers, place, column, _places(lines, numbers, place, column))
    ]


def _blocks(lines: Sequence[Line]) -> dict[tuple[str, str], list[int]]:
    """Numbers of the lines that are compared with each other."""
    blocks: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        if not line.role:
            blocks[line.kind, line.group].append(number)
    return blocks


def _contradicts(
    lines: Sequence[Line], numbers: Sequence[int], place: int, column: Column, found: Mapping[int, str]
) -> bool:
    """Whether marks by the printed means would be others than `found`."""
    printed = {
        number: float(column.printed(cell.mean))
        for number in numbers
        if (cell := lines[number].cells[place]) is not None and cell.mean is not None and cell.common is not None
    }
    return bool(found) and _first_two(printed, column) != found


def _places(lines: Sequence[Line], numbers: Sequence[int], place: int, column: Column) -> dict[int, str]:
    values: dict[int, float] = {}
    for number in numbers:
        cell = lines[number].cells[place]
        if cell is not None and cell.uneven:
            return {}
        if cell is not None and cell.common is not None:
            values[number] = float(column.printed(cell.common))
    return _first_two(values, column) if len(values) > 1 else {}


def _first_two(values: Mapping[int, float], column: Column) -> dict[int, str]:
    ranking = sorted(set(values.values()), reverse=column.higher_is_better)
    names = dict(zip(ranking, ("best", "second"), strict=False))
    return {number: names[value] for number, value in values.items() if value in names}
