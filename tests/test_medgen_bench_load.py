"""Reading the public Parquet release, our own layout and the sample: records, ids, groups."""

from pathlib import Path
from typing import Any

import pytest

import medgen_bench
import medgen_metrics.groups
from medgen_bench import DataError
from medgen_bench import MedGenBench

from . import builders
from .builders import images
from .builders import public_row
from .loading import export
from .loading import load
from .loading import raw

pytestmark = [
    pytest.mark.usefixtures("cache"),
    pytest.mark.filterwarnings("ignore:.*records; edition .* has:UserWarning"),
]


# ---- Records


@pytest.mark.parametrize("config", medgen_bench.CONFIGS)
def test_every_row_of_the_release_becomes_a_record(release: Path, config: str) -> None:
    rows = builders.release_rows()[config]
    dataset = medgen_bench.load(config, edition="release", data_dir=release)
    assert dataset.features == medgen_bench.features(config)
    records = raw(dataset)
    assert len(records) == len(rows)
    for row, record in zip(rows, records, strict=True):
        for column in {"task", "subtask", "modality", "instruction", "answer"} & set(record):
            assert record[column] == row[column]
        for column in {"input_images", "output_images"} & set(record):
            assert record[column] == [{"bytes": image["bytes"], "path": None} for image in row[column]]
        assert record["source"] is None
        files = [[image["bytes"] for image in record.get(name, [])] for name in ("input_images", "output_images")]
        assert record["id"] == medgen_bench.record_id(row["task"], row["instruction"], *files)
    assert ("output_images" in records[0], "answer" in records[0]) == (config != "vqa", config != "edit")


def test_choices_are_recovered_and_images_decode(release: Path) -> None:
    dataset = medgen_bench.load("vqa", edition="release", data_dir=release)
    assert [record["choices"] for record in dataset][:3] == [["A. left lung", "B. right lung", "C. heart"]] * 2 + [[]]
    assert [len(record["input_images"]) for record in dataset] == [1] * 6 + [2] * 2
    assert dataset[0]["input_images"][0].tobytes() == builders.picture(0).tobytes()


def test_a_release_id_is_the_prepared_views_name(release: Path) -> None:
    names = [record["release_id"] for record in load(release)]
    assert names[0] == "medgen:image_editing:train-00000-of-00002:000000"
    assert names[5:7] == [
        "medgen:image_editing:train-00000-of-00002:000005",
        "medgen:image_editing:train-00001-of-00002:000000",
    ]
    assert load(release, "gen")[0]["release_id"].startswith("medgen:multimodal_generation:")


def test_streaming_and_several_processes_give_the_same(release: Path, tmp_path: Path) -> None:
    plain = load(release, "gen")
    assert load(release, "gen", streaming=True) == plain
    builder = MedGenBench(str(tmp_path / "other"), config_name="gen", edition="release", data_dir=release)
    builder.download_and_prepare(num_proc=2)
    assert raw(builder.as_dataset(split="test")) == plain
    assert len(list(Path(builder.cache_dir).glob("medgen-bench-test*.arrow"))) == 2
    stream = medgen_bench.load("gen", edition="release", data_dir=release, streaming=True)
    assert stream.num_shards == 6  # row groups


def test_images_of_odd_kinds_are_carried_bit_for_bit(tmp_path: Path) -> None:
    from PIL import Image

    grey16 = Image.fromarray((builders.np.arange(4096).reshape(64, 64) * 16).astype("uint16"))
    files = [
        builders.encoded(grey16),
        builders.encoded(builders.picture(1), format="JPEG", quality=40),
        builders.encoded(builders.picture(2).convert("RGBA")),
        builders.encoded(builders.picture(3).convert("P"), format="GIF"),
        builders.png(4)[:300],
        b"no image at all",
    ]
    rows = [public_row("style-transfer", n, input_images=images(data)) for n, data in enumerate(files)]
    builders.write_release(tmp_path / "data", {"edit": rows})
    assert [record["input_images"][0]["bytes"] for record in load(tmp_path / "data")] == files


def test_a_file_of_an_images_name_in_the_working_directory_changes_nothing(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "img_0.png").write_bytes(builders.png(99))
    monkeypatch.chdir(tmp_path)
    wanted = [images(seed) for seed in range(8, 20)]
    for records in (load(release), load(release, streaming=True)):
        assert [record["input_images"][0]["bytes"] for record in records] == [image[0]["bytes"] for image in wanted]


