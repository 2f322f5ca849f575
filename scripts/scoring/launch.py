"""One process or several: which one this is, and how `--processes N` starts the others."""

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import NoReturn

from ..errors import Failure
from ..errors import UsageError

# Scoring holds no collective but the last barrier, and ranks reach it as far apart as their shares are long.
_BARRIER_LIMIT = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among all that score.

    Attributes:
        rank, size: its number and their count.
        device: torch's name of the device to use; None lets the tier choose.
        wait: blocks until all processes call it.
        parent: process id of the launcher, None where there is none.
    """

    rank: int
    size: int
    device: str | None
    wait: Callable[[], None]
    parent: int | None = None

    @property
    def is_main(self) -> bool:
        """Whether this process reads, reports and aggregates for all."""
        return self.rank == 0

    def is_orphan(self) -> bool:
        """Whether the launcher died. Its workers must not write on while a new run starts."""
        return self.parent is not None and os.getppid() != self.parent


def ranks(expected: int | None, device: str | None) -> Ranks:
    """Join the launcher's processes, or be the only one.

    Args:
        expected: number of processes that the user asked for; None takes any.
        device: torch's name of a device, None for this process's own.

    Raises:
        UsageError: the launcher started another number than `expected`.
    """
    under_launcher = int(os.environ.get("WORLD_SIZE", "1")) > 1
    if under_launcher:
        import torch
        from accelerate import PartialState

        state = PartialState(cpu=not torch.cuda.is_available(), timeout=_BARRIER_LIMIT)
        found = Ranks(
            rank=state.process_index,
            size=state.num_processes,
            device=device or str(state.device),
            wait=lambda: _wait(state.wait_for_everyone),
            parent=os.getppid(),
        )
    else:
        found = Ranks(rank=0, size=1, device=device, wait=lambda: None)
    if expected is not None and found.size != expected:
        raise UsageError(
            f"expected {expected} processes, got {found.size}. `accelerate launch --cpu` starts one process whatever "
            f"--num_processes says; use `medgen-bench score --processes {expected}` or torchrun."
        )
    return found


def _wait(barrier: Callable[[], None]) -> None:
    try:
        barrier()
    except RuntimeError as error:  # torch.distributed's only kind
        raise Failure(
            "another process of this run has ended before its share was scored; what is scored is kept, run again"
        ) from error


def is_worker() -> bool:
    """Whether a launcher started this process."""
    return "WORLD_SIZE" in os.environ


def relaunch(processes: int, arguments: list[str]) -> NoReturn:
    """Become torchrun (`main`) on a free port, whose `processes` workers run `medgen_scripts.score` on `arguments`."""
    environment = dict(os.environ)
    # torchrun would set one thread a process, with a warning; the cores are shared out instead.
    environment.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    command = [sys.executable, "-m", __name__, "--standalone", f"--nproc-per-node={processes}"]
    os.execve(sys.executable, [*command, "-m", "medgen_scripts.score", *arguments], environment)


def main(arguments: list[str]) -> int:
    """Run torchrun with these arguments; a worker's failure ends it with that worker's exit code, not in a traceback.

    A worker that failed has said why itself; one that was killed has not, and is told here.
    """
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    logging.disable(logging.ERROR)  # torchrun's account of what a worker has told
    try:
        run.main(arguments)
    except ChildFailedError as error:
        rank, failure = error.get_first_failure()
        if failure.exitcode > 0:
            return int(failure.exitcode)
        killed = f"process {rank} of the run was killed by signal {-failure.exitcode}"
        print(f"medgen-bench: {killed}; what is scored is kept, run again", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
