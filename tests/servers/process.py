"""The loopback model server in a process of its own, so that what is measured of a client is the client's alone."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .openai_log import Seen
from .openai_requests import Picture

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Served:
    """A server that is up.

    Attributes:
        url: its base URL.
        greeting: what it printed.
        path: of its log.
    """

    url: str
    greeting: str
    path: Path

    def answered(self, since: float) -> bool:
        """Whether a request that was received since then (monotonic clock) has been answered."""
        if not self.path.exists():
            return False
        with self.path.open("rb") as file:
            start = max(0, file.seek(0, 2) - 2**14)
            file.seek(start)
            whole = file.read().split(b"\n")[bool(start) : -1]
        return any(json.loads(line)["received"] >= since for line in whole)

    def log(self) -> list[Seen]:
        """Requests that were answered so far, in order of the answers."""
        if not self.path.exists():
            return []
        # the last line may be on its way
        whole = self.path.read_text().rpartition("\n")[0].splitlines()
        rows = [json.loads(line) for line in whole]
        return [Seen(**{**row, "images": tuple(Picture(**image) for image in row["images"])}) for row in rows]


@contextmanager
def served(log: Path, **options: float | str) -> Iterator[Served]:
    """Serve until the context is left.

    Args:
        log: the log's file.
        options: as `python -m tests.servers.openai_server --help` names them.
    """
    command = [sys.executable, "-m", "tests.servers.openai_server", "--port", "0", "--log", str(log)]
    for name, value in options.items():
        command += [f"--{name.replace('_', '-')}", str(value)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as process:
        try:
            assert process.stdout is not None
            greeting = "".join(process.stdout.readline() for _ in range(3))
            if not greeting:
                raise RuntimeError(f"{' '.join(command)} ended with status {process.wait()}")
            yield Served(greeting.split()[0], greeting, log)
        finally:
            process.terminate()
