"""One process or several: which one this is, and how `--processes N` starts the others."""

import itertools
import logging
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field
from datetime import timedelta
from typing import NoReturn
from typing import Protocol

from ..errors import Failure
from ..errors import UsageError
from ..terminal import say

# Scoring holds no collective but the last barrier, and ranks reach it as far apart as their shares are long.
_BARRIER_LIMIT = timedelta(days=7)
_ANSWER_LIMIT = timedelta(minutes=10)  # of the store, which answers at once where its process lives


_PART = 2**20  # characters of a value; torch's store takes 8 MB

# Calls of `ranks` in this process; every process of a run makes the same ones.
_runs = itertools.count()


class Store(Protocol):
    """What processes share: torch's key-value store, which has a server in the launcher or in the main process."""

    def add(self, key: str, amount: int, /) -> int:
        """Add to a number, 0 at first, and get the sum."""
        ...

    def set(self, key: str, value: str, /) -> None:
        """Keep a value of at most some megabytes."""
        ...

    def get(self, key: str, /) -> bytes:
        """The value kept."""
        ...


class LocalStore:
    """The store of a process that is alone."""

    def __init__(self) -> None:
        self._numbers: defaultdict[str, int] = defaultdict(int)
        self._values: dict[str, bytes] = {}

    def add(self, key: str, amount: int) -> int:
        """Add to a number, 0 at first, and get the sum."""
        self._numbers[key] += amount
        return self._numbers[key]

    def set(self, key: str, value: str) -> None:
        """Keep a value."""
        self._values[key] = value.encode()

    def get(self, key: str) -> bytes:
        """The value kept."""
        return self._values[key]


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among all that score.

    Attributes:
        rank, size: its number and their count.
        device: torch's name of the device to use; None lets the tier choose.
        wait: blocks until all processes call it.
        parent: process id of the launcher, None where there is none.
        store: shared by the processes of this run.
    """

    rank: int
    size: int
    device: str | None
    wait: Callable[[], None]
    parent: int | None = None
    store: Store = field(default_factory=LocalStore)

    @property
    def is_main(self) -> bool:
        """Whether this process reads, reports and aggregates for all."""
        return self.rank == 0

    def is_orphan(self) -> bool:
        """Whether the launcher died. Its workers must not write on while a new run starts."""
        return self.parent is not None and os.getppid() != self.parent

    def take(self, stage: str, count: int) -> Iterator[int]:
        """Numbers from 0 to `count` - 1, each to one of the processes, the next to the one that asks next.

        A process that is slow, or dies, keeps no number but its last from the others.

        Args:
            stage: names what is counted; every process passes the same stages.
            count: of numbers.

        Raises:
            Failure: the process that counts is gone.
        """
        while True:
            try:
                number = self.store.add(stage, 1) - 1
            except RuntimeError as error:  # torch.distributed's only kind
                raise Failure(_ENDED) from error
            if number >= count:
                return
            yield number

    def tell(self, what: str, value: str) -> None:
        """Leave a text of this process for the main one, to be `heard` behind `wait`."""
        parts = [value[start : start + _PART] for start in range(0, len(value), _PART)]
        try:
            for number, part in enumerate(parts):
                self.store.set(f"{what}/{self.rank}/{number}", part)
            self.store.set(f"{what}/{self.rank}", str(len(parts)))
        except RuntimeError as error:
            raise Failure(_ENDED) from error

    def heard(self, what: str) -> list[str]:
        """What each process told, by rank."""
        try:
            return [self._heard(f"{what}/{rank}") for rank in range(self.size)]
        except RuntimeError as error:
            raise Failure(_ENDED) from error

    def _heard(self, key: str) -> str:
        parts = int(self.store.get(key))
        return b"".join(self.store.get(f"{key}/{number}") for number in range(parts)).decode()


_ENDED = "another process of this run has ended before its share was scored; what is scored is kept, run again"


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
            store=_store(),
        )
    else:
        found = Ranks(rank=0, size=1, device=device, wait=lambda: None)
    if expected is not None and found.size != expected:
        raise UsageError(
            f"expected {expected} processes, got {found.size}. `accelerate launch --cpu` starts one process whatever "
            f"--num_processes says; use `medgen-bench score --processes {expected}` or torchrun."
        )
    return found


def _store() -> Store:
    """The launcher's store, or the main process's, under names of this run alone."""
    import torch.distributed

    store, _, _ = next(torch.distributed.rendezvous("env://", timeout=_ANSWER_LIMIT))
    # A launcher's store outlives the processes that it starts again.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return torch.distributed.PrefixStore(f"medgen-bench/{attempt}/{next(_runs)}", store)


def _wait(barrier: Callable[[], None]) -> None:
    try:
        barrier()
    except RuntimeError as error:  # torch.distributed's only kind
        raise Failure(_ENDED) from error


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
        say(f"{killed}; what is scored is kept, run again")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
