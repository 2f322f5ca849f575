"""`python -m tests.scripts.running.killed SYSTEM CONFIG OUT KILLS SEED`: run in children, killed at random moments.

A process of its own, since it forks after all is loaded: that makes a run short, and a kill cheap. Each time a run
comes to its end its file is held against that of an undisturbed one, images too, and it begins from nothing again.
Prints how many children were killed at work, how many of them with rows or drafts on disk, and how many runs ended.
"""

import hashlib
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import medgen_scripts.run as verb
from medgen_scripts.records import load_records
from medgen_scripts.run import run

from ...spawned import fork


def digests(folder: Path) -> dict[str, str]:
    """Predictions and images of a run, by name."""
    files = [*folder.glob("*.jsonl"), *folder.glob("images/*.png")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _has_rows(out: Path) -> bool:
    return any(found.stat().st_size for found in out.rglob(".*.journal.jsonl"))


def _await_rows(out: Path, child: int) -> None:
    """Until rows are written, or the child has ended (it stays to be waited for)."""
    while not _has_rows(out):
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return
        time.sleep(0.002)


def main() -> None:
    """Kill, and at last let one run end."""
    system, config, out, kills = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
    moments = random.Random(int(sys.argv[5]))

    records = load_records(config, "sample")
    # what a child would spend most of its time on
    verb.load_records = lambda *_: records  # type: ignore[assignment]

    def go() -> Path:
        return run(system, config, edition="sample", out=out, concurrency=4, image_concurrency=3, limit=6)

    go()  # loads all that is loaded
    shutil.rmtree(out)
    begun = time.monotonic()
    path = go()
    duration = time.monotonic() - begun
    expected = digests(path.parent)
    shutil.rmtree(out)
    killed = partial = ended = 0
    while killed < kills or ended == 0:
        child = fork()
        if child == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            go()
            os._exit(0)
        if killed < kills:
            if killed % 2:
                # every other kill meets a run at work, however slow this machine is at the moment
                _await_rows(out, child)
                time.sleep(moments.uniform(0, duration / 2))
            else:
                time.sleep(moments.uniform(0, duration))
            # of one that has ended nothing is left but its status
            os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
            partial += _has_rows(out)
        else:
            if status:
                raise SystemExit(f"a run ended with status {status}")
            if digests(path.parent) != expected:
                raise SystemExit("a run that was killed and resumed gave other predictions")
            ended += 1
            shutil.rmtree(out)
    print(killed, partial, ended)


if __name__ == "__main__":
    main()
