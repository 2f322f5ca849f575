"""Whether a system may be run as asked, before anything is sent."""

import os
from collections.abc import Sequence

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.redact import secrets_of
from medgen_metrics.serving.usage import Usage

from ..backends.base import IN_PROCESS
from ..errors import UsageError
from ..systems.file import SystemFile
from .options import RunOptions


def check(system: SystemFile, config: str, roles: Sequence[str], options: RunOptions) -> None:
    """Refuse what can't be run.

    Raises:
        UsageError: a config that the system doesn't serve, options that don't go with it, keys that aren't set.
    """
    if config not in system.configs:
        raise UsageError(
            f"{system.name} ({system.shape}) serves {', '.join(system.configs)}; got config {config}. "
            f"`medgen-bench systems list` says which systems serve it"
        )
    if options.blind and system.shape not in ("vlm", "unified"):
        raise UsageError(f"--blind: expected a vlm or unified system, got {system.name} ({system.shape})")
    if options.max_attempts is not None and options.max_attempts < 1:
        raise UsageError(f"--max-attempts: expected 1 or more, got {options.max_attempts}")
    components = [system.components[role].resolved() for role in roles]
    absent = [one.key_env for one in components if one.key_env and not os.environ.get(one.key_env, "").strip()]
    if absent and not options.dry_run:
        names = ", ".join(f"${name}" for name in dict.fromkeys(absent))
        raise UsageError(
            f"{system.name}: {names} not set; expected the key there. `medgen-bench systems show {system.name}` says "
            f"whose it is"
        )


def secrets(system: SystemFile) -> list[str]:
    """Keys and credentials that a system is run with."""
    found = []
    for component in system.components.values():
        found += [os.environ.get(component.key_env, "").strip()] if component.key_env else []
        found += secrets_of(component.resolved().base_url or "")
    return [secret for secret in found if secret]


def budget_of(system: SystemFile, roles: Sequence[str], options: RunOptions) -> Budget:
    """What the run may spend.

    Raises:
        UsageError: a limit without prices, or a table that lacks a model.
    """
    try:
        budget = Budget(options.max_requests, options.max_cost, options.prices)
        for role in roles:
            component = system.components[role].resolved()
            if component.backend not in IN_PROCESS:
                budget.price(Usage(requests=1), component.model)
    except (ValueError, OSError) as error:
        raise UsageError(str(error)) from error
    return budget
