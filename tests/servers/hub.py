"""A small Hugging Face Hub on loopback: repositories in memory, a log of requests, and faults on demand.

Speaks what `huggingface_hub` asks when it downloads (repository info, file trees, files with ranges), and when it
creates a repository and uploads a folder (plain commits, LFS for large files). A process is sent here by
`Hub.environment()`, which must be set before the library is imported there.
"""

import base64
import hashlib
import json
import re
import socket
import struct
import threading
from dataclasses import dataclass
from functools import lru_cache
from http.server import BaseHTTPRequestHandler
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import unquote
from urllib.parse import urlsplit

import pytest

_API = re.compile(r"/api/(models|datasets|spaces)/([^/]+/[^/]+)(?:/(revision|tree)/([^/]+)(?:/(.*))?)?")
_WRITE = re.compile(r"/api/(models|datasets|spaces)/([^/]+/[^/]+)/(preupload|commit)/main")
_LFS = re.compile(r"/(?:(?:datasets|spaces)/)?[^/]+/[^/]+\.git/info/lfs/objects/batch")
_FILE = re.compile(r"/(?:(datasets|spaces)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)")


@dataclass(frozen=True)
class Request:
    """A request as it was answered."""

    method: str
    path: str
    range: str | None
    status: int
    size: int = 0  # bytes of the body


@dataclass
class Drop:
    """A fault: the next GET of a file whose path ends in `path` is cut after `size` bytes of its body.

    With `reset` the connection is broken off hard instead of closed.
    """

    path: str
    size: int
    reset: bool = False


