"""`--processes N`: starts the processes and looks after them. One that dies ends neither the others nor their work."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from ..launcher import SUPERVISED
from ..terminal import say
from . import signs

GRACE = 5.0  # seconds for a process to end by itself

_POLL = 0.05  # seconds


class _Stopped(Exception):
    """A signal asks this run to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def relaunch(processes: int, arguments: Sequence[str]) -> NoReturn:
    """Become a process (`main`) that has `processes` others run `medgen_scripts.score` on `arguments`."""
    environment = dict(os.environ)
    # A process takes all cores by default; they are shared out instead.
    environment.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    command = [sys.executable, "-m", __name__, str(processes), "-m", "medgen_scripts.score", *arguments]
    os.execve(sys.executable, command, environment)


def main(arguments: Sequence[str]) -> int:
    """Run `python …` a number of times: N, then what follows `python`.

    Returns:
        The main process's exit code, 1 if it was killed, 2 of whichever finds bad usage, 128 + the number of a signal
        that asked the run to end.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, _stop)
    workers: list[subprocess.Popen[bytes]] = []
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            # While they import torch, so does this process: their store's server takes over the port.
            _start(workers, int(arguments[0]), arguments[1:], listener.getsockname()[1])
            code = _watch(workers, _serve(listener))
        if code == 0:
            _wait(workers)
    except _Stopped as stopped:
        for worker in workers:
            worker.terminate()
        with suppress(_Stopped):  # asked once more
            _wait(workers)
        say("interrupted; what is done is kept, the same command continues")
        return 128 + stopped.number
    finally:
        for worker in workers:
            worker.kill()  # nothing, where it has ended
            worker.wait()
    return code


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped(number)


def _start(workers: list["subprocess.Popen[bytes]"], size: int, command: Sequence[str], port: int) -> None:
    for rank in range(size):
        told = {
            **dict.fromkeys(("RANK", "LOCAL_RANK"), rank),
            **dict.fromkeys(("WORLD_SIZE", "LOCAL_WORLD_SIZE"), size),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            SUPERVISED: True,
            "TORCHELASTIC_USE_AGENT_STORE": True,  # this process has it
        }
        environment = {**os.environ, **{name: str(value) for name, value in told.items()}}
        # Ctrl-C comes to this process alone, which passes it on once.
        workers.append(subprocess.Popen([sys.executable, *command], env=environment, start_new_session=True))


def _serve(listener: socket.socket) -> signs.Store:
    import torch.distributed

    port = listener.getsockname()[1]
    store = torch.distributed.TCPStore(
        "127.0.0.1", port, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    return torch.distributed.PrefixStore(signs.of_run(), store)


def _watch(workers: Sequence["subprocess.Popen[bytes]"], store: signs.Store) -> int:
    """Wait for the end, telling those that go on who is gone."""
    pulses = signs.Pulses(store)
    running = dict(enumerate(workers))
    while running:
        time.sleep(_POLL)
        for rank, worker in list(running.items()):
            given, still = pulses.still(rank, _POLL)
            is_silent = still > (signs.SILENT if given else signs.STUCK)
            if is_silent:
                worker.kill()
                worker.wait()
            code = worker.poll()
            if code is None:
                continue
            del running[rank]
            store.set(signs.gone(rank), "it ended")
            if (said := _death(code, still if is_silent else None)) is not None:
                rest = "; the others go on" if running else ""
                say(f"process {rank} of {len(workers)} {said}{rest}; what is scored is kept")
            if code == 2:
                return 2
            if rank == 0 and code == 0:
                return 0
    code = workers[0].returncode
    if _death(code, None) is None:
        return int(code)
    say("process 0, which writes the results, is gone; run the same command again: it goes on from there")
    return 1


def _death(code: int, still: float | None) -> str | None:
    """How a process died that has not told it itself; None of one that has."""
    if still is not None:
        return f"gave no sign of life for {still:.0f} seconds and was ended"
    number = -code if code < 0 else code - 128  # as a shell between tells it
    if number <= 0:
        return None
    return f"was killed by signal {number}{' (out of memory?)' if number == signal.SIGKILL else ''}"


def _wait(workers: Sequence["subprocess.Popen[bytes]"]) -> None:
    """Give processes a while to end by themselves."""
    deadline = time.monotonic() + GRACE
    with suppress(subprocess.TimeoutExpired):
        for worker in workers:
            worker.wait(max(0.0, deadline - time.monotonic()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
