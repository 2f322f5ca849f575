"""The wheel holds what the checkout has, and works from there alone."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
IGNORED = shutil.ignore_patterns(
    ".venv", ".git", ".typing", ".cache", "build", "dist", "*.egg-info", "__pycache__", "out"
)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy: setuptools would leave its build folder in the checkout.
    shutil.copytree(ROOT, folder / "tree", ignore=IGNORED)
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(folder),
        str(folder / "tree"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


def test_everything_the_code_reads_is_inside(unpacked: Path) -> None:
    folders = {"metrics": "medgen_metrics", "scripts": "medgen_scripts", "dataset_card": "medgen_card"}
    expected = {"medgen_bench.py"}
    for folder, package in folders.items():
        for path in (ROOT / folder).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                expected.add(str(Path(package) / path.relative_to(ROOT / folder)))
    inside = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert expected <= inside
    assert {"vqa.parquet", "edit.parquet", "gen.parquet"} <= {path.rsplit("/", 1)[-1] for path in inside}


def test_sample_and_modules_load_from_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    code = f"""
import medgen_bench
assert medgen_bench.__file__.startswith({str(unpacked)!r}), medgen_bench.__file__
import medgen_metrics
assert medgen_metrics.__file__.startswith({str(unpacked)!r}), medgen_metrics.__file__
for config in medgen_bench.CONFIGS:
    assert len(medgen_bench.load(config, edition="sample")) > 0
pixel = medgen_bench.metric("pixel", metrics=["psnr"])
import numpy
image = numpy.zeros((8, 8, 3), "uint8")
assert pixel.compute(predictions=[image], references=[image])["psnr"] == 100
text = medgen_bench.metric("text", metrics=["bleu"])
assert text.compute(predictions=["one two three four"], references=["one two three four"])["bleu"] == 1
"""
    environment = {**os.environ, "PYTHONPATH": str(unpacked), "HF_HOME": str(tmp_path / "hf")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_command_runs_from_the_wheel(unpacked: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(unpacked)}
    done = subprocess.run(
        [sys.executable, "-m", "medgen_scripts", "--version"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "medgen-bench 0.1.0\n"
