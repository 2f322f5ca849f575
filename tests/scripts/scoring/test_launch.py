import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("sys.exit(3)", 3, ""),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            1,
            "medgen-bench: process 0 of the run was killed by signal 9; what is scored is kept, run again\n",
        ),
        ("sys.exit(0)", 0, ""),
    ],
)
def test_a_workers_end_is_the_runs_without_a_traceback(end: str, code: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "worker.py").write_text(f"import os, signal, sys\n{end}\n")
    command = [sys.executable, "-m", "medgen_scripts.scoring.launch", "--standalone", "--nproc-per-node=1"]
    done = subprocess.run([*command, "worker.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, said)
