"""`medgen-bench score` and `run` as a child process, and what it consumed."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Spent(NamedTuple):
    """What a process consumed: seconds of wall and of CPU, and KiB at its peak."""

    wall: float
    cpu: float
    peak: float


def score(source: tuple[Path, Path], out: Path, *arguments: object) -> list[str]:
    """The command that scores predictions of `made.write`."""
    data, system = source
    command = [sys.executable, "-m", "medgen_scripts", "score", str(system), "--edition", "release", "--data-dir"]
    return [*command, str(data), "--out", str(out), *map(str, arguments)]


def run(system: Path, data: Path, out: Path, *arguments: object) -> list[str]:
    """The command that runs a system over the edit records of `made.write`."""
    command = [sys.executable, "-m", "medgen_scripts", "run", str(system), "edit", "--edition", "release"]
    return [*command, "--data-dir", str(data), "--out", str(out), *map(str, arguments)]


def start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start it, on one thread."""
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})


def spent(command: Sequence[str]) -> Spent:
    """Run it to its end.

    Raises:
        RuntimeError: it failed.
    """
    begun = time.perf_counter()
    _, status, usage = os.wait4(start(command).pid, 0)
    if status:
        raise RuntimeError(f"{' '.join(command)} ended with status {status}")
    return Spent(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, float(usage.ru_maxrss))


def own_memory(command: Sequence[str]) -> float:
    """KiB at the peak without pages of mapped files, which the data set's Arrow files are (Linux).

    Raises:
        RuntimeError: it failed.
    """
    child, peak = start(command), 0
    while child.poll() is None:
        found = re.search(r"RssAnon:\s+(\d+)", Path(f"/proc/{child.pid}/status").read_text())
        peak = max(peak, int(found[1])) if found else peak
        time.sleep(0.05)
    if child.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with status {child.returncode}")
    return float(peak)