def test_no_path_of_this_machine_is_in_the_prepared_data(release: Path, cache: Path) -> None:
    rows = [public_row("style-transfer", 1)]
    rows[0]["input_images"][0]["path"] = f"{release}/secret.png"
    builders.write_release(cache.parent / "data", {"edit": rows})
    assert len(load(cache.parent / "data")) == 1
    prepared = [path.read_bytes() for path in cache.rglob("*") if path.suffix in (".arrow", ".json", ".parquet")]
    assert len(prepared) >= 3
    assert not any(str(cache.parent).encode() in data or b"secret" in data for data in prepared)


# ---- Ids and groups over the whole source


def repeated_rows() -> dict[str, list[dict[str, Any]]]:
    """Edit rows of which some repeat, some share images, one shares with a gen row, and one stands alone."""
    same = public_row("style-transfer", 1)
    return {
        "edit": [
            same,
            public_row("artifact-removal", 2),
            same,
            public_row("artifact-removal", 3, output_images=images(502)),
            same,
            public_row("artifact-removal", 4),
            public_row("noise-reconstruction", 5),
        ],
        "gen": [public_row("organic-removal", 6, input_images=images(504))],
    }


@pytest.mark.parametrize("shards", [1, 3])
def test_repeats_are_numbered_over_all_shards(tmp_path: Path, shards: int) -> None:
    builders.write_release(tmp_path / "data", repeated_rows(), shards)
    names = [record["id"] for record in load(tmp_path / "data")]
    assert len(set(names)) == 7
    assert [name for name in names if name.startswith("style")] == [names[0], f"{names[0]}-2", f"{names[0]}-3"]
    streamed = medgen_bench.load("edit", edition="release", data_dir=tmp_path / "data", streaming=True)
    assert [record["id"] for record in streamed] == names


def test_groups_join_records_that_share_an_image_across_configs(tmp_path: Path) -> None:
    builders.write_release(tmp_path / "data", repeated_rows())
    groups = [record["group"] for record in load(tmp_path / "data")]
    assert groups[0] == groups[2] == groups[4]
    assert groups[1] == groups[3]  # one reference image
    assert len(set(groups)) == 4
    (joined,) = (record["group"] for record in load(tmp_path / "data", "gen"))
    assert joined == groups[5]  # its input is that edit's reference


def test_the_index_is_built_once_for_all_configs_and_editions(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {config: [record["group"] for record in load(release, config, streaming=True)] for config in ("edit",)}
    monkeypatch.setattr(medgen_metrics.groups, "perceptual_hash", None)
    assert [record["group"] for record in load(release, "edit", edition="paper")] == groups["edit"]
    assert len(load(release, "vqa")) == 8


# ---- Our own layout


@pytest.mark.parametrize("name", ["{}/test-00000-of-00001.parquet", "{}.parquet", "data/x-{}.parquet"])
def test_our_own_layout_gives_the_same_records(release: Path, tmp_path: Path, name: str) -> None:
    records = export(tmp_path / "export", release, name)
    if name.startswith("data"):  # told by nothing but columns, so one config a folder
        for config in records:
            (tmp_path / "export" / f"only_{config}").mkdir()
            (tmp_path / "export" / name.format(config)).rename(tmp_path / "export" / f"only_{config}" / "all.parquet")
    for config, wanted in records.items():
        assert load(tmp_path / "export", config) == wanted
        assert load(tmp_path / "export", config, streaming=True) == wanted


def test_a_repeated_id_in_our_layout_is_an_error(release: Path, tmp_path: Path) -> None:
    records = export(tmp_path / "export", release)["vqa"]
    schema = builders.our_schema("vqa")
    builders.write_shards(tmp_path / "export" / "vqa", [*records, records[0]], schema)
    (tmp_path / "export" / "vqa" / "test-00000-of-00001.parquet").unlink()
    with pytest.raises(DataError, match=rf"id '{records[0]['id']}' stands 2 times"):
        load(tmp_path / "export", "vqa")


# ---- The embedded sample


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("config", medgen_bench.CONFIGS)
def test_the_sample_loads_and_its_ids_hold(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDGEN_BENCH_DIR", "/nowhere")  # not asked
    dataset = medgen_bench.load(config, edition="sample")
    assert dataset.features == medgen_bench.features(config)
    assert set(dataset["task"]) == {t for t, task in medgen_bench.TASKS.items() if task.config == config} - {
        "disease-prediction"
    }
    assert set(dataset["modality"]) <= set(medgen_bench.MODALITIES) - {"Other"}
    assert "illustrative sample" in dataset.info.description
    for record in raw(dataset):
        files = [[image["bytes"] for image in record.get(name, [])] for name in ("input_images", "output_images")]
        assert record["id"] == medgen_bench.record_id(record["task"], record["instruction"], *files)
        if record["task"] == "multiple-choice":
            assert record["choices"] == medgen_bench.split_options(record["instruction"])[1]
            assert record["answer"] in record["choices"]
