"""Files elsewhere, read by ranges: nothing of them is on disk, and of a file that changes meanwhile nothing is taken.

A connection that breaks is taken up where it broke. What stays broken is a `Failure` and never an `OSError`: that would
stand as an unreadable output, and count against the system.
"""

import io
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from typing import Any
from urllib.parse import urlsplit

from .errors import Failure
from .errors import UsageError

if TYPE_CHECKING:
    import requests

ATTEMPTS = 6  # in a row without a byte
PAUSE = 1.0  # seconds before the second attempt, doubled for each further one
TIMEOUT = (10, 60)  # seconds to connect, and between two parts of an answer
_LATER = frozenset({408, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (?P<first>\d+)-(?P<last>\d+)/(?P<size>\d+)")
_WHY = {
    401: "it needs a token: set HF_TOKEN, or download it with the account that may, and score the file",
    403: "access is refused: check HF_TOKEN and the data set's terms, or whether the link has expired",
    404: "nothing is there (any more): check the address",
    410: "it is gone: check the address",
    416: "it is empty, or shorter than it was: run again to take what is there now",
}
_DOWNLOAD = "download it and score the file"
_local = threading.local()


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file at an address.

    Attributes:
        place: what messages and results call it: `hf://…` with its commit, or the address without user and query, which
            may hold secrets.
        url: where it is asked for.
        size: in bytes.
        sha256: of its content, where the server's metadata says so; else "".
        etag: the server's name for this content, or its date, which must stay; "" where a commit pins it.
        is_hub: whether the Hub's token goes with requests.
    """

    place: str
    url: str
    size: int
    sha256: str = ""
    etag: str = ""
    is_hub: bool = False

    @property
    def name(self) -> str:
        """The file's name, without folders."""
        return PurePosixPath(self.place).name

    @property
    def identity(self) -> str:
        """What tells its content from any other: its SHA-256, else the server's tag and the size."""
        return self.sha256 or f"{self.etag or self.place} {self.size}"

    def open(self) -> "Ranges":
        """A file object that fetches what is read, no more."""
        return Ranges(self)

    def fetch(self, first: int, stop: int) -> bytes:
        """Bytes from `first` up to `stop`.

        Raises:
            Failure: they can't be had, or the file is another by now.
        """
        got = bytearray()
        idle = 0
        cause = ""
        while first + len(got) < stop:
            if idle == ATTEMPTS:
                raise Failure(
                    f"{self}: can't be had: {cause}, {ATTEMPTS} times at byte {first + len(got):,}; what is scored is "
                    "kept: check the connection and run again"
                )
            _pause(idle)
            before = len(got)
            try:
                with _answer(self, first + len(got), stop) as response:
                    self._check(response, first + len(got))
                    for part in response.iter_content(2**16):
                        got += part
                cause = "the connection ended early"
            except _broken() as error:
                cause = _cause(error)
            idle = 0 if len(got) > before else idle + 1
        return bytes(got[: stop - first])

    def _check(self, response: "requests.Response", first: int) -> None:
        found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if response.status_code != 206 or found is None or int(found["first"]) != first:
            raise Failure(f"{self}: the server doesn't answer requests for parts of a file; {_DOWNLOAD}")
        etag = _tag(response)
        if int(found["size"]) != self.size or (self.etag and etag and etag != self.etag):
            raise Failure(
                f"{self}: was changed while it was read: expected {self.size:,} bytes{_tagged(self.etag)}, got "
                f"{int(found['size']):,}{_tagged(etag)}; run again to score what is there now"
            )

    def __str__(self) -> str:
        return self.place


class Ranges(io.RawIOBase):
    """A remote file for `pyarrow`: each read is one request.

    Attributes:
        fetched: bytes read so far.
    """

    def __init__(self, file: RemoteFile) -> None:
        super().__init__()
        self._file = file
        self._at = 0
        self.fetched = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read(self, size: int | None = -1) -> bytes:
        stop = self._file.size if size is None or size < 0 else min(self._at + size, self._file.size)
        data = self._file.fetch(self._at, stop) if self._at < stop else b""
        self._at += len(data)
        self.fetched += len(data)
        return data


def at(url: str) -> RemoteFile:
    """The file at an https:// address, as it is now.

    Raises:
        UsageError: there is none, or it can't be read by ranges.
    """
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    asked = RemoteFile(place, url, 1)
    cause = ""
    # Of a signed address that is made for GET a HEAD would be refused.
    for idle in range(ATTEMPTS):
        _pause(idle)
        try:
            with _answer(asked, 0, 1) as response:
                found = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
                if response.status_code != 206 or found is None:
                    raise UsageError(f"{place}: the server doesn't answer requests for parts of a file; {_DOWNLOAD}")
                return RemoteFile(place, url, int(found["size"]), etag=_tag(response))
        except Failure as failure:
            raise UsageError(str(failure)) from failure
        except _broken() as error:
            cause = _cause(error)
    raise UsageError(f"{place}: can't be had: {cause}; check the address and the connection")


@contextmanager
def _answer(file: RemoteFile, first: int, stop: int) -> Iterator["requests.Response"]:
    """The answer to one attempt.

    Raises:
        Failure: a refusal that no further attempt would change.
        requests.RequestException: one that might.
    """
    import requests

    headers = {"Range": f"bytes={first}-{stop - 1}", "Accept-Encoding": "identity"}
    if file.is_hub:
        from huggingface_hub.utils import build_hf_headers

        headers |= build_hf_headers()
    # Else requests would put what ~/.netrc has in the place of the token; of an address it takes user and password.
    auth = (lambda asked: asked) if file.is_hub else None
    with _session().get(file.url, headers=headers, stream=True, timeout=TIMEOUT, auth=auth) as response:
        if response.status_code in _LATER:
            raise requests.HTTPError(f"HTTP {response.status_code}")
        if response.status_code >= 400:
            why = _WHY.get(response.status_code, "check the address")
            raise Failure(f"{file}: can't be had: HTTP {response.status_code}; {why}")
        yield response


def _pause(idle: int) -> None:
    """Waits before an attempt after so many in a row that brought nothing."""
    if idle:
        time.sleep(PAUSE * 2 ** (idle - 1))


def _session() -> "requests.Session":
    """This thread's session, which keeps its connection."""
    import requests

    if not hasattr(_local, "session"):
        _local.session = requests.Session()
    session: requests.Session = _local.session
    return session


def _broken() -> type[Exception]:
    import requests

    return requests.RequestException


def _cause(error: Exception) -> str:
    """What broke, without the address: that may hold a secret."""
    said = str(error)
    return said if re.fullmatch(r"HTTP \d+", said) else type(error).__name__


def _tag(response: "requests.Response") -> str:
    """What the server calls this state of the file."""
    return response.headers.get("ETag") or response.headers.get("Last-Modified", "")


def _tagged(etag: str) -> str:
    return f" ({etag[:80]})" if etag else ""
