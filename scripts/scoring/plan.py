"""Batches, planned once from the whole list of records.

The plan depends on the records and predictions alone, never on the number of processes or on what is done already, so
that a record is always scored in the same company: padding and batch shape can move the last bits of a score.
"""

from collections.abc import Sequence


def plan(costs: Sequence[int], size: int) -> list[list[int]]:
    """Group positions into batches of `size` of similar cost.

    Args:
        costs: a cost for each position (e.g. text length); equal costs keep their order.
        size: positions a batch.

    >>> plan([30, 10, 20], size=2)
    [[1, 2], [0]]
    """
    order = sorted(range(len(costs)), key=lambda position: (costs[position], position))
    return [order[start : start + size] for start in range(0, len(order), size)]


def share(batches: Sequence[list[int]], rank: int, size: int) -> list[list[int]]:
    """This process's batches: every `size`-th, so that costly ones at the end are spread."""
    return list(batches[rank::size])
