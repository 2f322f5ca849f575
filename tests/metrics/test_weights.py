import hashlib
import socket
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from http.server import HTTPServer
from pathlib import Path

import pytest

from medgen_metrics import backbones
from medgen_metrics import weights
from medgen_metrics.weights import WeightsUnavailable


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(404)
        self.end_headers()

    def do_GET(self) -> None:
        content = b"0" * 100_000
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    http = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{http.server_port}"
    http.shutdown()


@pytest.fixture
def closed() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def entry(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    made = replace(weights.REGISTRY["lpips-alex"], find=lambda: None, **changes)  # type: ignore[arg-type]
    monkeypatch.setitem(weights.REGISTRY, "lpips-alex", made)


def never() -> Path:
    pytest.fail("the network was tried")


def test_any_answer_means_reachable(server: str) -> None:
    assert weights.reachable(server)


def test_a_dead_server_is_found_out_at_once(closed: str, silent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "TIMEOUT", 0.2)
    start = time.monotonic()
    assert not weights.reachable(closed)
    assert not weights.reachable(silent)
    assert not weights.reachable("http://no-such-host.invalid")
    assert time.monotonic() - start < 60, "retries instead of one look"


def test_what_is_here_is_used_without_a_look_at_the_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = replace(weights.REGISTRY["lpips-alex"], find=lambda: tmp_path, fetch=never, url=never)  # type: ignore[arg-type]
    monkeypatch.setitem(weights.REGISTRY, "lpips-alex", made)
    assert weights.obtain("lpips-alex") == tmp_path


@pytest.mark.parametrize("variable", ["MEDGEN_OFFLINE", "HF_HUB_OFFLINE"])
def test_offline_never_tries(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEDGEN_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "1")
    entry(monkeypatch, fetch=never, url=never)
    with pytest.raises(WeightsUnavailable, match=r"offline is set; `medgen-bench weights fetch lpips-alex` gets them"):
        weights.obtain("lpips-alex")


def test_an_unreachable_server_is_named_with_the_remedy(closed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entry(monkeypatch, fetch=never, url=lambda: closed)
    with pytest.raises(WeightsUnavailable, match=rf"{closed} can't be reached; `medgen-bench weights fetch"):
        weights.obtain("lpips-alex", offline=False)


def test_a_failed_download_is_told_and_a_good_one_used(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Path:
        raise OSError("connection reset")

    entry(monkeypatch, fetch=broken, url=lambda: server)
    with pytest.raises(WeightsUnavailable, match="could not be downloaded: connection reset"):
        weights.obtain("lpips-alex", offline=False)
    entry(monkeypatch, fetch=lambda: tmp_path, url=lambda: server)
    assert weights.obtain("lpips-alex", offline=False) == tmp_path


def test_every_entry_says_what_a_user_needs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    for name, known in weights.REGISTRY.items():
        assert name == known.name
        assert known.url().startswith("https://")
        assert known.tier in {"pixel", "text", "embedding"}
        assert known.megabytes > 0
        assert known.find() is None, "an empty cache holds nothing"


@pytest.mark.parametrize("is_right", [True, False])
def test_a_backbone_is_kept_only_if_its_digest_is_right(
    is_right: bool, server: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    digest = hashlib.sha256(b"0" * 100_000).hexdigest()[:8] if is_right else "deadbeef"
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    monkeypatch.setattr(backbones, "url", lambda net: f"{server}/{net}-{digest}.pth")
    if is_right:
        path = weights.obtain("lpips-squeeze", offline=False)
        assert path == tmp_path / "hub" / "checkpoints" / f"squeeze-{digest}.pth"
        assert weights.obtain("lpips-squeeze", offline=True) == path
    else:
        with pytest.raises(WeightsUnavailable, match="could not be downloaded: invalid hash value"):
            weights.obtain("lpips-squeeze", offline=False)
        assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_backbones_are_torchvisions() -> None:
    from torchvision import models

    theirs = (models.AlexNet_Weights, models.SqueezeNet1_1_Weights, models.VGG16_Weights)
    expected = [made.IMAGENET1K_V1.url for made in theirs]
    assert [weights.REGISTRY[f"lpips-{net}"].url() for net in ("alex", "squeeze", "vgg")] == expected


@pytest.mark.parametrize(
    "changes",
    [{}, {"TORCH_HOME": "~/mine"}, {"XDG_CACHE_HOME": "/tmp/cache"}, {"TORCH_HOME": "/x", "XDG_CACHE_HOME": "/y"}],
)
def test_torchs_folder_is_known_without_torch(changes: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    from torch import hub

    for name in ("TORCH_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    expected = Path(hub.get_dir()) / "checkpoints" / "vgg16-397923af.pth"
    monkeypatch.delitem(sys.modules, "torch")
    assert str(expected) in weights.REGISTRY["lpips-vgg"].by_hand()


# --- MedImageInsight --------------------------------------------------------------------------------------------------


def cached(hub: Path, commit: str, sha: str) -> Path:
    """The checkpoint as huggingface_hub's cache has it: a link to a blob that is named by its digest."""
    folder = hub / "models--lion-ai--MedImageInsights"
    blob = folder / "blobs" / sha
    file = folder / "snapshots" / commit / weights.MEDIMAGEINSIGHT_FILE
    for path in (blob, file):
        path.parent.mkdir(parents=True, exist_ok=True)
    blob.write_bytes(b"weights")
    file.symlink_to(blob)
    return file


def test_medimageinsight_is_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    asked: list[str] = []
    monkeypatch.setattr(
        "huggingface_hub.hf_hub_download", lambda *repo, revision, **named: asked.append(revision) or "/file"
    )
    for known in (weights.REGISTRY["medimageinsight"], weights.medimageinsight("main")):
        assert known.find() is None
        known.fetch()
    assert asked == [weights.MEDIMAGEINSIGHT_REVISION, "main"]
    assert weights.REGISTRY["medimageinsight"].name == "medimageinsight"
    assert weights.medimageinsight("main").name == "lion-ai/MedImageInsights@main"
    assert f"--revision {weights.MEDIMAGEINSIGHT_REVISION} " in weights.REGISTRY["medimageinsight"].by_hand()


def test_another_commits_file_serves_if_it_is_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    known = weights.REGISTRY["medimageinsight"]
    cached(tmp_path, "1" * 40, "0" * 64)
    assert known.find() is None
    file = cached(tmp_path, "2" * 40, weights.MEDIMAGEINSIGHT_SHA256)
    assert known.find() == file
    pinned = cached(tmp_path, weights.MEDIMAGEINSIGHT_REVISION, "3" * 64)
    assert known.find() == pinned
