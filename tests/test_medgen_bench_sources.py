"""Which files are read, as which edition, from which cache, and what is said of bad ones."""

import os
import warnings
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import medgen_bench
from medgen_bench import DataError
from medgen_bench import MedGenBench

from . import builders
from .builders import public_row
from .loading import export
from .loading import load

pytestmark = [
    pytest.mark.usefixtures("cache"),
    pytest.mark.filterwarnings("ignore:.*records; edition .* has:UserWarning"),
]


# ---- Editions


def test_paper_is_the_release_without_disease_prediction(tmp_path: Path) -> None:
    builders.write_release(tmp_path / "data", builders.paper_rows())
    paper, everything = (load(tmp_path / "data", "gen", edition) for edition in ("paper", "release"))
    assert len(everything) - len(paper) == 201
    assert paper == [record for record in everything if record["task"] != "disease-prediction"]
    names = [record["id"] for record in everything if record["task"] == "disease-prediction"]
    assert len(set(names)) == 201


@pytest.mark.parametrize(
    ("records", "subtasks", "got"),
    [(200, 27, "200 records and 27 subtasks"), (201, 26, "201 records and 26 subtasks"), (0, 27, "0 records and 27")],
)
def test_paper_is_an_error_where_it_cannot_be_inferred(tmp_path: Path, records: int, subtasks: int, got: str) -> None:
    builders.write_release(tmp_path / "data", builders.paper_rows(records, subtasks), shards=1)
    with pytest.raises(DataError, match=rf'are 201 records and 27 subtasks remain; got {got}.*edition="release"'):
        load(tmp_path / "data", "gen", "paper")
    assert len(load(tmp_path / "data", "gen")) >= records


def test_subtasks_are_counted_only_where_all_configs_are(tmp_path: Path) -> None:
    rows = builders.paper_rows(201, 5)
    builders.write_release(tmp_path / "data", {"gen": [public_row("organic-removal", 7), *rows["gen"]]})
    assert [record["task"] for record in load(tmp_path / "data", "gen", "paper")] == ["organic-removal"]


def test_an_export_of_the_paper_edition_is_the_paper_edition(release: Path, tmp_path: Path) -> None:
    export(tmp_path / "export", release)
    path = tmp_path / "export" / "gen" / "test-00000-of-00001.parquet"
    with pytest.raises(DataError, match="got 2 records and 0 subtasks"):
        load(tmp_path / "export", "gen", "paper")
    table = pq.read_table(path)
    keep = [task != "disease-prediction" for task in table["task"].to_pylist()]
    pq.write_table(table.filter(builders.pa.array(keep)), path)
    assert len(load(tmp_path / "export", "gen", "paper")) == 10


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(("config", "edition", "expected"), [("edit", "paper", 3872), ("gen", "release", 1651)])
def test_other_counts_than_published_are_a_warning(release: Path, config: str, edition: str, expected: int) -> None:
    with pytest.warns(UserWarning, match=rf"12 '{config}' records; edition '{edition}' has {expected}"):
        load(release, config, edition)


# ---- Caches


def test_changed_files_are_seen(tmp_path: Path) -> None:
    builders.write_release(tmp_path / "data", {"edit": [public_row("style-transfer", 1)]}, shards=1)
    (path,) = tmp_path.rglob("train*.parquet")
    before = load(tmp_path / "data")
    stamp = path.stat()
    builders.write_release(tmp_path / "data", {"edit": [public_row("style-transfer", 2)]}, shards=1)
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # even with the old time
    assert load(tmp_path / "data")[0]["instruction"] == "Instruction 2 of style-transfer."
    builders.write_release(tmp_path / "data", {"edit": [public_row("style-transfer", 1)] * 2}, shards=1)
    assert [record["id"] for record in load(tmp_path / "data")] == [before[0]["id"], f"{before[0]['id']}-2"]


