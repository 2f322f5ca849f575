"""`python -m tests.scripts.scoring.forked`: scores in several processes, some of which die, hang or are slow.

A process of its own, since it forks after torch is loaded: that makes processes cheap. It reads a line of JSON a run,
of what `Run` has, and answers with one of what `Ended` has.
"""

import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import datasets  # noqa: F401 - here, so that no fork has to
import torch.distributed  # noqa: F401

import medgen_metrics.text  # noqa: F401
from medgen_metrics.rows import Row
from medgen_scripts import cli
from medgen_scripts import score
from medgen_scripts.launcher import heed_sigterm
from medgen_scripts.scoring import signs
from medgen_scripts.scoring import supervise
from medgen_scripts.scoring import tiers

from ...spawned import fork
from ...spawned import free_port
from ...waiting import until

BEAT, SILENT, PATIENCE = 0.1, 3.0, 60.0
BATCH = 2


@dataclass
class Run:
    """What is run.

    Attributes:
        arguments: of `score`.
        folder: where processes leave what they say.
        size: processes.
        supervised: by `--processes`; else each is told its place in the environment, and nobody looks after them.
        fates: rank -> when it comes to what: `start`, `batch` (the first, when every process has one) or `end`, and
            `kill`, `137`, `raise`, `stop` or `slow`.
        signal: what the supervisor gets when each process has its first batch.
    """

    arguments: list[str]
    folder: str
    size: int = 3
    supervised: bool = True
    fates: dict[str, tuple[str, str]] = field(default_factory=dict)
    signal: int | None = None


@dataclass
class Ended:
    """How it ended: exit codes, of the supervisor where there is one; what was said; who was left running."""

    codes: list[int]
    said: list[str]
    left: list[int]
    seconds: float


class Fork:
    """A forked process, as `subprocess.Popen` has one."""

    def __init__(self, work: Callable[[], None], said: Path) -> None:
        self.returncode: int | None = None
        self.pid = fork()
        if not self.pid:
            _be(work, said)

    def poll(self) -> int | None:
        if self.returncode is None and (found := os.waitpid(self.pid, os.WNOHANG))[0]:
            self.returncode = os.waitstatus_to_exitcode(found[1])
        return self.returncode

    def wait(self, timeout: float = PATIENCE) -> int:
        if not until(lambda: self.poll() is not None, timeout):
            raise subprocess.TimeoutExpired("a fork", timeout)
        assert self.returncode is not None
        return self.returncode

    def send(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send(signal.SIGKILL)

    def terminate(self) -> None:
        self.send(signal.SIGTERM)


def _be(work: Callable[[], None], said: Path) -> None:
    """Do the work in this process, and end it."""
    code = 1
    try:
        os.setsid()
        with said.open("w") as file:
            os.dup2(file.fileno(), 2)
        work()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Run what standard input says."""
    signs.BEAT, signs.SILENT, supervise.GRACE = BEAT, SILENT, 2.0
    for line in sys.stdin:
        asked = Run(**json.loads(line))
        Path(asked.folder).mkdir()
        print(json.dumps(asdict(_run(asked))), flush=True)


def _run(asked: Run) -> Ended:
    folder = Path(asked.folder)
    started = time.monotonic()
    if asked.supervised:
        forks = [Fork(lambda: _supervise(asked), folder / "said")]
    else:
        port = free_port()
        places = [
            {"RANK": rank, "WORLD_SIZE": asked.size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            for rank in range(asked.size)
        ]
        forks = [Fork(lambda place=place: _score(asked, place), _said(folder, place["RANK"])) for place in places]
    if asked.signal is not None:
        assert until(lambda: len(list(folder.glob("*.came"))) == asked.size)
        forks[0].send(asked.signal)
    stopped = {int(rank) for rank, (_, what) in asked.fates.items() if what == "stop"} if not asked.supervised else ()
    for rank, one in enumerate(forks):
        if rank not in stopped:
            with suppress(subprocess.TimeoutExpired):
                one.wait()
    seconds = time.monotonic() - started
    for one in forks:
        one.kill()
        one.wait()
    said = [path.read_text() for path in sorted(folder.glob("said*"))]
    pids = [int(path.read_text()) for path in folder.glob("*.pid")]
    return Ended([one.wait() for one in forks], said, [pid for pid in pids if _is_running(pid)], seconds)


def _said(folder: Path, rank: int) -> Path:
    return folder / f"said-{rank}"


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _supervise(asked: Run) -> None:
    def start(command: Sequence[str], env: dict[str, str], start_new_session: bool) -> Fork:
        assert start_new_session
        assert command[1:] == ["-m", "medgen_scripts.score"]
        return Fork(lambda: _score(asked, env), _said(Path(asked.folder), int(env["RANK"])))

    stand_in = SimpleNamespace(Popen=start, TimeoutExpired=subprocess.TimeoutExpired)
    supervise.subprocess = stand_in  # type: ignore[assignment]
    sys.exit(supervise.main([str(asked.size), "-m", "medgen_scripts.score"]))


def _score(asked: Run, place: dict[str, Any]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)  # those of a supervisor that was forked from
    os.environ |= {name: str(value) for name, value in place.items()}
    rank = int(place["RANK"])
    folder = Path(asked.folder)
    (folder / f"{rank}.pid").write_text(str(os.getpid()))
    moment, what = asked.fates.get(str(rank), ("", ""))
    if moment == "start":
        _meet(what, folder)
    expected = asked.size - sum(moment == "start" for moment, _ in asked.fates.values())
    journals = Path(asked.arguments[asked.arguments.index("--out") + 1], "scores")

    class Paced(tiers.TextWork):
        batch = BATCH

        def score(self, samples: Sequence[tiers.Sample]) -> list[Row]:
            came = folder / f"{rank}.came"
            if (asked.fates or asked.signal) and not came.exists():
                came.touch()
                assert until(lambda: len(list(folder.glob("*.came"))) >= expected)
                if moment == "batch":
                    _meet(what, journals)
            if asked.signal is not None:
                time.sleep(PATIENCE)
            return super().score(samples)

    tiers.TIERS["text"] = Paced
    if moment == "end":
        exchange = score.exchange_digests
        score.exchange_digests = lambda *given: (_meet(what, folder), exchange(*given))[1]
    heed_sigterm()
    cli.main(["score", *asked.arguments])


def _meet(what: str, journals: Path) -> None:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif what == "137":
        os._exit(137)
    elif what == "raise":
        raise ZeroDivisionError("made up")
    elif what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif what == "slow":  # until nothing changes any more
        before = -1
        while before != (now := lines(journals)):
            before = now
            time.sleep(0.5)


def lines(journals: Path) -> int:
    """How many there are in all files."""
    return sum(path.read_bytes().count(b"\n") for path in journals.rglob("*.jsonl"))


if __name__ == "__main__":
    main()
