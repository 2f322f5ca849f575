"""`python -m tests.scripts.killed_runs WORK OUT KILLS SEED [PROCESSES]`: score in forked children, killed at random.

With several processes a run is a group of forked ranks, as a launcher would start them, and is killed as a group.

A process of its own, since it forks after torch is loaded: that makes a run short, and a kill cheap.
Prints how many children were killed at work, and how many journal lines had been written by then.
"""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

from medgen_scripts.score import score
from medgen_scripts.scoring.options import ScoreOptions

from ..spawned import fork
from ..spawned import free_port
from .scored import options


def main() -> None:
    """Kill, and at last let one run end."""
    work, out, kills, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    processes = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    moments = random.Random(seed)
    chosen = options(work / "data", out)
    score([work / "mine"], chosen)  # loads all that is loaded, so that every child has it
    shutil.rmtree(out)
    start = time.monotonic()
    _wait(_run(work, chosen, processes))
    duration = time.monotonic() - start
    shutil.rmtree(out)
    killed = partial = 0
    while killed < kills:
        child = _run(work, chosen, processes)
        time.sleep(moments.uniform(0, duration))
        os.killpg(child, signal.SIGKILL)
        status = _wait(child)
        if os.WIFSIGNALED(status):
            killed += 1
            partial += any(path.stat().st_size for path in (out / "scores").rglob("*.jsonl"))
        else:
            shutil.rmtree(out)  # it had ended: from the start again
    if _wait(_run(work, chosen, processes)):
        raise SystemExit("the last run, which nothing disturbed, failed")
    print(killed, partial)


def _run(work: Path, chosen: ScoreOptions, processes: int) -> int:
    """Start a run in a process group of its own; its leader's process id."""
    port = free_port()
    leader = fork()
    if leader:
        os.setpgid(leader, leader)
        return leader
    os.setpgid(0, 0)
    ranks = [child for rank in range(1, processes) if (child := _rank(work, chosen, rank, processes, port))]
    if processes > 1:
        _join(0, processes, port)
    score([work / "mine"], chosen)
    os._exit(any(os.waitpid(rank, 0)[1] for rank in ranks))


def _rank(work: Path, chosen: ScoreOptions, rank: int, processes: int, port: int) -> int:
    child = fork()
    if not child:
        _join(rank, processes, port)
        score([work / "mine"], chosen)
        os._exit(0)
    return child


def _join(rank: int, processes: int, port: int) -> None:
    """What a launcher tells a rank."""
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": processes, "LOCAL_WORLD_SIZE": processes}
    os.environ |= {name: str(value) for name, value in told.items()}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "ACCELERATE_USE_CPU": "true"}


def _wait(child: int) -> int:
    return os.waitpid(child, 0)[1]


if __name__ == "__main__":
    main()
