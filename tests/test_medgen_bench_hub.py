"""Loading the release from a Hub: pinned, resumed after a broken connection, fetched once. Each load is a process of
its own, since `huggingface_hub` reads its environment when it is imported."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import medgen_bench

from . import builders
from .servers.hub import Drop
from .servers.hub import Hub

SHARD = "image_editing/train-00000-of-00002.parquet"
PINNED = f"resolve/{medgen_bench.HUB_REVISION}/MedGEN_raw/parquet/image_editing/"


@pytest.fixture
def files(tmp_path: Path) -> dict[str, bytes]:
    data = builders.write_release(tmp_path / "data")
    return {path.relative_to(data).as_posix(): path.read_bytes() for path in data.rglob("*.parquet")}


@pytest.fixture
def hub(files: dict[str, bytes]) -> Iterator[Hub]:
    with Hub() as server:
        server.add("datasets", medgen_bench.HUB_REPO, medgen_bench.HUB_REVISION, files)
        # What `main` has by now must not matter.
        server.add("datasets", medgen_bench.HUB_REPO, "f" * 40, {"README.md": b"moved on"})
        yield server


def run(code: str, environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    code = f"import medgen_bench\nimport huggingface_hub.constants as constants\n{code}"
    inherited = {name: value for name, value in os.environ.items() if name != "MEDGEN_BENCH_DIR"}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


EDIT = 'print(*medgen_bench.load("edit", edition="release")["id"][:])'


def test_only_the_configs_files_at_the_pinned_revision_are_fetched_and_only_once(hub: Hub, tmp_path: Path) -> None:
    environment = hub.environment(tmp_path / "home")
    first = run(EDIT, environment, tmp_path)
    assert first.returncode == 0, first.stderr
    wanted = [row["task"] for row in builders.release_rows()["edit"]]
    assert [name.rsplit("-", 1)[0] for name in first.stdout.split()] == wanted
    assert sorted(request.path.rsplit("/", 1)[1] for request in hub.downloads()) == [
        "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
    ]
    assert all(PINNED in request.path for request in hub.downloads())
    assert all(medgen_bench.HUB_REVISION in request.path for request in hub.log)

    hub.log.clear()
    assert run(EDIT, environment, tmp_path).stdout == first.stdout
    assert hub.log == []  # prepared data need no Hub at all
    streamed = 'print(*[r["id"] for r in medgen_bench.load("edit", edition="paper", streaming=True)])'
    assert run(streamed, environment, tmp_path).stdout == first.stdout
    assert hub.downloads() == []


def test_a_hub_that_is_gone_or_forbidden_is_replaced_by_the_cache(hub: Hub, tmp_path: Path) -> None:
    environment = hub.environment(tmp_path / "home")
    assert run(EDIT, environment, tmp_path).returncode == 0
    hub.log.clear()
    streamed = EDIT.replace('["id"][:]', "").replace('"release"', '"paper", streaming=True').replace("print(*", "list(")
    offline = run(streamed, {**environment, "HF_HUB_OFFLINE": "1"}, tmp_path)
    assert (offline.returncode, hub.log) == (0, []), offline.stderr
    gone = run(streamed, {**environment, "HF_ENDPOINT": "http://127.0.0.1:9"}, tmp_path)
    assert gone.returncode == 0, gone.stderr


def test_a_broken_connection_goes_on_where_it_stopped(hub: Hub, files: dict[str, bytes], tmp_path: Path) -> None:
    hub.drops.append(Drop(SHARD, 50_000))
    # By default the library writes, and so resumes from, whole chunks of 10 MB.
    done = run(f"constants.DOWNLOAD_CHUNK_SIZE = 1024\n{EDIT}", hub.environment(tmp_path / "home"), tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = (request.range for request in hub.downloads() if request.path.endswith(SHARD))
    assert first is None
    assert second is not None
    start = int(second.removeprefix("bytes=").split("-")[0])
    assert 40_000 < start <= 50_000
    (name,) = (name for name in files if name.endswith(SHARD))
    (stored,) = (tmp_path / "home").rglob(f"snapshots/*/{name}")
    assert stored.read_bytes() == files[name]


def test_a_connection_that_is_reset_is_tried_again(hub: Hub, tmp_path: Path) -> None:
    hub.drops += [Drop(SHARD, 50_000, reset=True), Drop(SHARD, 50_000, reset=True)]
    done = run(EDIT, hub.environment(tmp_path / "home"), tmp_path)
    assert done.returncode == 0, done.stderr
    assert hub.drops == []
    # The other file was whole after the first try.
    assert [request.path.endswith(SHARD) for request in hub.downloads()].count(False) == 1


@pytest.mark.parametrize(
    ("repository", "revision", "reason"),
    [
        (medgen_bench.HUB_REPO, "a" * 40, "RevisionNotFound"),
        ("someone/else", medgen_bench.HUB_REVISION, "RepositoryNotFound"),
    ],
)
def test_without_the_revision_or_repository_the_sample_is_offered(
    repository: str, revision: str, reason: str, tmp_path: Path
) -> None:
    with Hub() as hub:
        hub.add("datasets", repository, revision, {})
        done = run(EDIT, hub.environment(tmp_path / "home"), tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert reason in done.stderr
    assert last.endswith('or load the sample: edition="sample" (--edition sample).')
    assert len(hub.log) == 1  # no minutes of asking again


def test_files_that_the_release_lacks_are_an_error_and_not_kept(
    hub: Hub, files: dict[str, bytes], tmp_path: Path
) -> None:
    partial = {name: data for name, data in files.items() if not name.endswith(SHARD)}
    hub.repositories["datasets", medgen_bench.HUB_REPO][medgen_bench.HUB_REVISION] = partial
    done = run(EDIT, hub.environment(tmp_path / "home"), tmp_path)
    assert done.returncode == 1
    assert "not downloaded: " in done.stderr.splitlines()[-1]
    assert SHARD in done.stderr.splitlines()[-1]
