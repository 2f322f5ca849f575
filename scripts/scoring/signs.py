"""What processes of a run share, torch's key-value store, and their signs of life in it."""

import threading
import time
from collections import defaultdict
from contextlib import suppress
from typing import Protocol

BEAT = 5.0  # seconds between a process's signs of life
SILENT = 120.0  # seconds without one after which it counts as gone; a wrong guess costs work done twice, no more
STUCK = 3600.0  # seconds without a step of work after which it gives no more of them


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

    def check(self, keys: list[str], /) -> bool:
        """Whether there are values under all these keys."""
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

    def check(self, keys: list[str]) -> bool:
        """Whether there are values under all these keys."""
        return all(key in self._values for key in keys)


class Pulses:
    """How long processes have given no sign of life.

    Counted in one's own waking time: where a whole job is suspended, none of it has fallen silent.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: dict[int, tuple[int, float]] = {}  # rank -> its signs, and seconds since the last

    def still(self, rank: int, passed: float) -> tuple[int, float]:
        """How many signs a process has given, and for how many seconds none; `passed` since this was asked last."""
        signs = self._store.add(_alive(rank), 0)
        before, still = self._last.get(rank, (signs, 0.0))
        self._last[rank] = signs, still + passed if signs == before else 0.0
        return self._last[rank]


class Beat:
    """A thread that gives signs of life, until it is told to stop or this process makes no progress any more."""

    def __init__(self, store: Store, rank: int) -> None:
        self.moved = time.monotonic()
        self._store = store
        self._rank = rank
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="signs of life", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with suppress(RuntimeError):  # the store is gone, which the next `take` tells
            while True:
                if time.monotonic() - self.moved < STUCK:
                    self._store.add(_alive(self._rank), 1)
                if self._ended.wait(BEAT):
                    return

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()


def of_run(attempt: str = "0", run: int = 0) -> str:
    """Under what the store keeps a run's values."""
    return f"medgen-bench/{attempt}/{run}"


def gone(rank: int) -> str:
    """Where it is said that no more is to be expected of a process."""
    return f"gone/{rank}"


def _alive(rank: int) -> str:
    return f"alive/{rank}"
