import subprocess
import sys
from pathlib import Path

import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.lock import hold


def test_a_second_run_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    script = "import sys, time; from pathlib import Path; from medgen_scripts.lock import hold; "
    script += "held = hold(Path(sys.argv[1]), 'edit', 'scoring edit'); print('held', flush=True); time.sleep(60)"
    first = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    with pytest.raises(UsageError, match="another run is scoring edit"):
        hold(tmp_path, "edit", "scoring edit")
    first.kill()
    first.wait()
    hold(tmp_path, "edit", "scoring edit").release()


def test_a_folder_that_cannot_be_made_is_bad_usage(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="expected a folder that can be written"):
        hold(tmp_path / "file" / "below", "edit", "scoring edit")
