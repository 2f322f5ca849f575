"""Fixtures of the judge's tests."""

from pathlib import Path

import pytest

from medgen_metrics.judge.local import TransformersBackend
from medgen_metrics.serving.local_model import LocalModel
from medgen_metrics.serving.local_model import load

from .tiny_qwen3vl import write


@pytest.fixture(scope="session")
def tiny_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a Qwen3-VL with random weights."""
    return write(tmp_path_factory.mktemp("judge") / "tiny-qwen3-vl")


@pytest.fixture(scope="module")
def model(tiny_judge: Path) -> LocalModel:
    return load(tiny_judge)


@pytest.fixture
def backend(tiny_judge: Path, model: LocalModel) -> TransformersBackend:
    """A back end whose model is loaded."""
    made = TransformersBackend(str(tiny_judge), batch_size=4)
    made._model = model
    return made
