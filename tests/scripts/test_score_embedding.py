"""The embedding tier from the command line: score, cache and table, on an encoder of random weights."""

import json
from pathlib import Path
from typing import Any

import pytest

from medgen_metrics.encoders.transformers_model import TransformersModel
from medgen_scripts.cli import main

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


def score(out: Path, *options: object, systems: str = "*") -> int:
    folders = sorted((out / "predictions").glob(systems))
    return call("score", *folders, "--edition", "sample", "--limit", 4, "--out", out, *options)


def means(out: Path, system: str) -> dict[str, Any]:
    result = json.loads((out / "results" / f"{system}.json").read_text("utf-8"))
    return result["configs"]["edit"]["tiers"]["embedding"]["metrics"]


def test_scores_keeps_references_and_prints_the_column(
    out: Path, encoder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    encoded: list[int] = []
    encode = TransformersModel.encode

    def noted(self: TransformersModel, pixels: Any) -> Any:
        encoded.append(len(pixels))
        return encode(self, pixels)

    monkeypatch.setattr(TransformersModel, "encode", noted)
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
    assert "embedding  tiny" in capsys.readouterr().out


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
        (("--embedding-model", "/no/such/folder"), "neither a folder here nor a Hub id"),
        (("--embedding-weights", tmp_path / "none"), "there is none at"),
        (("--embedding-weights", tmp_path / "weights.pt"), "can't be read"),
        (("--embedding-model", tmp_path), "has no config.json"),
    ):
        assert score(out, "--tiers", "embedding", *options, systems="copy-input") == 2
        assert said in capsys.readouterr().err
