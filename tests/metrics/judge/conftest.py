"""Fixtures of the judge's tests."""

from pathlib import Path

import pytest

from .tiny_qwen3vl import write


@pytest.fixture(scope="session")
def tiny_judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a Qwen3-VL with random weights."""
    return write(tmp_path_factory.mktemp("judge") / "tiny-qwen3-vl")
