import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from medgen_scripts.systems.file import read

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("path", sorted((ROOT / "examples" / "systems").glob("*.yaml")), ids=lambda path: path.name)
def test_the_systems_can_be_read(path: Path) -> None:
    assert read(path).name.startswith("my-")


def test_quickstart_goes_from_run_to_table(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MEDGEN_")}
    done = subprocess.run(
        ["bash", str(ROOT / "examples" / "quickstart.sh"), str(tmp_path / "out"), "2"],
        cwd=tmp_path,
        env={**environment, "PYTHON": sys.executable, "HF_HUB_OFFLINE": "1", "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    results = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "out" / "results").glob("*.json")}
    served = {"my-vlm": ["vqa"], "my-vlm-blind": ["vqa"], "my-editor": ["edit"], "my-vlm+my-painter": ["edit", "gen"]}
    baselines = {name: ["vqa", "edit", "gen"] for name in ("copy-input", "shuffled", "reference", "blank")}
    assert {name: sorted(result["configs"]) for name, result in results.items()} == {
        name: sorted(configs) for name, configs in {**served, **baselines}.items()
    }
    for result in results.values():
        assert all(config["selected"] == 2 for config in result["configs"].values())
    told = results["my-vlm+my-painter"]["configs"]["gen"]["predictions"]["system"]
    assert told == {"track": "text-to-image", "components": {"vlm": "stub-judge", "image": "stub-judge"}}
    for said in ("vqa · edition sample", "edit · edition sample", "gen · edition sample", "text-only):"):
        assert said in done.stdout
    assert "Not shown the images (--blind): my-vlm-blind." in done.stdout
