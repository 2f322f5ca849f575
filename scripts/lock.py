"""A lock on a folder that keeps a second run off it; the operating system frees it when its holder dies."""

from pathlib import Path

from filelock import FileLock
from filelock import Timeout

from .errors import UsageError


def hold(folder: Path, name: str, doing: str, remedy: str = "give another --out") -> FileLock:
    """Take the lock `name` of `folder`, made if need be.

    Args:
        folder: where the work is written.
        name: what of the folder is worked on.
        doing: what the other run does, for the message, e.g. `scoring edit`.
        remedy: what else to do than to wait.

    Raises:
        UsageError: another run holds it, or the folder can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = FileLock(folder / f".{name}.lock", timeout=0)
        held.acquire()
    except Timeout:
        raise UsageError(f"{folder}: another run is {doing} into this folder now; wait for it, or {remedy}") from None
    except OSError as error:
        raise UsageError(f"{folder}: expected a folder that can be written, got: {error.strerror}; {remedy}") from error
    return held
