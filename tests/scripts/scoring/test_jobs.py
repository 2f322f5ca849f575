from pathlib import Path

import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.scoring.jobs import Job
from medgen_scripts.scoring.jobs import jobs


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    return path


def test_a_folder_is_a_system_with_the_configs_in_it(tmp_path: Path) -> None:
    edit, gen = made(tmp_path / "mine" / "edit.jsonl"), made(tmp_path / "mine" / "gen.jsonl")
    assert jobs([tmp_path / "mine"]) == [Job("mine", "edit", edit), Job("mine", "gen", gen)]
    assert jobs([tmp_path / "mine"], config="gen", system="named") == [Job("named", "gen", gen)]


@pytest.mark.parametrize(
    ("name", "config", "system"),
    [
        ("qwen3-vl_vqa.jsonl", "vqa", "qwen3-vl"),
        ("qwen3-vl_gpt-image-1_edit.jsonl", "edit", "qwen3-vl_gpt-image-1"),
        ("qwen3-vl_seedream_generate.jsonl", "gen", "qwen3-vl_seedream"),
    ],
)
def test_the_public_evaluators_file_names_are_understood(tmp_path: Path, name: str, config: str, system: str) -> None:
    path = made(tmp_path / name)
    assert jobs([path]) == [Job(system, config, path)]


def test_a_file_in_our_layout_belongs_to_its_folder(tmp_path: Path) -> None:
    path = made(tmp_path / "mine" / "vqa.jsonl")
    assert jobs([path]) == [Job("mine", "vqa", path)]


@pytest.mark.parametrize(
    ("name", "asked", "system", "config", "path"),
    [
        ("mine/edit.parquet", "mine", "mine", "edit", "mine/edit.parquet"),
        ("mine/edit/test-00000-of-00001.parquet", "mine", "mine", "edit", "mine/edit"),
        ("mine/edit/test-00000-of-00001.parquet", "mine/edit", "mine", "edit", "mine/edit"),
        ("mine/edit/test-00000-of-00001.parquet", None, "mine", "edit", "mine/edit/test-00000-of-00001.parquet"),
        ("mine/data/edit-00000-of-00001.parquet", None, "data", "edit", "mine/data/edit-00000-of-00001.parquet"),
        ("qwen3-vl_generate.parquet", None, "qwen3-vl", "gen", "qwen3-vl_generate.parquet"),
    ],
)
def test_parquet_is_named_as_jsonl_is_or_as_datasets_names_shards(
    name: str, asked: str | None, system: str, config: str, path: str, tmp_path: Path
) -> None:
    made(tmp_path / name)
    named = tmp_path / (asked or name)
    assert jobs([named]) == [Job(system, config, tmp_path / path)]


def test_shards_in_a_folder_of_any_name_need_a_config(tmp_path: Path) -> None:
    made(tmp_path / "mine/train-00000-of-00001.parquet")
    with pytest.raises(UsageError, match=r"got none of them, nor .parquet files"):
        jobs([tmp_path / "mine"])
    assert jobs([tmp_path / "mine"], config="edit") == [Job("mine", "edit", tmp_path / "mine")]


def test_one_of_several_shards_and_a_config_given_twice_are_refused(tmp_path: Path) -> None:
    shard = made(tmp_path / "mine/edit/test-00000-of-00002.parquet")
    with pytest.raises(UsageError, match="expected all shards, got one of 2; name the folder of them"):
        jobs([shard])
    made(tmp_path / "mine/edit.jsonl")
    with pytest.raises(UsageError, match=r"expected edit predictions once, got edit.jsonl, edit; name one"):
        jobs([tmp_path / "mine"])


def test_a_path_named_twice_is_scored_once(tmp_path: Path) -> None:
    path = made(tmp_path / "mine" / "vqa.jsonl")
    assert jobs([path, tmp_path / "mine"]) == [Job("mine", "vqa", path)]


def test_two_files_of_one_system_and_config_are_refused(tmp_path: Path) -> None:
    one, two = made(tmp_path / "a" / "vqa.jsonl"), made(tmp_path / "b" / "vqa.jsonl")
    with pytest.raises(UsageError, match="both vqa predictions of 'x'"):
        jobs([one, two], system="x")


def test_every_bad_path_is_named_in_one_message(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    odd = made(tmp_path / "outputs.jsonl")
    with pytest.raises(UsageError) as caught:
        jobs([tmp_path / "empty", tmp_path / "gone", odd])
    assert [line.split(": expected")[0] for line in str(caught.value).splitlines()] == [
        str(tmp_path / "empty"),
        str(tmp_path / "gone"),
        str(odd),
    ]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\nb", "a\0b", "a\udcffb", "é" * 101])
def test_a_system_is_named_so_that_it_names_files(tmp_path: Path, name: str) -> None:
    (tmp_path / "edit.jsonl").write_text("")
    with pytest.raises(UsageError, match="expected a system name of 1 to 200 bytes"):
        jobs([tmp_path], system=name)
    assert [job.system for job in jobs([tmp_path], system="é" * 100)] == ["é" * 100]
