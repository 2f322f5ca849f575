"""What a user means by a system's name: a built-in baseline, a system of the package, a file, or a short form."""

import difflib
from pathlib import Path

from ..errors import UsageError
from . import SYSTEMS
from . import short
from .file import SystemFile
from .file import catalogue
from .file import load


def named(system: str | Path | SystemFile, config: str | None = None) -> SystemFile | str:
    """A system's file, or a baseline's name.

    Args:
        system: a name of `SYSTEMS` or of the catalogue, a file, or one of `short.FORMS`.
        config: that a short form is for; default the first that its back end may serve.

    Raises:
        UsageError: none of these, or a file with faults.
    """
    if isinstance(system, str) and system in SYSTEMS:
        return system
    if isinstance(system, str) and short.is_short(system):
        system = short.read(system, config)
    found = system if isinstance(system, SystemFile) else load(system)
    if found.name in SYSTEMS:
        raise UsageError(f"{system}: {found.name} is a built-in baseline's name; give the system another")
    return found


def unknown(name: str) -> UsageError:
    """What to say of a name that means no system."""
    near = difflib.get_close_matches(name, [*SYSTEMS, *catalogue()], 3)
    hint = f" near: {', '.join(near)};" if near else ""
    return UsageError(
        f"unknown system {name!r};{hint} expected one of {', '.join(SYSTEMS)}, one that `medgen-bench systems list` "
        f"names, a YAML file, or one of {', '.join(short.FORMS.values())}"
    )
