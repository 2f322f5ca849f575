"""Predictions on the Hub: resolved to a commit, fetched once, scored as the same files here, refused in one message."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.plan import plan
from medgen_scripts.predictions_hub import HubPath
from medgen_scripts.predictions_hub import parse
from medgen_scripts.score import score
from medgen_scripts.scoring.jobs import given
from medgen_scripts.scoring.jobs import jobs
from medgen_scripts.show import show
from medgen_scripts.validate import validate

from ..servers.hub import Hub
from . import parquet
from . import scored

COUNT = 4
COMMIT, LATER = "a" * 40, "b" * 40


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub that this process asks, with a cache of the test's own; the library reads its environment only once."""
    with Hub() as server:
        server.aim(monkeypatch, tmp_path / "hub")
        yield server


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scored.write_data(tmp_path_factory.mktemp("data"), COUNT)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A system's predictions on this machine."""
    return scored.write_predictions(tmp_path / "mine", COUNT)


def files(folder: Path, at: str = "") -> dict[str, bytes]:
    """A folder's files as a repository's."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {f"{at}{path.relative_to(folder).as_posix()}": path.read_bytes() for path in found}


def result(paths: Sequence[str | Path], data: Path, out: Path, **options: Any) -> dict[str, Any]:
    """The configs of the one result file that scoring writes."""
    named = {name: options.pop(name) for name in ("system", "config") if name in options}
    (path,) = score(paths, scored.options(data, out, **options), **named)
    configs: dict[str, Any] = json.loads(path.read_bytes())["configs"]
    return configs


def origins(configs: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Takes path and revision out of a result."""
    return {
        name: (config["predictions"].pop("path"), config["predictions"].pop("revision", ""))
        for name, config in configs.items()
    }


def said(paths: Sequence[str | Path], **options: Any) -> list[str]:
    with pytest.raises(UsageError) as told:
        jobs(paths, **options)
    return str(told.value).splitlines()


@pytest.mark.usefixtures("cache")
def test_jsonl_on_the_hub_is_scored_as_the_same_files_here(hub: Hub, mine: Path, data: Path, tmp_path: Path) -> None:
    stranger = {"other/edit.jsonl": b"of another system", "other/images/x.png": b"x", "README.md": b"hello"}
    hub.add("datasets", "me/all", COMMIT, {**files(mine, "mine/"), **stranger})
    out = tmp_path / "out"
    expected = result([mine], data, out)
    origins(expected)
    journals = {path: path.stat().st_size for path in (out / "scores/mine").glob("*.jsonl")}
    assert len(journals) == 2

    # The weights' `offline` would also mean the Hub's.
    configs = result(given(jobs(["hf://datasets/me/all/mine"], download=True)), data, out)
    assert origins(configs) == {
        name: (f"hf://datasets/me/all@{COMMIT}/mine/{name}.jsonl", COMMIT) for name in ("vqa", "edit")
    }
    assert configs == expected
    # The same keys: nothing is scored again.
    assert {path: path.stat().st_size for path in (out / "scores/mine").glob("*.jsonl")} == journals
    assert {request.path.partition(f"/{COMMIT}/")[2] for request in hub.downloads()} == set(files(mine, "mine/"))


def test_a_branch_may_move_and_a_commit_stays(hub: Hub, mine: Path) -> None:
    hub.add("datasets", "me/mine", COMMIT, files(mine))
    (first, _) = jobs(["hf://datasets/me/mine"], download=True)
    hub.add("datasets", "me/mine", LATER, {"vqa.jsonl": b"{}", "edit.jsonl": b"{}"})
    hub.log.clear()
    # Offline a branch is what it was when it was last asked for, a commit is a commit.
    for path in ("hf://datasets/me/mine", f"hf://datasets/me/mine@{COMMIT}", *given([first])):
        assert jobs([path], offline=True)[0] == first
    assert hub.log == []
    assert jobs(given([first]), download=True) == jobs(["hf://datasets/me/mine"], offline=True)
    (moved, _) = jobs([Path("hf://datasets/me/mine@main")], download=True)
    assert (moved.system, moved.config, moved.place) == ("mine", "vqa", f"hf://datasets/me/mine@{LATER}/vqa.jsonl")
    assert moved.path.read_bytes() == b"{}"


