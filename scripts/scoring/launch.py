"""One process or several: which one this is, and what they share while they score.

Nothing here is collective. Processes share torch's key-value store and nothing else: numbers to take, texts to tell,
and signs of life, so that none waits for one that has died.
"""

import os
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from datetime import timedelta
from functools import cache
from itertools import count
from typing import TYPE_CHECKING
from typing import TypeVar

from ..errors import Failure
from ..errors import UsageError
from ..launcher import place
from . import signs
from .signs import gone

if TYPE_CHECKING:
    from torch.distributed import TCPStore

_ANSWER_LIMIT = timedelta(minutes=10)  # of the store, which answers at once where its process lives
_POLL = 0.05  # seconds
_PART = 2**20  # characters of a value; torch's store takes 8 MB

Value = TypeVar("Value")

# Calls of `ranks` in this process; every process of a run makes the same ones.
_runs = count()


@dataclass(frozen=True, slots=True)
class Ranks:
    """This process among all that score; `leave` ends its part.

    Attributes:
        rank, size: its number and their count.
        device: torch's name of the device to use; None lets the tier choose.
        parent: process id of the launcher, None where there is none.
        store: shared by the processes of this run.
        beat: this process's signs of life, where others look for them.
    """

    rank: int
    size: int
    device: str | None
    parent: int | None = None
    store: signs.Store = field(default_factory=signs.LocalStore)
    beat: signs.Beat | None = None

    @property
    def is_main(self) -> bool:
        """Whether this process reads, reports and aggregates for all."""
        return self.rank == 0

    def step(self) -> None:
        """To be called at every step of the work.

        Raises:
            Failure: the launcher died. Its workers must not write on while a new run starts.
        """
        if self.beat is not None:
            self.beat.moved = time.monotonic()
        if self.parent is not None and os.getppid() != self.parent:
            raise Failure("the launcher of this process is gone; what is scored is kept")

    def take(self, stage: str, count: int) -> Iterator[int]:
        """Numbers from 0 to `count` - 1, each to one of the processes, the next to the one that asks next.

        A process that is slow, or dies, keeps no number but its last from the others.

        Args:
            stage: names what is counted; every process passes the same stages.
            count: of numbers.

        Raises:
            Failure: the process that counts is gone, or the launcher.
        """
        while True:
            self.step()
            number = _asked(lambda: self.store.add(stage, 1)) - 1
            if number >= count:
                return
            yield number

    def tell(self, what: str, value: str = "") -> None:
        """Leave a text of this process for the others.

        Raises:
            Failure: the process that keeps it is gone.
        """
        parts = [value[start : start + _PART] for start in range(0, len(value), _PART)]
        key = f"{what}/{self.rank}"

        def told() -> None:
            for number, part in enumerate(parts):
                self.store.set(f"{key}/{number}", part)
            self.store.set(key, str(len(parts)))

        _asked(told)

    def heard(self, what: str, ranks: Iterable[int] | None = None) -> list[str | None]:
        """What processes tell, waited for; None of one that is gone and has not told it.

        Args:
            what: as they `tell` it.
            ranks: whose; default: everyone's, by rank.

        Raises:
            Failure: the process that keeps it is gone.
        """
        asked = list(range(self.size) if ranks is None else ranks)
        return _asked(lambda: self._heard(what, asked))

    def _heard(self, what: str, asked: Sequence[int]) -> list[str | None]:
        found: dict[int, str | None] = {}
        pulses = signs.Pulses(self.store)
        passed = 0.0
        while waiting := [rank for rank in asked if rank not in found]:
            self.step()
            for rank in waiting:
                # In this order: one that tells and goes has told.
                is_gone = self.store.check([gone(rank)]) or pulses.still(rank, passed)[1] > signs.SILENT
                if self.store.check([f"{what}/{rank}"]):
                    found[rank] = self._told(f"{what}/{rank}")
                elif is_gone:
                    found[rank] = None
            if len(found) < len(asked):
                time.sleep(_POLL)
                passed = _POLL
        return [found[rank] for rank in asked]

    def _told(self, key: str) -> str:
        parts = int(self.store.get(key))
        return b"".join(self.store.get(f"{key}/{number}") for number in range(parts)).decode()

    def alone(self) -> "Ranks":
        """This process without the others."""
        return replace(self, size=1, store=signs.LocalStore())

    def leave(self) -> None:
        """Tell the others that no more is to be expected of this process."""
        if self.beat is not None:
            self.beat.stop()
            with suppress(RuntimeError):
                self.store.set(gone(self.rank), "it left")


def _asked(ask: Callable[[], Value]) -> Value:
    try:
        return ask()
    except RuntimeError as error:  # torch.distributed's only kind
        raise Failure(
            "another process of this run has ended before its share was scored; what is scored is kept, run again"
        ) from error


def ranks(expected: int | None, device: str | None) -> Ranks:
    """Join the launcher's processes, or be the only one.

    Args:
        expected: number of processes that the user asked for; None takes any.
        device: torch's name of a device, None for this process's own.

    Raises:
        UsageError: the launcher started another number than `expected`, or told this process not enough.
        Failure: the main process is not to be found.
    """
    here = place()
    if expected is not None and here.size != expected:
        raise UsageError(
            f"expected {expected} processes, got {here.size}. `accelerate launch --cpu` starts one process whatever "
            f"--num_processes says; use `medgen-bench score --processes {expected}` or torchrun."
        )
    if here.size == 1:
        return Ranks(rank=0, size=1, device=device)
    # Else it prints its own stack beside our message where the store is gone.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    import torch.distributed

    # A launcher's store outlives the processes that it starts again.
    attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    store = torch.distributed.PrefixStore(signs.of_run(attempt, next(_runs)), _store(here.rank))
    beat = signs.Beat(store, here.rank)
    return Ranks(here.rank, here.size, device or here.device(), os.getppid(), store, beat)


@cache  # a second run in the same processes meets at the same port
def _store(rank: int) -> "TCPStore":
    """The launcher's store, or the main process's."""
    import torch.distributed

    host, port = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
    if not host or not port.isdecimal():
        raise UsageError(
            f"$MASTER_ADDR, $MASTER_PORT: expected host and port of the main process, got {host!r}, {port!r}; "
            f"a launcher of one's own sets them, the same for all processes"
        )
    keeps = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != str(True)
    try:
        return torch.distributed.TCPStore(
            host, int(port), is_master=keeps, timeout=_ANSWER_LIMIT, wait_for_workers=False, multi_tenant=True
        )
    except RuntimeError as error:
        told = str(error).partition("\n")[0]
        wanted = "a free port" if keeps else "the main process, rank 0"
        raise Failure(f"{host}:{port}: expected {wanted} there, got: {told}") from error
