from dataclasses import replace
from pathlib import Path

import pytest

from medgen_metrics import weights
from medgen_scripts.cli import main


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
