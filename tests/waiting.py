"""Waiting for what happens in its own time, however slow the machine is at the moment."""

import time
from collections.abc import Callable


def until(condition: Callable[[], object], seconds: float = 60) -> bool:
    """Whether the condition comes to hold within so many seconds; looked at every few milliseconds."""
    deadline = time.monotonic() + seconds
    while not (holds := bool(condition())) and time.monotonic() < deadline:
        time.sleep(0.005)
    return holds