@pytest.mark.usefixtures("cache")
def test_a_data_set_with_configs_is_a_system(
    hub: Hub, mine: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = parquet.push(mine, tmp_path / "made")
    hub.add("datasets", "me/my-system", COMMIT, {**files(made), "README.md": b"hello"})
    out = tmp_path / "out"
    expected = result([mine], data, out, system="my-system")
    here = result([made], data, out, system="my-system")
    origins(expected)
    assert origins(here) == {name: (str(made / name), "") for name in ("vqa", "edit")}
    there = result(given(jobs(["hf://datasets/me/my-system"], download=True)), data, out)
    assert origins(there) == {name: (f"hf://datasets/me/my-system@{COMMIT}/{name}", COMMIT) for name in ("vqa", "edit")}
    assert here == there == expected
    assert len(list((out / "scores/my-system").glob("*.jsonl"))) == 2  # scored once, by the first call

    hub.log.clear()
    assert [job.system for job in jobs(["hf://datasets/me/my-system/edit"])] == ["my-system"]
    assert [job.config for job in jobs(["hf://datasets/me/my-system"], config="edit")] == ["edit"]
    assert hub.downloads() == []

    capsys.readouterr()
    plan(["hf://datasets/me/my-system"], scored.options(data, out))
    assert capsys.readouterr().out.count("my-system") == 2
    validate(Path("hf://datasets/me/my-system"), edition="release", data_dir=data, config="vqa")
    assert "vqa predictions, edition release" in capsys.readouterr().out
    sheet = tmp_path / "sheet.png"
    named = [Path("hf://datasets/me/my-system")]
    with (mine / "edit.jsonl").open() as lines:
        first = json.loads(lines.readline())["id"]
    show(first, edition="release", data_dir=data, predictions=named, to=sheet)
    assert sheet.is_file()


def test_what_cannot_be_had_is_told_in_one_message(hub: Hub, tmp_path: Path) -> None:
    hub.add("datasets", "me/few", COMMIT, {"README.md": b"hello", "a/vqa.csv": b"id"})
    named = ["me/gone", "me/few@nope", "me/few", "me/few/b"]
    lines = said([*(f"hf://datasets/{name}" for name in named), "hf://me/few", tmp_path / "gone"])
    assert "RepositoryNotFoundError" in lines[0]
    assert "hf://datasets/me/few@nope: can't be had: RevisionNotFoundError" in lines[1]
    assert lines[2].startswith("hf://datasets/me/few: expected a predictions file, or a folder with one of vqa, edit")
    assert lines[2].endswith("got 'README.md', 'a'")
    assert lines[3].endswith("got nothing there")
    assert lines[4].startswith("hf://me/few: expected a data set's hf://datasets/OWNER/NAME")
    assert lines[5].endswith("expected a predictions folder or a JSONL or Parquet file, got nothing there")
    assert len(lines) == 6


def test_offline_and_without_a_hub_there_is_one_clear_error(
    hub: Hub, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("datasets", "me/mine", COMMIT, files(mine))
    (line,) = said(["hf://datasets/me/mine"], offline=True)
    assert line.startswith("hf://datasets/me/mine: can't be had: ")
    assert line.endswith("; offline, and the Hub's cache has not got it; run once without --offline and HF_HUB_OFFLINE")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert said(["hf://datasets/me/mine"]) == [line]
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    assert hub.log == []

    # An image that is not in the cache is no image that the system owes.
    (job,) = jobs(["hf://datasets/me/mine/edit.jsonl"], download=True)
    next((job.path.parent / "images").glob("*.png")).unlink()
    (line,) = said(["hf://datasets/me/mine/edit.jsonl"], offline=True)
    assert "offline, and 1 images that it names are not in the Hub's cache" in line
    assert jobs(["hf://datasets/me/mine/edit.jsonl"], download=True) == [job]

    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    (line,) = said(["hf://datasets/me/mine"])
    assert line.endswith("; check its name and revision, HF_TOKEN if it is private, and the connection")


def test_a_file_that_the_hub_lost_is_named(hub: Hub, mine: Path) -> None:
    hub.add("datasets", "me/mine", COMMIT, {**files(mine), "images/": b""})
    hub.repositories["datasets", "me/mine"][COMMIT]["gen.jsonl"] = b""
    (line,) = said(["hf://datasets/me/mine/gen.parquet"])
    assert line.startswith("hf://datasets/me/mine/gen.parquet: expected a predictions file")


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("name", ["../../../../refs/main", "../blobs/x", "/etc/passwd", "images/../../x"])
def test_images_are_looked_up_only_inside_the_revision(
    name: str, hub: Hub, mine: Path, data: Path, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in (mine / "edit.jsonl").open()]
    rows[0]["image"] = name
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    hub.add("datasets", "me/escape", COMMIT, {**files(mine), "edit.jsonl": lines})
    with pytest.raises(UsageError) as told:
        result(given(jobs(["hf://datasets/me/escape/edit.jsonl"], download=True)), data, tmp_path / "out")
    assert f"edit.jsonl:1: image {name!r}: " in str(told.value)
    assert "refused" in str(told.value)


def test_the_command_line_takes_hub_paths(hub: Hub, mine: Path, data: Path, tmp_path: Path) -> None:
    hub.add("datasets", "me/mine", COMMIT, files(mine))
    arguments = ["validate", "hf://datasets/me/mine@main/vqa.jsonl", "--edition", "release", "--data-dir", str(data)]
    done = subprocess.run(
        [sys.executable, "-m", "medgen_scripts", *arguments],
        env={**os.environ, **hub.environment(tmp_path / "home")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "vqa predictions, edition release" in done.stdout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out/predictions/x", None),
        ("hf.jsonl", None),
        ("hf://datasets/me/x", HubPath("me/x")),
        ("hf:/datasets/me/x/", HubPath("me/x")),
        ("hf://datasets/me/x@v1.0/a//b.jsonl", HubPath("me/x", "v1.0", "a/b.jsonl")),
        ("hf://datasets/me/x@refs/pr/3/edit", HubPath("me/x", "refs/pr/3", "edit")),
        ("hf://datasets/me/x@feature%2Fone", HubPath("me/x", "feature/one")),
    ],
)
def test_paths_on_the_hub_are_read_as_the_hub_writes_them(text: str, expected: HubPath | None) -> None:
    assert parse(text) == expected
    assert parse(Path(text)) == expected  # of "//" a Path keeps one
    if expected is not None:
        assert parse(str(expected)) == expected


@pytest.mark.parametrize(
    "text", ["hf://datasets/x", "hf://spaces/me/x", "hf://me/x", "hf://datasets/me/x/../y", "hf://"]
)
def test_other_paths_on_the_hub_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expected a data set's hf://datasets/OWNER/NAME"):
        parse(text)
