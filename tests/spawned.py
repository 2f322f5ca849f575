"""Processes that a test starts, and a port for them to meet at."""

import multiprocessing
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path


def free_port() -> int:
    """A port of loopback that nobody has taken."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def fork() -> int:
    """`os.fork`, for children that may be killed at any moment.

    tqdm's lock is shared by all forks: one that was killed within it would be waited for by the others for ever.
    """
    child = os.fork()
    if not child:
        from tqdm import tqdm

        tqdm.set_lock(threading.RLock())
    return child


def in_two(worker: Callable[[int, int, str], None], folder: Path) -> None:
    """Run `worker(rank, port, folder)` in two fresh processes, to their good end."""
    context, port = multiprocessing.get_context("forkserver"), free_port()
    # What both need is imported once, in the process that they are forked from.
    context.set_forkserver_preload([worker.__module__])
    workers = [context.Process(target=worker, args=(rank, port, str(folder))) for rank in range(2)]
    for each in workers:
        each.start()
    for each in workers:
        each.join(120)
    assert [each.exitcode for each in workers] == [0, 0]
