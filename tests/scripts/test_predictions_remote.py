"""Predictions read where they lie: what is fetched of them, and what happens when that fails."""

import json
import random
import re
from collections.abc import Iterator
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts import remote_file
from medgen_scripts import remote_images
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.score import build_tiers
from medgen_scripts.score import score
from medgen_scripts.scoring import journal
from medgen_scripts.scoring.drive import score_tasks
from medgen_scripts.scoring.image_work import PixelWork
from medgen_scripts.scoring.jobs import jobs
from medgen_scripts.scoring.launch import Ranks
from medgen_scripts.scoring.options import ScoreOptions
from medgen_scripts.scoring.signs import LocalStore
from medgen_scripts.scoring.task import Task
from medgen_scripts.scoring.task import read_tasks

from ..servers.hub import Drop
from ..servers.hub import Hub
from . import parquet
from . import scored

pytestmark = pytest.mark.usefixtures("cache")

COUNT = 24
COMMIT, LATER = "a" * 40, "b" * 40
SIZE = 200_000  # bytes added to each image, behind its end


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        server.aim(monkeypatch, tmp_path / "hub")
        monkeypatch.setenv("MEDGEN_OFFLINE", "1")  # no weights
        monkeypatch.setattr(remote_file, "PAUSE", 0.0)
        monkeypatch.setattr(remote_images, "BUFFER", 2**14)
        monkeypatch.setattr(remote_images, "_IMAGES", remote_images._Images())
        yield server


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scored.write_data(tmp_path_factory.mktemp("data"), COUNT)


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system's predictions on this machine, images of some size; one record has none."""
    folder = scored.write_predictions(tmp_path_factory.mktemp("made") / "mine", COUNT)
    for number, path in enumerate(sorted((folder / "images").iterdir())):
        path.write_bytes(path.read_bytes() + random.Random(number).randbytes(SIZE))
    lines = [{**json.loads(line), "error": None} for line in (folder / "edit.jsonl").open()]
    lines[5] |= {"image": None, "error": "it was refused"}
    (folder / "edit.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def pushed(mine: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The same in Parquet, as `push_to_hub` lays it out, in row groups of six."""
    made = parquet.push(mine, tmp_path_factory.mktemp("pushed"), row_group_size=6)
    return {path.relative_to(made).as_posix(): path.read_bytes() for path in made.rglob("*.parquet")}


def result(paths: Sequence[str | Path], data: Path, out: Path, **options: Any) -> dict[str, Any]:
    """The configs of the one result file that scoring writes, without the predictions' place."""
    named = {name: options.pop(name) for name in ("system", "config") if name in options}
    wanted = {"offline": False, "tiers": ("pixel",), **options}
    (path,) = score(paths, scored.options(data, out, **wanted), **named)
    configs: dict[str, Any] = json.loads(path.read_bytes())["configs"]
    for config in configs.values():
        config["predictions"].pop("path")
        config["predictions"].pop("revision", None)
    return configs


def address(hub: Hub, name: str) -> str:
    return f"{hub.url}/datasets/me/mine/resolve/main/{name}?sig=a//b"


def size_of_edit(pushed: dict[str, bytes]) -> int:
    return sum(len(content) for name, content in pushed.items() if name.startswith("edit"))


def served(hub: Hub, end: str) -> list[int]:
    """Bytes of each answer with a part of a file."""
    return [request.size for request in hub.downloads() if request.path.endswith(end)]


def test_parquet_is_scored_in_place_as_here(
    hub: Hub, mine: Path, pushed: dict[str, bytes], data: Path, tmp_path: Path
) -> None:
    hub.add("datasets", "me/mine", COMMIT, pushed)
    expected = result([mine], data, tmp_path / "here", system="mine", tiers=("pixel", "text"))
    found = result(["hf://datasets/me/mine"], data, tmp_path / "there", tiers=("pixel", "text"))
    assert found == expected
    # Nothing is kept, and each image is fetched once: for its digest, and to be scored.
    assert not list((tmp_path / "hub").rglob("*.parquet"))
    edit = size_of_edit(pushed)
    assert 0.9 * edit < sum(served(hub, ".parquet")) < 1.2 * edit
    assert all(request.range for request in hub.downloads())


def test_of_a_few_records_a_part_is_fetched(hub: Hub, pushed: dict[str, bytes], data: Path, tmp_path: Path) -> None:
    hub.add("datasets", "me/mine", COMMIT, pushed)
    result(["hf://datasets/me/mine/edit"], data, tmp_path / "out", limit=2)
    assert sum(served(hub, ".parquet")) < 0.6 * size_of_edit(pushed)
    hub.log.clear()
    result(["hf://datasets/me/mine"], data, tmp_path / "out", tiers=("text",), config="vqa")
    assert sum(served(hub, ".parquet")) < 2 * len(pushed["vqa/test-00000-of-00001.parquet"])


def test_images_beside_jsonl_are_fetched_one_by_one(hub: Hub, mine: Path, data: Path, tmp_path: Path) -> None:
    files = {path.relative_to(mine).as_posix(): path.read_bytes() for path in mine.rglob("*") if path.is_file()}
    hub.add("datasets", "me/mine", COMMIT, files)
    expected = result([mine], data, tmp_path / "here", config="edit")
    assert result(["hf://datasets/me/mine"], data, tmp_path / "there", config="edit") == expected
    images = [request.path for request in hub.downloads() if request.path.endswith(".png")]
    assert len(images) == len(set(images)) == COUNT - 1
    assert not list((tmp_path / "hub").rglob("*.png"))
    # What the Hub's cache has is taken from there.
    jobs(["hf://datasets/me/mine"], download=True)
    hub.log.clear()
    assert result(["hf://datasets/me/mine"], data, tmp_path / "again", config="edit") == expected
    assert not hub.downloads()


def test_a_connection_that_breaks_is_taken_up_where_it_broke(
    hub: Hub, mine: Path, pushed: dict[str, bytes], data: Path, tmp_path: Path
) -> None:
    hub.add("datasets", "me/mine", COMMIT, pushed)
    expected = result([mine], data, tmp_path / "here", config="edit")
    hub.drops += [Drop("00000-of-00002.parquet", 10_000, reset=True), Drop("00001-of-00002.parquet", 0)]
    assert result(["hf://datasets/me/mine"], data, tmp_path / "there", config="edit") == expected
    assert not hub.drops


def test_one_that_stays_broken_ends_the_run_and_costs_the_system_nothing(
    hub: Hub, mine: Path, pushed: dict[str, bytes], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add("datasets", "me/mine", COMMIT, pushed)
    monkeypatch.setattr(remote_images, "HELD_BYTES", 3 * SIZE)
    out = tmp_path / "out"
    known = jobs(["hf://datasets/me/mine/edit"])  # the list of files is there before the Hub falters
    monkeypatch.setattr("medgen_scripts.score.jobs", lambda *_, **__: known)
    first = remote_file.RemoteFile.fetch
    after = [40]

    def fetch(file: remote_file.RemoteFile, start: int, stop: int) -> bytes:
        after[0] -= 1
        if not after[0]:
            hub.refusals[".parquet"] = 503
        return first(file, start, stop)

    monkeypatch.setattr(remote_file.RemoteFile, "fetch", fetch)
    with pytest.raises(Failure) as told:
        result(["x"], data, out)
    assert re.fullmatch(
        rf"hf://datasets/me/mine@{COMMIT}/edit/test-0000\d-of-00002.parquet: can't be had: HTTP 503, 6 times at byte "
        r"[\d,]+; what is scored is kept: check the connection and run again",
        str(told.value),
    )
    hub.refusals.clear()
    after[0] = -1
    assert result(["x"], data, out) == result([mine], data, tmp_path / "here", config="edit")


@pytest.mark.parametrize(("status", "why"), [(403, "access is refused"), (404, "nothing is there"), (401, "HF_TOKEN")])
def test_a_refusal_is_told_once_without_secrets(
    status: int,
    why: str,
    hub: Hub,
    pushed: dict[str, bytes],
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.add("datasets", "me/mine", COMMIT, pushed)
    hub.refusals["00001-of-00002.parquet"] = status
    with pytest.raises(Failure) as told:
        result(["hf://datasets/me/mine/edit"], data, tmp_path / "out")
    assert f"test-00001-of-00002.parquet: can't be had: HTTP {status}; " in str(told.value)
    assert why in str(told.value)
    assert "hf_secret" not in str(told.value)
    assert sum(request.status == status for request in hub.log) == 1

    with pytest.raises(UsageError) as refused:
        jobs([address(hub, "edit/test-00001-of-00002.parquet").replace("//", "//me:pass@", 1)], config="edit")
    assert f"HTTP {status}" in str(refused.value)
    assert not re.search("pass|a//b", str(refused.value))


def test_a_file_at_an_address(hub: Hub, mine: Path, data: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in (mine / "edit.jsonl").open()]
    file = parquet.write(tmp_path / "made.parquet", parquet.embedded(rows, mine), row_group_size=6)
    hub.add("datasets", "me/mine", COMMIT, {"my-system_edit.parquet": file.read_bytes()})
    expected = result([mine], data, tmp_path / "here", system="my-system", config="edit")
    out = tmp_path / "there"
    (path,) = score(
        [address(hub, "my-system_edit.parquet")], scored.options(data, out, offline=False, tiers=("pixel",))
    )
    told = json.loads(path.read_bytes())["configs"]["edit"]["predictions"]
    assert told["path"] == f"{hub.url}/datasets/me/mine/resolve/main/my-system_edit.parquet"
    assert str(file.stat().st_size) in told["revision"]
    assert "sig=" not in path.read_text()
    assert result([address(hub, "my-system_edit.parquet")], data, out) == expected

    with pytest.raises(UsageError, match="--offline expects predictions on this machine or the Hub"):
        jobs([address(hub, "my-system_edit.parquet")], offline=True)
    hub.add("datasets", "me/mine", COMMIT, {"vqa.jsonl": (mine / "vqa.jsonl").read_bytes()})
    (job,) = jobs([address(hub, "vqa.jsonl")], system="other")
    assert (job.system, job.config) == ("other", "vqa")
    assert job.path.open("rb").read() == (mine / "vqa.jsonl").read_bytes()


def test_a_card_says_which_files_are_a_config(
    hub: Hub, mine: Path, pushed: dict[str, bytes], data: Path, tmp_path: Path
) -> None:
    edit = {f"data/{Path(name).name}": content for name, content in pushed.items() if name.startswith("edit")}
    card = "configs:\n- config_name: {}\n  data_files:\n  - split: test\n    path: data/test-*\n"
    other = {"data/train-00000-of-00001.parquet": pushed["vqa/test-00000-of-00001.parquet"]}
    expected = result([mine], data, tmp_path / "here", config="edit")
    for commit, name, config in ((COMMIT, "edit", None), (LATER, "default", "edit")):
        readme = f"---\n{card.format(name)}---\n".encode()
        hub.add("datasets", "me/mine", commit, {**edit, **other, "README.md": readme})
        found = result(["hf://datasets/me/mine"], data, tmp_path / name, config=config)
        assert found == expected
        (job,) = jobs(["hf://datasets/me/mine"], config)
        assert (job.system, job.place) == ("mine", f"hf://datasets/me/mine@{commit}/data")
    with pytest.raises(UsageError, match="expected a predictions file, or a folder with one of vqa, edit, gen"):
        jobs(["hf://datasets/me/mine"])


class EveryOther(LocalStore):
    """The store as one of two processes sees it that are equally fast."""

    def add(self, key: str, amount: int) -> int:
        super().add(key, amount)
        return super().add(key, amount)


class TakesTwo(Ranks):
    """A process that dies early."""

    def take(self, stage: str, count: int) -> Iterator[int]:
        return islice(super().take(stage, count), 2)


@pytest.fixture
def by_twos(hub: Hub, pushed: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """The predictions are on the Hub, and a process takes two of them at a time."""
    hub.add("datasets", "me/mine", COMMIT, pushed)
    monkeypatch.setattr(PixelWork, "batch", 2)


def read(data: Path, download: bool = False) -> list[Task]:
    return read_tasks(jobs(["hf://datasets/me/mine/edit"], download=download), "release", data, None, 0, ())


def score_as(process: Ranks, tasks: list[Task], options: ScoreOptions) -> None:
    score_tasks(tasks, build_tiers(tasks, ["pixel"], options, "cpu"), options.out, process)


@pytest.mark.usefixtures("by_twos")
def test_every_process_fetches_what_it_scores(hub: Hub, pushed: dict[str, bytes], data: Path, tmp_path: Path) -> None:
    tasks = read(data)
    before = sum(served(hub, ".parquet"))
    assert len(tasks[0].predictions.by_id) == COUNT
    options = scored.options(data, tmp_path / "out", offline=False)
    score_as(Ranks(rank=0, size=2, device="cpu", store=EveryOther()), tasks, options)
    edit = size_of_edit(pushed)
    assert before < 0.05 * edit  # the footers: which rows have an image is known without them
    assert 0.4 * edit < sum(served(hub, ".parquet")) - before < 0.6 * edit


@pytest.mark.usefixtures("by_twos")
def test_where_one_machines_cache_has_the_files_and_anothers_has_not_nothing_is_lost(
    hub: Hub, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = scored.options(data, tmp_path / "out", offline=False)
    store = LocalStore()
    for here, download in ((TakesTwo(0, 2, "cpu", store=store), True), (Ranks(1, 2, "cpu", store=store), False)):
        hub.aim(monkeypatch, tmp_path / f"cache-{here.rank}")
        score_as(here, read(data, download), options)
    # what the first has taken and the second doesn't know of may be scored twice
    assert len(journal.read(options.out / "scores" / "mine", "edit", notice=pytest.fail)) == COUNT
