"""Files elsewhere: read by ranges, in cells and as a whole, and never of two states."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts import remote_file
from medgen_scripts import remote_images
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.jsonl import Findings
from medgen_scripts.predictions import rows_of
from medgen_scripts.remote_file import RemoteFile
from medgen_scripts.remote_images import RemoteImage
from medgen_scripts.scoring.jobs import jobs

from ..servers.hub import Hub
from . import parquet

COMMIT, LATER = "a" * 40, "b" * 40


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with Hub() as server:
        server.aim(monkeypatch, tmp_path / "hub")
        monkeypatch.setattr(remote_images, "_IMAGES", remote_images._Images())
        yield server


def at(hub: Hub, name: str) -> RemoteFile:
    return remote_file.at(f"{hub.url}/datasets/me/x/resolve/main/{name}")


def test_a_file_that_changes_meanwhile_is_refused(hub: Hub) -> None:
    hub.add("datasets", "me/x", COMMIT, {"edit.parquet": bytes(1000)})
    file = at(hub, "edit.parquet")
    assert file.fetch(5, 10) == bytes(5)
    for other in (bytes(999) + b"x", bytes(1001)):  # the same size, and another
        hub.add("datasets", "me/x", LATER, {"edit.parquet": other})
        with pytest.raises(Failure, match=r"edit.parquet: was changed while it was read: .*; run again to score what"):
            file.open().read(10)


def test_a_server_without_ranges_is_told_at_once(hub: Hub) -> None:
    hub.add("datasets", "me/x", COMMIT, {"edit.parquet": bytes(1000)})
    file = at(hub, "edit.parquet")
    hub.has_ranges = False
    with pytest.raises(Failure, match="doesn't answer requests for parts of a file; download it and score the file"):
        file.fetch(0, 10)
    with pytest.raises(UsageError, match="doesn't answer requests for parts of a file"):
        at(hub, "edit.parquet")


_KINDS: dict[str, tuple[list[Any], list[Any]]] = {
    "bytes": ([b"a", None, b"c"], [b"a", None, b"c"]),
    "all": ([b"a", b"b"], [b"a", b"b"]),
    "images": ([{"bytes": b"a", "path": None}, None, {"bytes": b"c", "path": "c"}], [b"a", None, b"c"]),
    "list": ([[{"bytes": b"a", "path": "a"}, {"bytes": b"b", "path": None}], [], None], [b"a", b"b", None]),
    "mixed": ([{"bytes": b"a", "path": None}, {"bytes": None, "path": "b.png"}, None], [b"a", "b.png", None]),
    "paths": ([{"bytes": None, "path": "a.png"}, None, {"bytes": None, "path": "c.png"}], ["a.png", None, "c.png"]),
}


@pytest.mark.parametrize("kind", _KINDS)
def test_columns_of_other_kinds_are_read_alike_here_and_there(kind: str, hub: Hub, tmp_path: Path) -> None:
    cells, expected = _KINDS[kind]
    file = parquet.write(tmp_path / "edit.parquet", [{"id": str(n), "image": cell} for n, cell in enumerate(cells)])
    hub.add("datasets", "me/mine", COMMIT, {"edit.parquet": file.read_bytes()})
    (job,) = jobs(["hf://datasets/me/mine"])
    for path in (file, job.path):
        findings = Findings(path, "predictions")
        rows = [row["image"] for _, row in rows_of(path, findings)]
        flat = [image for row in rows for image in (row if isinstance(row, list) else [row])]
        found = [image if image is None or isinstance(image, str) else image.read_bytes() for image in flat]
        assert found == expected


def test_memory_holds_few_images(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("datasets", "me/x", COMMIT, {f"{number}.bin": bytes(1000) for number in range(20)})
    monkeypatch.setattr(remote_images, "HELD_BYTES", 5000)
    files = [at(hub, f"{number}.bin") for number in range(20)]
    for file in files:
        assert RemoteImage(file).read_bytes() == bytes(1000)
    assert remote_images._IMAGES._size <= 5000
    assert io.BufferedReader(files[3].open(), 300).read() == bytes(1000)
