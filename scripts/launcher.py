"""Which of a launcher's processes this is, as torchrun, accelerate and `--processes` tell it in the environment."""

import os
import signal
from dataclasses import dataclass
from types import FrameType

from .errors import UsageError

SUPERVISED = "MEDGEN_SUPERVISED"
"""The environment variable by which `--processes` says that it tells of its processes' ends."""


@dataclass(frozen=True, slots=True)
class Place:
    """A process among those of its run.

    Attributes:
        rank, size: its number and their count, over all machines.
        local_rank: its number on this machine.
    """

    rank: int
    size: int
    local_rank: int

    def device(self) -> str:
        """torch's name of the device that is this process's own; processes beyond the GPUs share them."""
        import torch

        wants_cpu = os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes")
        if wants_cpu or not torch.cuda.is_available():
            return "cpu"
        return f"cuda:{self.local_rank % torch.cuda.device_count()}"


def is_launched() -> bool:
    """Whether a launcher started this process."""
    return "WORLD_SIZE" in os.environ


def tells_end() -> bool:
    """Whether it is this process that tells of a run's end by Ctrl-C, which all its processes see."""
    return os.environ.get("RANK", "0") == "0" and SUPERVISED not in os.environ


def place() -> Place:
    """This process's place; the only one's without a launcher.

    Raises:
        UsageError: the environment tells but a part of it, or nonsense.
    """
    size = _number("WORLD_SIZE", 1, least=1)
    if size == 1:
        return Place(0, 1, 0)
    rank = _number("RANK", None, least=0, below=size)
    # A bare `srun` doesn't tell it under this name; nodes are filled one after another, unless told otherwise.
    return Place(rank, size, _number("LOCAL_RANK", rank, least=0))


def share(max_requests: int | None, max_cost: float | None, size: int) -> tuple[int | None, float | None]:
    """What one of `size` processes may spend, so that together they never exceed it; None: without bound.

    Raises:
        UsageError: fewer requests than processes.
    """
    if max_requests is not None and 0 < max_requests < size:
        raise UsageError(
            f"--max-requests: expected at least one for each of the {size} processes that share them, "
            f"got {max_requests}"
        )
    return (
        None if max_requests is None else max_requests // size,
        None if max_cost is None else max_cost / size,
    )


def _number(name: str, otherwise: int | None, least: int, below: int | None = None) -> int:
    text = os.environ.get(name, "" if otherwise is None else str(otherwise))
    bounds = f"{least} or more" if below is None else f"{least} to {below - 1}"
    if not text.isdecimal() or int(text) < least or (below is not None and int(text) >= below):
        raise UsageError(
            f"${name}: expected a number of {bounds} from the launcher of this process, got {text!r}; "
            f"a launcher of one's own sets RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT"
        )
    return int(text)


def heed_sigterm() -> None:
    """End at SIGTERM, by which a launcher ends its processes, as at Ctrl-C; a second one ends this process at once."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        raise KeyboardInterrupt

    if is_launched():
        signal.signal(signal.SIGTERM, interrupt)
