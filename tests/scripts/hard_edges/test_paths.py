import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .given import COUNT
from .given import EDITS
from .given import Cli
from .given import put


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/etc/hostname", "absolute paths are refused"),
        ("../../secret.png", "paths with '..' are refused"),
        ("images/link.png", "it is a link to '/etc/hostname', outside the allowed folders"),
        ("images/\0.png", "expected a relative path"),
    ],
)
def test_a_path_that_leads_out_is_refused(name: str, words: str, system: Path, cli: Cli) -> None:
    (system / "images" / "link.png").symlink_to("/etc/hostname")
    put(system, 0, image=name)
    ended = cli(system, "--config", "edit")
    assert ended.code == 2
    assert "edit.jsonl:1: " in ended.said
    assert words in ended.said
    assert ended.result is None


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link", "link to itself"])
def test_what_is_no_file_is_missing(kind: str, system: Path, cli: Cli) -> None:
    path = system / "images" / f"{EDITS[0]}.png"
    path.unlink()
    make: dict[str, Callable[[], Any]] = {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "dangling link": lambda: path.symlink_to("gone"),
        "link to itself": lambda: path.symlink_to(path.name),
    }
    make[kind]()
    ended = cli(system, "--config", "edit")
    assert ended.code == 0
    assert set(ended.first()[1].values()) == {"missing"}
    assert f"1 of {COUNT} images do not exist under" in ended.said


ODD_NAMES = ["two words", "line\nbreak", "Röntgen-胸", "[a]*?", "-dash", "é" * 125, "y" * 251]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_an_image_of_any_name_is_scored(name: str, system: Path, cli: Cli) -> None:
    file = f"{name}.png"
    (system / "images" / f"{EDITS[0]}.png").rename(system / "images" / file)
    put(system, 0, image=f"images/{file}")
    ended = cli(system, "--config", "edit")
    assert ended.code == 0
    assert "ssim" in ended.first()[0]


@pytest.mark.parametrize("name", ["two words", "Röntgen-胸", "[a]*?", "-dash", "x.json", "y" * 200])
def test_a_systems_folder_may_have_any_name_that_names_its_files(name: str, system: Path, cli: Cli) -> None:
    ended = cli(system.rename(system.with_name(name)), "--config", "edit", name=name)
    assert ended.code == 0
    assert ended.result is not None
    assert ended.result.system == name


@pytest.mark.parametrize("name", ["line\nbreak", "y" * 255, "a\udcffb", ".hidden", "a\\b"])
def test_a_systems_folder_of_another_name_is_asked_for_one(name: str, system: Path, cli: Cli) -> None:
    moved = system.rename(system.with_name(name))
    ended = cli(moved, "--config", "edit")
    assert ended.code == 2
    assert "expected a system name of 1 to 200 bytes" in ended.said
    assert "name it with --system NAME" in ended.said
    assert cli(moved, "--config", "edit", "--system", "mine").code == 0


@pytest.mark.parametrize("name", ["", ".", "..", "../../evil", "a/b", "a\0b"])
def test_a_systems_name_leads_nowhere_else(name: str, system: Path, cli: Cli, tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    ended = cli(system, "--config", "edit", "--system", name)
    assert ended.code == 2
    assert "expected a system name" in ended.said
    assert set(tmp_path.rglob("*")) == before
