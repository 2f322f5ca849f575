"""`medgen-bench systems list|show|check`: what can be run, and whether it could be run now."""

import json
import os
import shlex
from collections.abc import Sequence
from typing import Any

import anyio

from .backends import base
from .backends.base import IN_PROCESS
from .errors import Failure
from .errors import UsageError
from .prediction import GIVES
from .systems import SYSTEMS
from .systems.file import SystemFile
from .systems.file import catalogue
from .systems.file import load
from .systems.named import named


def list_systems(config: str | None, *, as_json: bool) -> None:
    """Print the systems of the package, those of a config where one is given."""
    found = [load(name) for name in catalogue()]
    chosen = [system for system in found if config is None or config in system.configs]
    if as_json:
        print(json.dumps([{**system.described(), "text_only": system.text_only} for system in chosen], indent=2))
        return
    rows = [("system", "shape", "track", "configs", "models", "verified")]
    rows += [(name, "baseline", "baseline", _gives(name), "", "") for name in SYSTEMS if _serves(name, config)]
    rows += [
        (
            system.name,
            system.shape,
            system.track,
            ",".join(system.configs),
            " + ".join(one.label for one in system.components.values()),
            system.verified,
        )
        for system in chosen
    ]
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print(
        "verified: whether it was run against the real models (a date), against stand-ins that speak their protocol "
        "(loopback), or never. `medgen-bench systems show SYSTEM` says more."
    )


def show_system(name: str) -> None:
    """Print what a system's file says, and what it needs."""
    import yaml

    system = named(name)
    if isinstance(system, str):
        print(f"{name}: a built-in baseline, which needs no model; medgen-bench run {name} CONFIG")
        return
    print(yaml.safe_dump(system.described(), sort_keys=False, allow_unicode=True, width=110).rstrip())
    print()
    print(f"digest: {system.digest}")
    if system.text_only:
        print("What makes its images never sees the input image (text-only); tables mark it.")
    for role, component in system.components.items():
        needs = []
        if component.key_env:
            is_set = "set" if os.environ.get(component.key_env) else "not set"
            needs.append(f"${component.key_env} ({is_set})")
        needs += [
            f"${variable} ({'set' if os.environ.get(variable) else 'not set'})" for variable in component.variables
        ]
        where = "in this process" if component.backend in IN_PROCESS else "behind a server"
        print(f"{role}: {component.label}, {component.backend}, {where}; needs {', '.join(needs) or 'nothing set'}")
    print(f"Run it: medgen-bench run {shlex.quote(name)} {system.configs[0]}")


def check_system(name: str, *, ping: bool) -> None:
    """Say what stands in the way of a run.

    Raises:
        Failure: something does.
    """
    system = named(name)
    if isinstance(system, str):
        print(f"{name}: a built-in baseline, which needs nothing")
        return
    found = anyio.run(_findings, system, ping)
    for role, component in system.components.items():
        said = found[role]
        print(f"{role} ({component.label}): {'; '.join(said) if said else 'ready'}")
    if any(found.values()):
        raise Failure(f"{name}: not ready to be run")


async def _findings(system: SystemFile, ping: bool) -> dict[str, Sequence[str]]:
    found: dict[str, Sequence[str]] = {}
    for role, component in system.components.items():
        try:
            backend: Any = base.make(component)
        except UsageError as error:
            found[role] = [str(error)]
            continue
        try:
            found[role] = await backend.check(ping)
        finally:
            await backend.aclose()
    return found


def _serves(name: str, config: str | None) -> bool:
    return config is None or config in _gives(name).split(",")


def _gives(name: str) -> str:
    return "edit" if name == "recipe" else ",".join(GIVES)
