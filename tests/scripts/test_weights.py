import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import metadata
from pathlib import Path

import pytest

from medgen_metrics import weights
from medgen_scripts.cli import main

from ..metrics import radgraph_package
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
    names = ("lpips", "pub", "medimage", "radgraph")
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line.startswith(names)}
    assert set(lines) == {*weights.REGISTRY, "radgraph-xl"}
    assert [name for name, line in lines.items() if line.endswith(" yes")] == ["lpips-squeeze"]


def test_radgraphs_are_optional_and_told_with_their_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told() -> str:
        assert call("list") == 0
        return " ".join(capsys.readouterr().out.partition("radgraph-xl ")[2].split())

    version = metadata.version

    def absent(name: str) -> str:
        if name == "radgraph":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    with monkeypatch.context() as without:
        without.setattr(metadata, "version", absent)
        assert told().startswith("text radgraph_f1 - see its card no from")
        assert told().endswith("optional, for --text-extras radgraph; its package is not installed")
        assert call("fetch", "radgraph-xl") == call("path", "radgraph-xl") == 2
        assert (
            "it is not installed; pip install 'medgen-bench[radgraph]' takes a transformers below 5"
            in capsys.readouterr().err
        )
    radgraph_package.install(monkeypatch, tmp_path, {})
    assert told().startswith("text radgraph_f1 - see its card yes from")
    assert told().endswith("optional, for --text-extras radgraph")
    assert call("path", "radgraph-xl") == 0
    folder = Path(capsys.readouterr().out.strip())
    config = (folder / "config.json").read_text()
    # its encoder is part of it
    (folder / "config.json").write_text(config.replace(str(tmp_path), "owner/no-such-encoder"))
    assert told().startswith("text radgraph_f1 - see its card no from")
    (folder / "config.json").write_text("{}")
    assert told().startswith("text radgraph_f1 - see its card no from")
    (folder / "config.json").write_text(config)
    (folder / "weights.th").unlink()
    assert call("path", "radgraph-xl") == 1
    assert f"unpack the archive here to {folder}" in capsys.readouterr().err


def test_list_is_quick_and_fits_a_terminal(tmp_path: Path) -> None:
    code = (
        "import sys; from medgen_scripts.weights import list_weights; list_weights(); "
        "sys.exit(f'imported {found}' if (found := {'torch', 'torchvision', 'transformers'} & set(sys.modules)) else 0)"
    )
    checkpoint = tmp_path / "hub" / "checkpoints" / "alexnet-owt-7be5be79.pth"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"weights")
    environment = {**os.environ, "TORCH_HOME": str(tmp_path), "HF_HOME": str(tmp_path)}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.endswith(" yes")] == ["lpips-alex"]
    said = " ".join(told.stdout.split())
    assert all(entry.origin in said for entry in weights.REGISTRY.values())


def test_path_prints_the_place_or_the_remedy(one_here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("path", "lpips-squeeze") == 0
    assert capsys.readouterr().out.strip() == str(one_here)
    assert call("path", "pubmedbert") == 1
    assert "`medgen-bench weights fetch pubmedbert` gets them" in capsys.readouterr().err


def test_fetch_gets_what_can_be_had_and_names_the_rest(one_here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("fetch", "pubmedbert", "lpips-squeeze") == 1
    said = capsys.readouterr()
    assert f"lpips-squeeze: {one_here}" in said.out
    assert "weights pubmedbert could not be downloaded: no network; on a machine with a network run" in said.err
    # The command that has just failed is no remedy.
    assert "weights fetch" not in said.err
    assert call("fetch", "lpips-squeeze") == 0


def test_without_a_network_fetch_says_what_to_put_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(weights, "reachable", lambda url: False)
    monkeypatch.setitem(weights.REGISTRY, "pubmedbert", replace(weights.REGISTRY["pubmedbert"], find=lambda: None))
    assert call("fetch") == 1
    alex, bert, insight = capsys.readouterr().err.strip().splitlines()
    assert all(line.startswith("medgen-bench: weights ") for line in (alex, bert, insight))
    checkpoint = tmp_path / "torch" / "hub" / "checkpoints" / "alexnet-owt-7be5be79.pth"
    assert f"get https://download.pytorch.org/models/{checkpoint.name} (244 MB) on a machine with a network" in alex
    assert alex.endswith(f"and put it here as {checkpoint}")
    assert f"`hf download {weights.PUBMEDBERT} --include '*.json'" in bert
    folder = "models--microsoft--BiomedNLP-PubMedBERT-base-uncased-abstract"
    assert bert.endswith(f"to {tmp_path / 'hub' / folder} here")
    pinned = f"{weights.MEDIMAGEINSIGHT} --revision {weights.MEDIMAGEINSIGHT_REVISION}"
    assert f"`hf download {pinned} --include '{weights.MEDIMAGEINSIGHT_FILE}'`" in insight
    assert call("path", "lpips-alex") == 1
    assert f"put it here as {checkpoint}" in capsys.readouterr().err
    # What it says is what is then found.
    checkpoint.parent.mkdir(parents=True)
    checkpoint.write_bytes(b"weights")
    assert call("path", "lpips-alex") == 0


def test_a_folder_of_another_machines_cache_is_found(tmp_path: Path) -> None:
    with Hub() as hub:
        hub.add("models", weights.PUBMEDBERT, "ab" * 20, {"config.json": b"{}", "pytorch_model.bin": b"weights"})
        assert elsewhere(hub, tmp_path / "there", "fetch", "pubmedbert").returncode == 0
        found = (tmp_path / "there").rglob("models--microsoft--*")
        (folder,) = (path for path in found if path.parent.name != ".locks")
        asked = elsewhere(hub, tmp_path / "here", "path", "pubmedbert")
        told = asked.stderr.strip().removesuffix(" here").rpartition(" to ")[2]
        assert told.startswith(str(tmp_path / "here"))
        shutil.copytree(folder, told, symlinks=True)
        hub.log.clear()
        assert elsewhere(hub, tmp_path / "here", "path", "pubmedbert").returncode == 0
        assert hub.log == []


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
