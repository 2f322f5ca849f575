"""Systems under evaluation that ship with the package."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..records import Records
    from .base import System


def _copy_input(records: "Records", seed: int) -> "System":
    from .baselines import CopyInput

    return CopyInput(records.config)


def _classical(records: "Records", seed: int) -> "System":
    from .classical import Classical

    return Classical(records.config)


def _shuffled(records: "Records", seed: int) -> "System":
    from .baselines import Shuffled

    return Shuffled(records, seed)


def _reference(records: "Records", seed: int) -> "System":
    from .baselines import Reference

    return Reference(records.config)


def _blank(records: "Records", seed: int) -> "System":
    from .baselines import Blank

    return Blank(records.config)


def _recipe(records: "Records", seed: int) -> "System":
    from .recipe import Recipe

    return Recipe(records.edition)


SYSTEMS: dict[str, Callable[["Records", int], "System"]] = {
    "copy-input": _copy_input,
    "classical": _classical,
    "shuffled": _shuffled,
    "reference": _reference,
    "blank": _blank,
    "recipe": _recipe,
}


ORACLES = ("reference", "recipe")
"""Those that hand out references: their outputs equal them by design, and tables don't rank them."""


def build(name: str, records: "Records", seed: int) -> "System":
    """A system by name, for the records of one config.

    Raises:
        UsageError: no such system.
    """
    if name not in SYSTEMS:
        raise UsageError(f"unknown system {name!r}; expected one of {', '.join(SYSTEMS)}")
    return SYSTEMS[name](records, seed)
