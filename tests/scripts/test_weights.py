import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from medgen_metrics import weights
from medgen_scripts.cli import main

from ..servers.hub import Drop
from ..servers.hub import Hub


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["weights", *arguments])
    return int(ended.value.code or 0)


@pytest.fixture
def one_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """lpips-squeeze is here, the others are not and can't be had."""

    def no_network() -> Path:
        raise OSError("no network")

    monkeypatch.setattr(weights, "reachable", lambda url: True)
    for name, entry in weights.REGISTRY.items():
        here = tmp_path if name == "lpips-squeeze" else None
        monkeypatch.setitem(weights.REGISTRY, name, replace(entry, find=lambda here=here: here, fetch=no_network))
    return tmp_path


def test_list_says_what_is_here(one_here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list") == 0
    lines = {
        line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith(("lpips", "pub"))
    }
    assert set(lines) == set(weights.REGISTRY)
    assert [name for name, line in lines.items() if " yes " in line] == ["lpips-squeeze"]


def test_path_prints_the_place_or_the_remedy(one_here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("path", "lpips-squeeze") == 0
    assert capsys.readouterr().out.strip() == str(one_here)
    assert call("path", "pubmedbert") == 1
    assert "`medgen-bench weights fetch pubmedbert` gets them" in capsys.readouterr().err


def test_fetch_gets_what_can_be_had_and_names_the_rest(one_here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("fetch", "pubmedbert", "lpips-squeeze") == 1
    said = capsys.readouterr()
    assert f"lpips-squeeze: {one_here}" in said.out
    assert "weights pubmedbert could not be downloaded: no network" in said.err
    assert call("fetch", "lpips-squeeze") == 0


def test_an_unknown_name_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("fetch", "lpips-resnet") == 2
    assert "unknown weights 'lpips-resnet'; expected some of lpips-alex" in capsys.readouterr().err


def elsewhere(hub: Hub, home: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """The command in a process of its own, since huggingface_hub reads its environment once."""
    command = [sys.executable, "-m", "medgen_scripts", "weights", *arguments]
    environment = {**os.environ, **hub.environment(home), "MEDGEN_OFFLINE": "0", "TORCH_HOME": str(home)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)


def test_weights_come_from_the_hub_once_and_a_broken_download_continues(tmp_path: Path) -> None:
    heavy = bytes(range(256)) * 80_000  # 20 MB: the client writes 10 MB at a time
    files = {"config.json": b"{}", "vocab.txt": b"[PAD]", "pytorch_model.bin": heavy, "flax_model.msgpack": heavy}
    with Hub() as hub:
        hub.add("models", weights.PUBMEDBERT, "ab" * 20, files)
        assert elsewhere(hub, tmp_path, "path", "pubmedbert").returncode == 1
        assert hub.log == [], "asking for a path tried the network"
        hub.drops.append(Drop("pytorch_model.bin", 15_000_000))
        fetched = elsewhere(hub, tmp_path, "fetch", "pubmedbert")
        if fetched.returncode:  # whether a cut connection is tried again at once is the client's choice
            assert "could not be downloaded" in fetched.stderr
            fetched = elsewhere(hub, tmp_path, "fetch", "pubmedbert")
        assert fetched.returncode == 0, fetched.stderr
        assert any(request.range for request in hub.downloads()), "the download began anew"
        folder = Path(fetched.stdout.strip().removeprefix("pubmedbert: "))
        assert {entry.name for entry in folder.iterdir()} == {"config.json", "vocab.txt", "pytorch_model.bin"}
        assert (folder / "pytorch_model.bin").read_bytes() == heavy
        hub.log.clear()
        assert elsewhere(hub, tmp_path, "fetch", "pubmedbert").returncode == 0
        assert elsewhere(hub, tmp_path, "path", "pubmedbert").stdout.strip() == str(folder)
        assert hub.log == []


def test_a_model_that_the_hub_does_not_have_is_told_in_a_line(tmp_path: Path) -> None:
    with Hub() as hub:
        fetched = elsewhere(hub, tmp_path, "fetch", "pubmedbert")
    assert fetched.returncode == 1
    assert "weights pubmedbert could not be downloaded" in fetched.stderr
    assert "Traceback" not in fetched.stderr
