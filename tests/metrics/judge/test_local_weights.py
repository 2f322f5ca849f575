"""Weights of the judge in this process: where they are looked for, and what they are known by."""

import json
import shutil
from pathlib import Path

import pytest

from medgen_metrics.judge import local
from medgen_metrics.judge.local import TransformersBackend
from medgen_metrics.weights import WeightsUnavailable

from .in_process import ask
from .in_process import run
from .tiny_qwen3vl import write

JUDGE = "Qwen/Qwen3-VL-8B-Instruct"


@pytest.fixture
def hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def test_weights_that_are_missing_say_what_to_get(hub_cache: Path) -> None:
    why = local.unavailable(JUDGE, revision="v1", offline=True)
    assert why is not None
    assert why.startswith(f"no folder {JUDGE} here, and weights {JUDGE}@v1 are not on this machine, and offline is set")
    backend = TransformersBackend(JUDGE, offline=True)
    for work in (backend.probe, lambda: ask(backend)):
        with pytest.raises(WeightsUnavailable, match="name a folder that holds"):
            run(backend, work)


def test_a_model_is_found_in_the_hubs_cache_once_it_is_whole(hub_cache: Path, tiny_judge: Path) -> None:
    commit = "ab" * 20
    folder = hub_cache / "models--lab--judge" / "snapshots" / commit
    shutil.copytree(tiny_judge, folder)
    (folder / "model.safetensors").rename(folder / "model-00001-of-00002.safetensors")
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    (hub_cache / "models--lab--judge" / "refs").mkdir()
    (hub_cache / "models--lab--judge" / "refs" / "main").write_text(commit)
    assert local.unavailable("lab/judge", offline=True) is not None
    (folder / shards["b"]).write_bytes(b"")
    assert local.find("lab/judge", offline=True) == folder
    assert local.identity("lab/judge", offline=True)["revision"] == commit
    assert local.identity("lab/judge", offline=True)["model"] == "lab/judge"


def test_a_judge_is_known_by_its_content_not_by_its_folder(tiny_judge: Path, tmp_path: Path) -> None:
    same = shutil.copytree(tiny_judge, tmp_path / "elsewhere" / tiny_judge.name)
    assert local.identity(str(same)) == local.identity(str(tiny_judge))
    other = write(tmp_path / "other" / tiny_judge.name, seed=1)
    assert local.identity(str(other))["weights"] != local.identity(str(tiny_judge))["weights"]
    (same / "chat_template.jinja").write_text("{{ messages }}")
    assert local.identity(str(same))["weights"] != local.identity(str(tiny_judge))["weights"]


@pytest.mark.parametrize(
    ("name", "message"), [("no such judge", "neither a folder here nor a Hub id"), ("{}", "has no config.json")]
)
def test_a_name_that_means_nothing(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        local.unavailable(name.format(tmp_path))


def test_a_folder_has_no_revision(tiny_judge: Path) -> None:
    with pytest.raises(ValueError, match="expected no revision of a folder, got 'v2'"):
        local.find(str(tiny_judge), revision="v2")


def test_a_model_that_sees_no_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    backend = TransformersBackend(str(tmp_path))
    with pytest.raises(ValueError, match="expected a model for images and text with its processor in"):
        run(backend, lambda: ask(backend))
