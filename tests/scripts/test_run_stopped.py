"""Runs of `run` that are killed or interrupted, each in a process of its own."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from medgen_scripts.cli import main
from medgen_scripts.run import run

from ..waiting import until
from .running.fakes import rows_of


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


def _killed(command: list[str], journal: Path, rows: int) -> int:
    """The status of a run that is killed once so many rows are written."""
    child = subprocess.Popen(command)
    assert until(lambda: child.poll() is not None or (journal.exists() and _lines(journal) >= rows))
    child.kill()
    return child.wait()


def test_killed_at_any_moment_a_run_ends_with_the_undisturbed_rows(tmp_path: Path) -> None:
    expected = run("classical", "edit", edition="sample", out=tmp_path / "whole").read_bytes()
    command = [sys.executable, "-m", "medgen_scripts", "run", "classical", "edit", "--edition", "sample"]
    journal = tmp_path / "killed" / "predictions" / "classical" / ".edit.journal.jsonl"
    ended = [_killed([*command, "--out", str(tmp_path / "killed")], journal, rows) for rows in (1, 8, 20)]
    assert -signal.SIGKILL in ended, "none was killed at work"
    path = run("classical", "edit", edition="sample", out=tmp_path / "killed")
    assert path.read_bytes() == expected
    assert {entry.suffix for entry in (path.parent / "images").iterdir()} <= {".png", ".tmp"}


# A shell that started the tests in its background has SIGINT ignored, which a child would inherit.
SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from medgen_scripts import cli
from medgen_scripts.systems.classical import Classical
answer = Classical.respond
Classical.respond = lambda self, record: (time.sleep(0.3), answer(self, record))[1]
cli.main(sys.argv[1:])
"""


def test_ctrl_c_keeps_what_is_done(tmp_path: Path) -> None:
    arguments = ["run", "classical", "edit", "--edition", "sample", "--out", str(tmp_path)]
    child = subprocess.Popen([sys.executable, "-c", SLOW, *arguments], stderr=subprocess.PIPE, text=True)
    journal = tmp_path / "predictions" / "classical" / ".edit.journal.jsonl"
    assert until(lambda: journal.exists() and journal.stat().st_size)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate()
    assert child.returncode == 130
    assert "interrupted" in said
    assert "Traceback" not in said
    done = journal.read_bytes().count(b"\n")
    assert 0 < done < 30
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    assert len(rows_of(journal.parent / "edit.jsonl")) == 30
