"""Processes that a test starts, and a port for them to meet at."""

import multiprocessing
import socket
from collections.abc import Callable
from pathlib import Path


def free_port() -> int:
    """A port of loopback that nobody has taken."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def in_two(worker: Callable[[int, int, str], None], folder: Path) -> None:
    """Run `worker(rank, port, folder)` in two fresh processes, to their good end."""
    spawn, port = multiprocessing.get_context("spawn"), free_port()
    workers = [spawn.Process(target=worker, args=(rank, port, str(folder))) for rank in range(2)]
    for each in workers:
        each.start()
    for each in workers:
        each.join(120)
    assert [each.exitcode for each in workers] == [0, 0]
