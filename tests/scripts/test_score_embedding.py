"""The embedding tier from the command line: score, cache and table, on an encoder of random weights."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medgen_metrics.devices import DTYPES
from medgen_metrics.encoders.transformers_model import TransformersModel
from medgen_scripts.cli import main
from medgen_scripts.cli_options import EncoderDtype

from ..metrics.tiny_vision import save_vit


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems' outputs for a few records of the sample."""
    out = tmp_path_factory.mktemp("out")
    for system in ("copy-input", "reference"):
        assert call("run", system, "edit", "--edition", "sample", "--limit", 4, "--out", out) == 0
    return out


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_vit(tmp_path_factory.mktemp("encoders") / "tiny")


def test_the_command_line_offers_the_types_that_encoders_take() -> None:
    assert [dtype.value for dtype in EncoderDtype] == list(DTYPES)


def score(out: Path, *options: object, systems: str = "*") -> int:
    folders = sorted((out / "predictions").glob(systems))
    return call("score", *folders, "--edition", "sample", "--limit", 4, "--out", out, *options)


def means(out: Path, system: str) -> dict[str, Any]:
    result = json.loads((out / "results" / f"{system}.json").read_text("utf-8"))
    return result["configs"]["edit"]["tiers"]["embedding"]["metrics"]


def counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many images each forward pass takes; those that a model is tried with as it is loaded don't count."""
    encoded: list[int] = []
    encode = TransformersModel.encode

    def noted(self: TransformersModel, pixels: Any) -> Any:
        encoded.append(len(pixels))
        return encode(self, pixels)

    def untold(self: TransformersModel, folder: Path) -> None:
        count = len(encoded)
        tried(self, folder)
        del encoded[count:]

    tried = TransformersModel._try
    monkeypatch.setattr(TransformersModel, "encode", noted)
    monkeypatch.setattr(TransformersModel, "_try", untold)
    return encoded


def test_scores_keeps_references_and_prints_the_column(
    out: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encoded = counting(monkeypatch)
    chosen = ("--tiers", "embedding", "--embedding-model", encoder)
    assert score(out, *chosen, systems="copy-input") == 0
    assert sum(encoded) == 8
    assert score(out, *chosen) == 0
    # The references are kept: only the second system's outputs are encoded.
    assert sum(encoded) == 12
    assert means(out, "reference")["cosine[tiny]"]["mean"] == pytest.approx(1.0)
    assert means(out, "copy-input")["cosine[tiny]"]["mean"] < 1
    capsys.readouterr()
    assert call("table", *sorted((out / "results").glob("*.json"))) == 0
    table = capsys.readouterr().out
    assert "Cosine" in table
    assert "MII" not in table
    assert "100.00" in table
    assert "cosine:tiny|size:own|weights:" in table
    assert call("cache", "list", "--out", out) == 0
    assert "embedding tiny " in capsys.readouterr().out


def test_kept_features_serve_on_another_machine(
    out: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoded = counting(monkeypatch)
    chosen = ("--tiers", "embedding", "--embedding-model", encoder)
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "features.jsonl.gz"
    for folder in (here, there):
        shutil.copytree(out / "predictions", folder / "predictions")
    assert score(here, *chosen, systems="copy-input") == 0
    assert sum(encoded) == 8
    assert call("cache", "export", file, "--kind", "embedding", "--out", here) == 0
    assert call("cache", "import", file, "--out", there) == 0
    encoded.clear()
    assert score(there, *chosen, systems="copy-input") == 0
    assert sum(encoded) == 4, "no reference"
    assert means(there, "copy-input")["cosine[tiny]"] == means(here, "copy-input")["cosine[tiny]"]
    # another precision is another definition; its features go where they are told to
    assert score(there, *chosen, "--embedding-dtype", "bfloat16", "--embedding-cache", tmp_path / "kept") == 0
    assert len(list((tmp_path / "kept").glob("*.jsonl"))) == 1


def test_images_that_recur_are_encoded_once(
    out: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = tmp_path / "predictions" / "one", tmp_path / "predictions" / "other"
    for system in (one, other):
        shutil.copytree(out / "predictions" / "copy-input", system)
    images = sorted((one / "images").iterdir())
    for path in [*images[1:], *(other / "images").iterdir()]:
        path.write_bytes(images[0].read_bytes())
    encoded = counting(monkeypatch)
    assert score(tmp_path, "--tiers", "embedding", "--embedding-model", encoder) == 0
    assert sum(encoded) == 5, "four references and the output that all records of both systems share"


def test_a_broken_feature_cache_costs_no_scores(
    out: Path, encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "features-0.jsonl").write_bytes(b"\0" * 500 + b"\n")
    chosen = ("--tiers", "embedding", "--embedding-model", encoder, "--embedding-cache", kept)
    shutil.copytree(out / "predictions", tmp_path / "predictions")
    assert score(tmp_path, *chosen, systems="copy-input") == 0
    assert means(tmp_path, "copy-input")["cosine[tiny]"]["scored"] == 4
    assert "features-0.jsonl:1: expected an entry of the feature cache" in capsys.readouterr().err


def test_an_encoder_that_fails_midway_is_told_in_a_line(
    out: Path, encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(TransformersModel, "_try", lambda self, folder: None)
    monkeypatch.setattr(TransformersModel, "encode", lambda self, pixels: np.full((len(pixels), 4), np.nan, np.float32))
    shutil.copytree(out / "predictions", tmp_path / "predictions")
    assert score(tmp_path, "--tiers", "embedding", "--embedding-model", encoder, systems="copy-input") == 1
    assert "medgen-bench: embedding: the encoder gives embeddings that are not finite" in capsys.readouterr().err


def test_without_weights_the_other_tiers_run(
    out: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert score(out, "--tiers", "pixel,embedding", "--offline", "--lpips-net", "squeeze", systems="copy-input") == 0
    said = capsys.readouterr().err
    assert "embedding: mii is left unscored: weights medimageinsight are not on this machine" in said
    assert "medimageinsigt-v1.0.0.pt" in said
    result = json.loads((out / "results" / "copy-input.json").read_text("utf-8"))
    assert result["configs"]["edit"]["tiers"]["pixel"]["metrics"]["ssim"]["scored"] == 4
    assert means(out, "copy-input")["mii"]["failures"] == {"weights_missing": 4}


def test_bad_options_are_bad_usage(out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "weights.pt").write_bytes(b"no weights")
    for options, said in (
        (("--embedding-model", "/no/such/folder"), "no folder /no/such/folder here"),
        (("--embedding-weights", tmp_path / "none"), "there is none at"),
        (("--embedding-weights", tmp_path / "weights.pt"), "can't be read"),
        (("--embedding-model", tmp_path), "has no config.json"),
    ):
        assert score(out, "--tiers", "embedding", *options, systems="copy-input") == 2
        assert said in capsys.readouterr().err
