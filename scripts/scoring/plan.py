"""Batches, planned once from the whole list of records.

The plan depends on the records and predictions alone, never on the number of processes or on what is done already, so
that a record is always scored in the same company: padding and batch shape can move the last bits of a score.
"""

from collections.abc import Hashable
from collections.abc import Sequence


def plan(costs: Sequence[int], size: int, budget: int | None = None, *, is_sorted: bool = True) -> list[list[int]]:
    """Group positions into batches of at most `size`.

    Args:
        costs: a cost for each position (e.g. text length).
        size: the most positions a batch.
        budget: the most that a batch of several positions costs, so that none keeps a process much longer than another.
        is_sorted: batches hold positions of similar cost, equal ones in their order; else all keep their order.

    >>> plan([30, 10, 20], size=2)
    [[1, 2], [0]]
    >>> plan([30, 10, 20], size=3, budget=35, is_sorted=False)
    [[0], [1, 2]]
    """
    order = list(range(len(costs)))
    if is_sorted:
        order.sort(key=lambda position: (costs[position], position))
    batches: list[list[int]] = []
    spent = 0
    for position in order:
        if not batches or len(batches[-1]) == size or (budget is not None and spent + costs[position] > budget):
            batches.append([])
            spent = 0
        batches[-1].append(position)
        spent += costs[position]
    return batches


def runs(places: Sequence[Hashable | None]) -> list[list[int]]:
    """Positions that follow each other and have the same place; one without a place stays alone.

    >>> runs(["a", "a", None, None, "b"])
    [[0, 1], [2], [3], [4]]
    """
    found: list[list[int]] = []
    for position, place in enumerate(places):
        if position and place is not None and place == places[position - 1]:
            found[-1].append(position)
        else:
            found.append([position])
    return found


def alike(contents: Sequence[Hashable]) -> list[list[int]]:
    """Positions of equal content together, in the order of each content's first.

    >>> alike(["a", "b", "a"])
    [[0, 2], [1]]
    """
    found: dict[Hashable, list[int]] = {}
    for position, content in enumerate(contents):
        found.setdefault(content, []).append(position)
    return list(found.values())
