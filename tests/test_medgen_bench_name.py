"""`load_dataset("medgen-bench", …)` after `import medgen_bench`, and `medgen_bench.metric`."""

import subprocess
import sys
import warnings
from pathlib import Path

import datasets
import numpy as np
import pytest
from datasets import load_dataset

import medgen_bench

from . import builders

pytestmark = pytest.mark.filterwarnings("ignore:.*records; edition .* has:UserWarning")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and caches of our own."""
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.delenv("MEDGEN_BENCH_DIR", raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


@pytest.mark.parametrize("config", medgen_bench.CONFIGS)
def test_the_sample_loads_by_name_from_any_folder(config: str) -> None:
    wanted = medgen_bench.load(config, edition="sample")
    dataset = load_dataset("medgen-bench", config, edition="sample", split="test")
    assert dataset["id"][:] == wanted["id"][:]
    assert dataset.features == medgen_bench.features(config)
    assert dataset.info.dataset_name == "medgen-bench"
    assert dataset.cache_files == wanted.cache_files  # prepared once, whichever way it is asked for
    assert list(load_dataset("medgen-bench", config, edition="sample")) == ["test"]


def test_streaming_by_name() -> None:
    stream = load_dataset("medgen-bench", "edit", edition="sample", split="test", streaming=True)
    assert isinstance(stream, datasets.IterableDataset)
    assert [record["id"] for record in stream] == medgen_bench.load("edit", edition="sample")["id"][:]


def test_several_processes_and_a_folder_by_name(tmp_path: Path) -> None:
    data = builders.write_release(tmp_path / "data")
    dataset = load_dataset("medgen-bench", "gen", edition="release", data_dir=str(data), split="test", num_proc=2)
    assert len(dataset.cache_files) == 2
    assert dataset["instruction"][:] == [row["instruction"] for row in builders.release_rows()["gen"]]
    sliced = load_dataset("medgen-bench", "gen", edition="release", data_dir=str(data), split="test[2:4]")
    assert sliced["id"][:] == dataset["id"][2:4]


def test_names_of_configs_and_splits() -> None:
    assert datasets.get_dataset_config_names("medgen-bench") == ["vqa", "edit", "gen"]
    assert datasets.get_dataset_split_names("medgen-bench", "edit", edition="sample") == ["test"]


def test_wrong_names_are_told() -> None:
    with pytest.raises(ValueError, match="unknown config 'edits'; expected one of vqa, edit, gen"):
        load_dataset("medgen-bench", "edits", edition="sample")
    with pytest.raises(ValueError, match="unknown config None; expected one of vqa, edit, gen"):
        load_dataset("medgen-bench")
    with pytest.raises(ValueError, match="give their folder as data_dir="):
        load_dataset("medgen-bench", "edit", data_files={"test": "x.parquet"})


def test_a_local_folder_of_the_name_gets_one_warning_and_can_be_chosen(elsewhere: Path) -> None:
    (elsewhere / "medgen-bench").mkdir()
    (elsewhere / "medgen-bench" / "rows.csv").write_text("x\n1\n")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dataset = load_dataset("medgen-bench", "edit", edition="sample", split="test")
    assert dataset[0]["id"].startswith("style-transfer-")
    (warning,) = (str(warning.message) for warning in caught if "medgen-bench" in str(warning.message))
    assert "reads the data set of the package medgen_bench, not the folder of that name in" in warning
    assert "for that call load_dataset('./medgen-bench')" in warning
    assert load_dataset("./medgen-bench", split="train")[0] == {"x": 1}


def test_other_packaged_names_still_work(elsewhere: Path) -> None:
    (elsewhere / "rows.csv").write_text("x\n1\n")
    assert load_dataset("csv", data_files="rows.csv", split="train")[0] == {"x": 1}


def test_a_release_of_datasets_without_the_private_names_is_left_alone() -> None:
    code = """
import datasets.load
del datasets.load.PackagedDatasetModuleFactory
import medgen_bench
registry = datasets.packaged_modules._PACKAGED_DATASETS_MODULES
print(len(medgen_bench.load("edit", edition="sample")), "medgen-bench" in registry)
"""
    done = subprocess.run([sys.executable, "-W", "default", "-c", code], capture_output=True, text=True, check=True)
    number, registered = done.stdout.split()
    assert (int(number) > 0, registered) == (True, "False")
    assert "can't be taught 'medgen-bench'" in done.stderr
    assert "call medgen_bench.load(config, edition=…) instead of load_dataset" in done.stderr


def test_a_metric_loads_by_its_short_name() -> None:
    pixel = medgen_bench.metric("pixel", metrics=["psnr"], protocol="standard")
    flat = np.zeros((8, 8, 3), np.uint8)
    # psnr = 20 log10(255 / 15)
    result = pixel.compute(predictions=[flat + np.uint8(15)], references=[flat])
    assert result["psnr"] == pytest.approx(24.6090, abs=1e-4)


def test_an_unknown_metric_lists_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"unknown metric module 'fid'; expected one of .*\bpixel\b"):
        medgen_bench.metric("fid")
