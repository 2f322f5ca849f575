"""`python -m tests.scripts.killed_runs WORK OUT KILLS SEED`: score in forked children, killed at random moments.

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

from .scored import options


def main() -> None:
    """Kill, and at last let one run end."""
    work, out, kills, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    moments = random.Random(seed)
    chosen = options(work / "data", out)
    start = time.monotonic()
    score([work / "mine"], chosen)  # loads all that is loaded, and shows how long a run takes
    shutil.rmtree(out)
    start = time.monotonic()
    score([work / "mine"], chosen)
    duration = time.monotonic() - start
    shutil.rmtree(out)
    killed = partial = 0
    while killed < kills:
        child = os.fork()
        if child == 0:
            score([work / "mine"], chosen)
            os._exit(0)
        time.sleep(moments.uniform(0, duration))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            partial += any(path.stat().st_size for path in (out / "scores").rglob("*.jsonl"))
        else:
            shutil.rmtree(out)  # it had ended: from the start again
    score([work / "mine"], chosen)
    print(killed, partial)


if __name__ == "__main__":
    main()
