"""Why systems' values can't stand in one column: they were made in different ways."""

from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from ..errors import UsageError
from ..result_file import Tier
from ..result_file import shorten
from . import columns
from . import judged
from .entry import Entry

FILES = 5
"""Files that a message lists of one definition; the rest are counted."""


class Conflicts:
    """What parts the files of one table, gathered over its columns so that each thing is told once.

    Args:
        config: the table's.
    """

    def __init__(self, config: str) -> None:
        self._config = config
        # tier -> definition -> its files, of those whose signatures are equal; two files' signatures -> heads
        self._definitions: dict[str, dict[str, dict[Path, None]]] = {}
        self._signatures: dict[str, list[str]] = {}

    def look(self, metric: str, sources: Sequence[tuple[Entry, str]]) -> None:
        """Compare how one column's values were made.

        Args:
            metric: the column.
            sources: results that have values, each with the tier that they are of.
        """
        (first, tier), *others = sources
        one = first.result.tiers[tier]
        redefined = False
        for other, other_tier in others:
            two = other.result.tiers[other_tier]
            if _agree(metric, tier, one, other_tier, two):
                continue
            if (tier, one.signature) == (other_tier, two.signature):
                redefined = True
                continue
            pair = (
                f"{first.path} has {one.signature} (definition {one.definition}), "
                f"{other.path} has {two.signature} (definition {two.definition})"
            )
            self._signatures.setdefault(pair, []).append(columns.head(metric))
        if redefined:
            files = self._definitions.setdefault(tier, {})
            for entry, of in sources:
                made = entry.result.tiers[of]
                if (of, made.signature) == (tier, one.signature):
                    files.setdefault(made.definition, {})[entry.path] = None

    def refuse(self) -> None:
        """Say what was found.

        Raises:
            UsageError: something was.
        """
        if told := [*self._by_definition(), *self._by_signature()]:
            raise UsageError("\n".join(told))

    def _by_definition(self) -> Iterator[str]:
        for tier, made in self._definitions.items():
            files = [
                f"{definition}: {shorten([str(path) for path in paths], ', ', FILES)}"
                for definition, paths in made.items()
            ]
            yield (
                f"{self._config}: run `medgen-bench score` again on the older files (scores whose definition is "
                f"unchanged are reused), or print them in separate calls: expected one definition of tier {tier}, got "
                f"{len(made)} under one signature (another version scored, or other weights): {shorten(files, '; ')}"
            )

    def _by_signature(self) -> Iterator[str]:
        faults = [f"{', '.join(heads)}: {pair}" for pair, heads in self._signatures.items()]
        if faults:
            yield (
                f"{self._config}: expected one signature a column, got {shorten(faults, '; ')}. Run `medgen-bench "
                "score` again on both (scores whose definition is unchanged are reused), or print them in separate "
                "calls."
            )


def _agree(metric: str, tier: str, one: Tier, other_tier: str, two: Tier) -> bool:
    """Whether two systems' values can stand in one column."""
    if tier == other_tier == judged.TIER and one.definition == two.definition:
        # A server's fingerprint, which the signature shows, may change from day to day; the foot gives all.
        return True
    same = columns.column_signature(one.signature, metric) == columns.column_signature(two.signature, metric)
    return same and (one.signature != two.signature or one.definition == two.definition)
