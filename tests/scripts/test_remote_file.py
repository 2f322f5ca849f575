"""Files elsewhere: read by ranges, in cells and as a whole, and never of two states."""

import base64
import io
import random
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
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


def test_a_file_that_ends_before_what_is_asked_for_is_told(hub: Hub) -> None:
    hub.add("datasets", "me/x", COMMIT, {"edit.parquet": bytes(1000)})
    file = at(hub, "edit.parquet")
    hub.add("datasets", "me/x", LATER, {"edit.parquet": b""})
    with pytest.raises(Failure, match=r"HTTP 416; it is empty, or shorter than it was: run again"):
        file.fetch(500, 510)
    with pytest.raises(UsageError, match=r"HTTP 416; it is empty"):
        at(hub, "edit.parquet")


def test_a_server_without_ranges_is_told_at_once(hub: Hub) -> None:
    hub.add("datasets", "me/x", COMMIT, {"edit.parquet": bytes(1000)})
    file = at(hub, "edit.parquet")
    hub.has_ranges = False
    with pytest.raises(Failure, match="doesn't answer requests for parts of a file; download it and score the file"):
        file.fetch(0, 10)
    with pytest.raises(UsageError, match="doesn't answer requests for parts of a file"):
        at(hub, "edit.parquet")


class _Plain(BaseHTTPRequestHandler):
    """A server that tells a file's date alone, as Python's own does, and wants a password."""

    server: "_Server"

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != "Basic " + base64.b64encode(b"me:secret").decode():
            self.send_error(401)
            return
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{last}/1000")
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Last-Modified", self.server.modified)
        self.end_headers()
        self.wfile.write(bytes(last - first + 1))


class _Server(ThreadingHTTPServer):
    modified = "Mon, 01 Jun 2026 00:00:00 GMT"


@pytest.fixture
def plain() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Plain) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_user_and_password_of_an_address_are_used_and_not_shown(plain: _Server) -> None:
    host = f"127.0.0.1:{plain.server_address[1]}"
    file = remote_file.at(f"http://me:secret@{host}/edit.jsonl?key=secret")
    assert file.fetch(5, 10) == bytes(5)
    assert file.place == f"http://{host}/edit.jsonl"
    with pytest.raises(UsageError, match="HTTP 401") as refused:
        remote_file.at(f"http://me:wrong@{host}/edit.jsonl")
    assert "wrong" not in str(refused.value)


def test_a_file_whose_date_changes_meanwhile_is_refused(plain: _Server) -> None:
    file = remote_file.at(f"http://me:secret@127.0.0.1:{plain.server_address[1]}/edit.jsonl")
    plain.modified = "Tue, 02 Jun 2026 00:00:00 GMT"
    with pytest.raises(Failure, match="was changed while it was read"):
        file.fetch(5, 10)


@pytest.mark.parametrize("address", ["x.example:99999", "[::1", "x℀y.example"])
def test_an_impossible_address_is_bad_usage(address: str) -> None:
    with pytest.raises(UsageError, match="expected the address of a file") as refused:
        jobs([f"https://me:secret@{address}/a_vqa.jsonl"])
    assert "secret" not in str(refused.value)


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


def read_together(hub: Hub, path: Path, systems: int) -> float:
    """Read row groups of many systems four rows at a time; how often each was fetched."""
    rows = [{"id": str(number), "image": random.Random(number).randbytes(50_000)} for number in range(24)]
    content = parquet.write(path, rows).read_bytes()
    hub.add("datasets", "me/x", COMMIT, {f"{number}.parquet": content for number in range(systems)})
    files = [at(hub, f"{number}.parquet") for number in range(systems)]
    for start in range(0, len(rows), 4):
        for file in files:
            for row in range(start, start + 4):
                assert remote_images.cell(file, 0, row, "image") == rows[row]["image"]
    return sum(request.size for request in hub.downloads()) / len(content) / systems


def test_many_systems_row_groups_are_fetched_once_and_let_go(hub: Hub, tmp_path: Path) -> None:
    assert read_together(hub, tmp_path / "x.parquet", 20) < 1.2
    assert not remote_images._IMAGES._streams


def test_row_groups_that_are_being_read_are_bounded(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    take = remote_images._Stream.take

    def spied(stream: remote_images._Stream) -> Any:
        held.append(len(remote_images._IMAGES._streams))
        return take(stream)

    monkeypatch.setattr(remote_images._Stream, "take", spied)
    monkeypatch.setattr(remote_images, "STREAM_BYTES", 3 * 2 * 24 * 50_100)
    assert read_together(hub, tmp_path / "x.parquet", 8) > 1.2
    assert max(held) == 3  # and the one in hand
