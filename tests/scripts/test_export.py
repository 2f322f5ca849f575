"""The export is read again by this project, and by `datasets` in processes that never import it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import medgen_bench
from medgen_scripts import export_shards
from medgen_scripts.cli import main
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.export import export
from medgen_scripts.lock import hold

from .. import builders
from .. import loading
from ..servers.hub import Hub

COUNTS = {config: len(rows) for config, rows in builders.release_rows().items()}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a JPEG, a TIFF of 16 bits and a repeated record among its PNGs."""
    import numpy as np
    from PIL import Image

    rows = builders.release_rows()
    jpeg = builders.encoded(builders.picture(77), format="JPEG")
    deep = builders.encoded(Image.fromarray(np.arange(600, dtype=np.uint16).reshape(20, 30) * 99), format="TIFF")
    rows["edit"][0]["input_images"] = builders.images(jpeg)
    rows["edit"][1]["output_images"] = builders.images(deep)
    rows["gen"][1] = dict(rows["gen"][0])
    return builders.write_release(tmp_path_factory.mktemp("release"), rows)


@pytest.fixture(scope="module")
def exported(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "medgen-bench"
    with pytest.warns(UserWarning, match="records; edition 'release' has"):
        return export(folder, edition="release", data_dir=release)


def python(code: str, folder: Path, **environment: str) -> str:
    """Run code in a process of its own, at `folder`; it must not come to import this project."""
    code = f"import sys\n{code}\nassert not [name for name in sys.modules if name.startswith('medgen')]"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("config", medgen_bench.CONFIGS)
@pytest.mark.filterwarnings("ignore:.*edition 'release' has")
def test_records_ids_groups_and_bytes_are_those_of_the_source(config: str, release: Path, exported: Path) -> None:
    assert loading.load(exported, config) == loading.load(release, config)


LOAD = """
import hashlib, json
from datasets import Image, List, load_dataset
data = load_dataset({name!r}, {config!r}, split="test", streaming={streaming})
kinds = {{name: repr(kind) for name, kind in data.features.items()}}
for name in [name for name in kinds if name.endswith("_images")]:
    data = data.cast_column(name, List(Image(decode=False)))
rows = [
    {{k: [hashlib.sha256(i["bytes"]).hexdigest() for i in v] if k.endswith("_images") else v for k, v in row.items()}}
    for row in data
]
print(json.dumps([kinds, rows]))
"""


def expected(folder: Path, config: str) -> list[Any]:
    """What `LOAD` should print: the columns, and records with digests in place of images."""
    rows = loading.load(folder, config)
    for row in rows:
        for name in {"input_images", "output_images"} & set(row):
            row[name] = [medgen_bench._sha256(image["bytes"]) for image in row[name]]
    return [{name: repr(kind) for name, kind in medgen_bench.features(config).items()}, rows]


@pytest.mark.parametrize(("config", "streaming"), [("edit", False), ("gen", True), ("vqa", False)])
@pytest.mark.filterwarnings("ignore:.*edition 'release' has")
def test_datasets_loads_it_by_name_from_the_folder_above(
    config: str, streaming: bool, exported: Path, tmp_path: Path
) -> None:
    code = LOAD.format(name="medgen-bench", config=config, streaming=streaming)
    assert json.loads(python(code, exported.parent, HF_HOME=str(tmp_path))) == expected(exported, config)


def test_images_decode_and_configs_are_listed(exported: Path, tmp_path: Path) -> None:
    code = """
from datasets import get_dataset_config_names, load_dataset
print(*get_dataset_config_names("medgen-bench"))
rows = load_dataset("medgen-bench", "edit", split="test")
print(rows[0]["input_images"][0].size, rows[1]["output_images"][0].mode)
"""
    lines = python(code, exported.parent, HF_HOME=str(tmp_path)).splitlines()
    assert sorted(lines[0].split()) == ["edit", "gen", "vqa"]
    assert lines[1] == "(48, 40) I;16"


@pytest.mark.filterwarnings("ignore:.*edition 'release' has")
def test_it_is_uploaded_to_a_hub_and_loaded_from_there(exported: Path, tmp_path: Path) -> None:
    upload = """
from huggingface_hub import HfApi
api = HfApi(token="none")
api.create_repo("someone/medgen-bench", repo_type="dataset")
api.upload_folder(folder_path="medgen-bench", repo_id="someone/medgen-bench", repo_type="dataset")
"""
    with Hub() as hub:
        python(upload, exported.parent, **hub.environment(tmp_path / "uploading"))
        for streaming in (False, True):
            code = LOAD.format(name="someone/medgen-bench", config="edit", streaming=streaming)
            home = hub.environment(tmp_path / f"home{streaming}")
            assert json.loads(python(code, tmp_path, **home)) == expected(exported, "edit")
        fetched = [request.path for request in hub.downloads()]
    assert any("/edit/" in path for path in fetched)
    assert not any("/vqa/" in path for path in fetched)


@pytest.mark.filterwarnings("ignore:.*edition 'release' has")
def test_row_groups_and_shards_are_of_bounded_size(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_shards, "GROUP_BYTES", 20_000)
    monkeypatch.setattr(export_shards, "SHARD_BYTES", 40_000)
    out = export(tmp_path / "out", edition="release", data_dir=release, configs=["edit"])
    files = sorted((out / "edit").iterdir())
    assert len(files) > 2
    assert [file.name for file in files] == [f"test-{n:05d}-of-{len(files):05d}.parquet" for n in range(len(files))]
    for file in files:
        parquet = pq.ParquetFile(file)
        for group in range(parquet.num_row_groups):
            rows = parquet.read_row_group(group).to_pylist()
            images = [image["bytes"] for row in rows for image in row["input_images"] + row["output_images"]]
            assert sum(map(len, images)) <= 20_000 or len(rows) == 1
        assert file.stat().st_size < 40_000 + 20_000
    assert not [path for path in out.iterdir() if path.name in ("vqa", "gen")]
    assert loading.load(out) == loading.load(release)


def test_the_sample_says_what_it_is_and_whose(tmp_path: Path) -> None:
    out = export(tmp_path / "sample", edition="sample", configs=["vqa"])
    text = (out / "README.md").read_text()
    assert "no part of MedGEN-Bench" in text
    assert "license_link: SOURCES.md" in text
    assert (out / "SOURCES.md").is_file()
    from medgen_scripts.records import load_records

    again = medgen_bench.load("vqa", edition="sample", data_dir=out)
    assert again["id"][:] == load_records("vqa", "sample").ids
    with pytest.raises(medgen_bench.DataError, match="the sample's, no part of MedGEN-Bench"):
        medgen_bench.load("vqa", edition="release", data_dir=out)


def test_an_earlier_export_is_replaced_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = export(tmp_path / "out", edition="sample", configs=["vqa", "gen"])
    export(out, edition="sample", configs=["edit"])
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "SOURCES.md", "edit", "export.json"]
    assert list(tmp_path.iterdir()) == [out]  # no lock, nothing unfinished

    (out / "mine.txt").write_text("notes")
    with pytest.raises(UsageError, match=r"1 file\(s\) that it did not write \(mine.txt\)"):
        export(out, edition="sample")
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("x")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as end:
        main(["export", "other", "--edition", "sample"])
    assert end.value.code == 2
    assert "other: not written by `medgen-bench export`" in capsys.readouterr().err
    assert (other / "thesis.tex").read_text() == "x"
    with pytest.raises(UsageError, match="expected a folder, or nothing there yet"):
        export(other / "thesis.tex", edition="sample")


def test_the_source_is_not_written_into(release: Path, exported: Path) -> None:
    for out in (exported, exported / "again", exported.parent):
        with pytest.raises(UsageError, match=r"apart from the one that is read|not written by"):
            export(out, edition="release", data_dir=exported)


def test_a_failure_leaves_the_earlier_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = export(tmp_path / "out", edition="sample", configs=["vqa"])
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(export_shards._Shards, "_flush", full)
    with pytest.raises(Failure, match="No space left on device; make room"):
        export(out, edition="sample")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_second_export_into_the_folder_is_refused(tmp_path: Path) -> None:
    held = hold(tmp_path / ".out.exporting", "export", "exporting")
    try:
        with pytest.raises(UsageError, match="another run is exporting out"):
            export(tmp_path / "out", edition="sample", configs=["vqa"])
    finally:
        held.release()


def test_an_unknown_config_and_a_missing_source_are_usage_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown config 'edits'"):
        export(tmp_path / "out", edition="sample", configs=["edits"])
    with pytest.raises(UsageError, match="no such folder"):
        export(tmp_path / "out", edition="release", data_dir=tmp_path / "absent")
    assert list(tmp_path.iterdir()) == []
