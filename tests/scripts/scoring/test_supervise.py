"""The process that starts the others: how it ends, and them. The workers here are short programs without torch."""

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from medgen_scripts.scoring import signs
from medgen_scripts.scoring import supervise

from ...waiting import until


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def run(tmp_path: Path, main: str, other: str = "pass") -> int:
    program = f"import os, pathlib, signal, sys, time\nrank = int(os.environ['RANK'])\n{PID}\n"
    (tmp_path / "worker.py").write_text(f"{program}if rank: {other}\nelse: {main}\n")
    code = supervise.main(["2", str(tmp_path / "worker.py"), str(tmp_path)])
    assert not any(map(is_running, tmp_path.glob("*.pid")))
    return code


PID = "pathlib.Path(sys.argv[1], f'{rank}.pid').write_text(str(os.getpid()))"


def is_running(path: Path) -> bool:
    try:
        os.kill(int(path.read_text()), 0)
    except ProcessLookupError:
        return False
    return True


KILL = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    ("main", "other", "code", "said"),
    [
        ("sys.exit(3)", "pass", 3, ""),
        ("pass", "pass", 0, ""),
        ("pass", "sys.exit(1)", 0, ""),
        ("time.sleep(60)", "sys.exit(2)", 2, ""),
        ("pass", "time.sleep(60)", 0, ""),
        (
            "time.sleep(0.5)",
            "sys.exit(137)",
            0,
            "process 1 of 2 was killed by signal 9 (out of memory?); the others go on",
        ),
        ("time.sleep(0.5)", "os.abort()", 0, "process 1 of 2 was killed by signal 6; the others go on"),
        (KILL, "time.sleep(0.5)", 1, "process 0, which writes the results, is gone; run the same command again"),
    ],
)
def test_the_main_processs_end_is_the_runs(
    main: str,
    other: str,
    code: int,
    said: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(supervise, "GRACE", 0.5)
    assert run(tmp_path, main, other) == code
    told = capsys.readouterr().err
    assert said in told
    assert bool(said) == bool(told)


def test_one_that_never_gives_a_sign_of_life_is_ended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signs, "STUCK", 1.0)
    assert run(tmp_path, "time.sleep(60)") == 1
    assert "process 0 of 2 gave no sign of life for 1 seconds and was ended" in capsys.readouterr().err


@pytest.mark.parametrize("other", ["time.sleep(60)", "signal.signal(15, signal.SIG_IGN) and 0 or time.sleep(60)"])
def test_asked_to_end_it_ends_all(
    tmp_path: Path, other: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervise, "GRACE", 1.0)

    def interrupt() -> None:
        assert until(lambda: len(list(tmp_path.glob("*.pid"))) == 2)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    asking = threading.Thread(target=interrupt)
    asking.start()
    assert run(tmp_path, "time.sleep(60)", other) == 130
    asking.join()
    assert capsys.readouterr().err == "medgen-bench: interrupted; what is done is kept, the same command continues\n"


def test_processes_share_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    became = []
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 7)
    monkeypatch.setattr(os, "execve", lambda *given: became.append(given))
    supervise.relaunch(3, ["--limit", "1"])
    ((program, command, environment),) = became
    assert program == sys.executable
    assert command[1:] == ["-m", "medgen_scripts.scoring.supervise", "3", "-m", "medgen_scripts.score", "--limit", "1"]
    assert environment["OMP_NUM_THREADS"] == "2"