class Hub(ThreadingHTTPServer):
    """The server; a context manager that serves while it is open.

    Attributes:
        repositories: (kind, id) -> revision -> path -> content. `main` is an alias of a commit.
        log: all requests, in order of their answers.
        drops: faults to come; each happens once.
        has_ranges: whether it answers requests for parts of a file.
        refusals: end of a file's path -> the status that its requests are answered with.
        uploads: large files that were sent, by SHA-256, and are in no commit yet.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[tuple[str, str], dict[str, dict[str, bytes]]] = {}
        self.heads: dict[tuple[str, str], str] = {}
        self.log: list[Request] = []
        self.drops: list[Drop] = []
        self.has_ranges = True
        self.refusals: dict[str, int] = {}
        self.uploads: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def add(self, kind: str, repository: str, revision: str, files: dict[str, bytes]) -> None:
        """Add a commit (40 hex digits), which `main` then points at."""
        assert re.fullmatch("[0-9a-f]{40}", revision)
        self.repositories.setdefault((kind, repository), {})[revision] = files
        self.heads[kind, repository] = revision

    def environment(self, home: Path) -> dict[str, str]:
        """Variables that send a process here, with caches of its own."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_HUB_OFFLINE": "0",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }

    def aim(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        """Send this process here, with a cache of its own: the library reads its environment only once."""
        import datasets
        import huggingface_hub.constants as known

        monkeypatch.setattr(known, "ENDPOINT", self.url)
        template = f"{self.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(known, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(known, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(known, "HF_HUB_CACHE", str(cache))
        monkeypatch.setattr(datasets.config, "HF_ENDPOINT", self.url)
        monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)

    def downloads(self) -> list[Request]:
        """GETs of files' contents."""
        return [request for request in self.log if request.method == "GET" and "/resolve/" in request.path]

    def __enter__(self) -> "Hub":
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the server's log is for tests."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if found := _API.fullmatch(path):
            self._api(*found.groups())
        elif found := _FILE.fullmatch(path):
            self._file(found[1] or "models", found[2], found[3], found[4])
        else:
            self._missing("EntryNotFound")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        path, body = unquote(urlsplit(self.path).path), self._body()
        if path == "/api/repos/create":
            asked = json.loads(body)
            kind, name = f"{asked.get('type', 'model')}s", f"{asked.get('organization') or 'user'}/{asked['name']}"
            self.server.add(kind, name, "0" * 40, {})
            self._json({"url": self._page(kind, name)})
        elif path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        elif _LFS.fullmatch(path):
            objects = [
                {**{key: each[key] for key in ("oid", "size")}, "actions": {"upload": {"href": self._href(each)}}}
                for each in json.loads(body)["objects"]
            ]
            self._json({"transfer": "basic", "objects": objects})
        elif found := _WRITE.fullmatch(path):
            self._write(found[1], found[2], found[3], body)
        else:
            self._missing("EntryNotFound")

    def do_PUT(self) -> None:
        digest, data = self.path.rsplit("/", 1)[1], self._body()
        assert hashlib.sha256(data).hexdigest() == digest
        self.server.uploads[digest] = data
        self._send(200, b"", {})

    def _page(self, kind: str, repository: str) -> str:
        return f"{self.server.url}/{repository}" if kind == "models" else f"{self.server.url}/{kind}/{repository}"

    def _href(self, asked: dict[str, Any]) -> str:
        return f"{self.server.url}/lfs/{asked['oid']}"

    def _write(self, kind: str, repository: str, what: str, body: bytes) -> None:
        commit, files = self._commit(kind, repository, "main")
        if files is None:
            return
        if what == "preupload":
            names = [file["path"] for file in json.loads(body)["files"]]
            modes = [{"path": name, "uploadMode": "lfs" if _is_lfs(name) else "regular"} for name in names]
            self._json({"files": [{**mode, "shouldIgnore": False, "oid": None} for mode in modes]})
            return
        files = dict(files)
        for line in body.splitlines():
            operation = json.loads(line)
            value = operation["value"]
            if operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                files[value["path"]] = self.server.uploads.pop(value["oid"])
        commit = hashlib.sha1(commit.encode() + body).hexdigest()
        self.server.add(kind, repository, commit, files)
        self._json(
            {"success": True, "commitOid": commit, "commitUrl": f"{self._page(kind, repository)}/commit/{commit}"}
        )

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _api(self, kind: str, repository: str, what: str | None, revision: str | None, folder: str | None) -> None:
        commit, files = self._commit(kind, repository, revision or "main")
        if files is None:
            return
        if what == "tree":
            entries = _tree(files, folder or "", "recursive=true" in urlsplit(self.path).query.lower())
            if entries or not folder:
                self._json(entries)
            else:
                self._missing("EntryNotFound")
            return
        siblings = [_sibling(name, data, "blobs=true" in self.path.lower()) for name, data in files.items()]
        self._json({"id": repository, "sha": commit, "private": False, "tags": [], "siblings": siblings})

    def _file(self, kind: str, repository: str, revision: str, name: str) -> None:
        commit, files = self._commit(kind, repository, revision)
        if files is None:
            return
        if name not in files:
            self._missing("EntryNotFound")
            return
        for end, status in self.server.refusals.items():
            if name.endswith(end):
                self._send(status, b"{}", {})
                return
        data = files[name]
        headers = {"X-Repo-Commit": commit, "ETag": f'"{_etag(name, data)}"', "Accept-Ranges": "bytes"}
        if _is_lfs(name):
            headers |= {"X-Linked-Etag": headers["ETag"], "X-Linked-Size": str(len(data))}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None or not self.server.has_ranges:
            self._send(200, data, headers)
            return
        if int(wanted[1]) >= len(data):
            self._send(416, b"", {**headers, "Content-Range": f"bytes */{len(data)}"})
            return
        first, last = int(wanted[1]), min(int(wanted[2] or len(data) - 1), len(data) - 1)
        self._send(206, data[first : last + 1], {**headers, "Content-Range": f"bytes {first}-{last}/{len(data)}"})

    def _commit(self, kind: str, repository: str, revision: str) -> tuple[str, dict[str, bytes] | None]:
        """A revision's commit and files; None after a 404 has been sent."""
        commits = self.server.repositories.get((kind, repository))
        commit = self.server.heads.get((kind, repository), "") if revision == "main" else revision
        if commits is None or commit not in commits:
            self._missing("RepoNotFound" if commits is None else "RevisionNotFound")
            return commit, None
        return commit, commits[commit]

    def _json(self, value: Any) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _missing(self, kind: str) -> None:
        self._send(404, b"{}", {"X-Error-Code": kind, "X-Error-Message": kind})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        path = unquote(self.path)
        size = len(body) if self.command != "HEAD" else 0
        self.server.log.append(Request(self.command, path, self.headers.get("Range"), status, size))
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        drop = next((drop for drop in self.server.drops if "/resolve/" in path and path.endswith(drop.path)), None)
        if drop is None:
            self.wfile.write(body)
            return
        self.server.drops.remove(drop)
        self.wfile.write(body[: drop.size])
        self.close_connection = True
        if drop.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()


def _sibling(name: str, data: bytes, with_blobs: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"rfilename": name}
    if with_blobs:
        found |= {"size": len(data), "blobId": _etag("", data)}
        if _is_lfs(name):
            found["lfs"] = {"sha256": _etag(name, data), "size": len(data), "pointerSize": 130}
    return found


def _is_lfs(name: str) -> bool:
    return name.endswith((".parquet", ".bin", ".safetensors"))


@lru_cache(maxsize=64)
def _etag(name: str, data: bytes) -> str:
    """As the Hub does it: the git object of a small file, the SHA-256 of a large one."""
    if _is_lfs(name):
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def _tree(files: dict[str, bytes], folder: str, recursive: bool) -> list[dict[str, Any]]:
    entries: dict[str, dict[str, Any]] = {}
    prefix = f"{folder}/" if folder else ""
    for name, data in files.items():
        if not name.startswith(prefix):
            continue
        parts = name[len(prefix) :].split("/")
        for depth in range(1, len(parts) if recursive else 2):
            above = prefix + "/".join(parts[:depth])
            if above != name:
                entries[above] = {"type": "directory", "oid": "0" * 40, "size": 0, "path": above}
        if recursive or len(parts) == 1:
            entries[name] = {"type": "file", "oid": _etag("", data), "size": len(data), "path": name}
            if _is_lfs(name):
                entries[name]["lfs"] = {"oid": _etag(name, data), "size": len(data), "pointerSize": 130}
    return list(entries.values())