def test_prepared_data_serve_a_folder_that_was_moved(release: Path, tmp_path: Path, cache: Path) -> None:
    builders.write_release(tmp_path / "data", {"edit": [public_row("style-transfer", 1)]})
    records = load(tmp_path / "data")
    prepared = sorted(cache.rglob("medgen-bench-test*.arrow"))
    (tmp_path / "data").rename(tmp_path / "moved")
    assert load(tmp_path / "moved") == records
    assert sorted(cache.rglob("medgen-bench-test*.arrow")) == prepared


# ---- Where the files are


def test_data_dir_comes_before_the_environment(release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builders.write_release(tmp_path / "data", {"edit": [public_row("style-transfer", 1)]})
    monkeypatch.setenv("MEDGEN_BENCH_DIR", str(tmp_path / "data"))
    assert len(medgen_bench.load("edit")) == 1
    assert len(load(release)) == 12
    monkeypatch.chdir(tmp_path)
    assert len(medgen_bench.load("edit", data_dir="data")) == 1


def test_without_a_source_the_sample_is_offered() -> None:
    with pytest.raises(DataError, match=r'Jack04810/MedGEN-Bench at cee5e7ae410f, image_editing.*edition="sample"'):
        medgen_bench.load("edit")  # tests run with HF_HUB_OFFLINE


def test_a_hub_snapshot_is_read_through_its_links(release: Path, tmp_path: Path) -> None:
    blobs, snapshot = tmp_path / "datasets--x" / "blobs", tmp_path / "datasets--x" / "snapshots" / ("a" * 40)
    blobs.mkdir(parents=True)
    for n, path in enumerate(sorted(release.rglob("image_editing/*.parquet"))):
        (blobs / str(n)).write_bytes(path.read_bytes())
        link = snapshot / path.relative_to(release)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(blobs / str(n))
    assert load(snapshot) == load(release)
    assert load(snapshot / "MedGEN_raw") == load(release)


def test_a_link_out_of_the_folder_is_refused(release: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "vqa.parquet").symlink_to(next(release.rglob("vqa/*.parquet")))
    with pytest.raises(DataError, match=r"vqa.parquet: a link out of the folder, to .*; copy the file instead"):
        load(tmp_path / "data", "vqa")


def test_strange_files_are_named(release: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with pytest.raises(DataError, match="data: no such folder"):
        load(data)
    data.mkdir()
    with pytest.raises(DataError, match=r"expected Parquet with columns .*; got none of them\. Give the folder"):
        load(data)
    pq.write_table(builders.pa.table({"x": [1]}), data / "other.parquet")
    with pytest.raises(DataError, match=r"got 1 other Parquet file\(s\): other.parquet \(columns x\)"):
        load(data)
    builders.write_release(data, {"edit": [public_row("style-transfer", 1)]})
    with pytest.warns(UserWarning, match=r"not read: 1 other Parquet file\(s\): other.parquet"):
        assert len(load(data)) == 1
    (data / "edit.parquet").write_bytes(b"PAR1 broken")
    with pytest.raises(DataError, match=r"edit.parquet: no readable Parquet file \(.*\); copy or download it again"):
        load(data)


def test_two_data_sets_in_one_folder_are_an_error(release: Path, tmp_path: Path) -> None:
    builders.write_release(tmp_path / "data" / "one", {"edit": [public_row("style-transfer", 1)]}, shards=1)
    builders.write_release(tmp_path / "data" / "two", {"edit": [public_row("style-transfer", 1)]}, shards=1)
    with pytest.raises(DataError, match=r"more than one data set: .*one.*image_editing \(edit, public\), .*two.*name"):
        load(tmp_path / "data")
    assert len(load(tmp_path / "data" / "one")) == 1


def test_of_many_data_sets_the_first_are_named(tmp_path: Path) -> None:
    for number in range(11):
        builders.write_release(
            tmp_path / "data" / f"set{number:02}", {"edit": [public_row("style-transfer", 1)]}, shards=1
        )
    with pytest.raises(DataError, match=r"more than one data set: .*; name the folder of one") as caught:
        load(tmp_path / "data")
    said = str(caught.value)
    assert said.count("(edit, public)") == 8
    assert "set07" in said
    assert "set08" not in said
    assert ", … and 3 more; name" in said


def test_a_missing_config_column_or_shard_is_named(release: Path, tmp_path: Path) -> None:
    rows = [public_row("style-transfer", n) for n in range(4)]
    builders.write_release(tmp_path / "data", {"edit": rows})
    with pytest.raises(DataError, match="no records of config 'vqa'"):
        load(tmp_path / "data", "vqa")
    next(tmp_path.rglob("train-00000-of-00002.parquet")).unlink()
    with pytest.warns(UserWarning, match=r"incomplete, without .*image_editing/train-00000-of-00002.parquet"):
        assert len(load(tmp_path / "data")) == 2
    path = tmp_path / "data" / "gen.parquet"
    pq.write_table(builders.pa.Table.from_pylist(rows, schema=builders.public_schema("edit")), path)
    with pytest.raises(DataError, match=r"gen.parquet: a file of config 'gen' without the column answer"):
        load(tmp_path / "data")


# ---- Bad rows and calls


def test_bad_rows_are_named_all_at_once(tmp_path: Path) -> None:
    rows = [
        public_row("style-transfer", 1),
        public_row("cell-counting", 2),
        public_row("organic-removal", 3),
        public_row("style-transfer", 4, input_images=[]),
        public_row("style-transfer", 5, output_images=[{"bytes": None, "path": "/data/x.png"}]),
        public_row("image-editing", 6, subtask="dye-transfer"),
    ]
    builders.write_release(tmp_path / "data", {"edit": rows}, shards=1)
    with pytest.raises(DataError) as caught:
        load(tmp_path / "data")
    lines = str(caught.value).splitlines()
    assert lines[0] == f"{tmp_path / 'data'}: 4 problem(s)"
    name = "  train-00000-of-00001.parquet, row"
    assert lines[1].startswith(f"{name} 1: unknown task 'cell-counting'; expected one of multiple-choice, ")
    assert lines[2] == f"{name} 2: task 'organic-removal' is one of config 'gen', but lies in a file of 'edit'"
    assert lines[3] == f"{name} 3: input_images: expected one image or more, got none"
    assert lines[4].startswith(f"{name} 4: output_images: expected an image's bytes, got {{'bytes': None, ")
    assert len(lines) == 5


def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    builders.write_release(tmp_path / "data", {"edit": [public_row("nothing", n) for n in range(25)]})
    with pytest.raises(DataError, match=r"25 problem\(s\)") as caught:
        load(tmp_path / "data")
    assert len(str(caught.value).splitlines()) == 22
    assert str(caught.value).endswith("… and 5 more")


def test_taxonomy_is_mapped_while_loading(tmp_path: Path) -> None:
    rows = [
        public_row("Dye_Transfer", 1, modality="Radiograph", subtask=""),
        public_row("image-editing", 2, modality="XYZ scope", subtask="resolution-edit"),
        public_row("style-transfer", 3, modality="XYZ scope"),
    ]
    builders.write_release(tmp_path / "data", {"edit": rows}, shards=1)
    medgen_bench.canonical_modality.cache_clear()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        records = load(tmp_path / "data")
    assert [(r["task"], r["subtask"], r["modality"]) for r in records] == [
        ("style-transfer", None, "X-ray"),
        ("resolution-editing", "resolution-edit", "Other"),
        ("style-transfer", None, "Other"),
    ]
    assert sum("unknown modality 'XYZ scope'" in str(warning.message) for warning in caught) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"config_name": "edits"}, "unknown config 'edits'; expected one of vqa, edit, gen"),
        ({}, "unknown config None; expected one of vqa, edit, gen"),
        ({"config_name": "edit", "edition": "v1"}, "unknown edition 'v1'; expected one of paper, release, sample"),
        ({"config_name": "edit", "data_files": "x.parquet"}, "give their folder as data_dir=, not data_files="),
    ],
)
def test_wrong_calls_say_what_is_right(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        MedGenBench(**arguments)
