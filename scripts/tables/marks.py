"""Best and second best, set only among systems that can be compared."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from .columns import Column
from .model import Line


def mark(lines: Sequence[Line], columns: Sequence[Column]) -> list[Line]:
    """Set `best` and `second` column by column, within each group of lines.

    Compared are means over the records that every shown system has scored, as printed: values that print alike are
    tied, and all of them are marked. Anchors are never marked. No marks where fewer than two systems can be compared,
    or where one's mean leaves out records of its own.
    """
    marks: dict[tuple[int, int], str] = {}
    blocks: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        if not line.role:
            blocks[line.kind, line.group].append(number)
    for place, column in enumerate(columns):
        if not column.ranked:
            continue
        for numbers in blocks.values():
            for number, name in _places(lines, numbers, place, column).items():
                marks[number, place] = name
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


def _places(lines: Sequence[Line], numbers: Sequence[int], place: int, column: Column) -> dict[int, str]:
    values: dict[int, float] = {}
    for number in numbers:
        cell = lines[number].cells[place]
        if cell is not None and cell.uneven:
            return {}
        if cell is not None and cell.common is not None:
            values[number] = float(column.printed(cell.common))
    if len(values) < 2:
        return {}
    ranking = sorted(set(values.values()), reverse=column.higher_is_better)
    names = dict(zip(ranking, ("best", "second"), strict=False))
    return {number: names[value] for number, value in values.items() if value in names}
