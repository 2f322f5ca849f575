"""The files of a cache: appended to by one process each, never changed, only ever replaced by a prune."""

import logging
import os
import re
import secrets
import weakref
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock
from filelock import Timeout

from .sources.jsonl import shorten

KEY_DIGITS = 32  # hex digits: caches of many labs are merged, so 64 bits would be few
_KEY = re.compile(rf"[0-9a-f]{{{KEY_DIGITS}}}")

logger = logging.getLogger(__name__)


class CacheError(Exception):
    """The cache can't be read or written; the message says which file and line, and what to do."""


def is_key(text: object) -> bool:
    """Whether something has the form of an entry's key."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def files(folder: Path) -> list[Path]:
    """A cache's files, sorted; none where the folder isn't there."""
    return sorted(path for path in folder.glob("*.jsonl") if not path.name.startswith("."))


def whole_lines(path: Path, start: int = 0) -> Iterator[tuple[int, bytes]]:
    """Each line and where it begins, in bytes, from `start` on; a last one without its newline is left out."""
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                return
            yield start, line
            start += len(line)


def broken(path: Path, number: int, line: bytes, cause: Exception, cache: str, redone: str) -> CacheError:
    """What to say of a line that no kill can have left, in which cache, and what becomes of what it held."""
    got = shorten(line[:240].decode("utf-8", "replace").rstrip("\n"))
    return CacheError(
        f"{path}:{number}: expected an entry of the {cache}, got {got} ({cause}); something else wrote to this "
        f"file. Delete the line, or the file: {redone}."
    )


def line_number(path: Path, start: int) -> int:
    """The number, from 1, of the line that begins at a byte."""
    with path.open("rb") as file:
        return file.read(start).count(b"\n") + 1


def claim(path: Path) -> FileLock | None:
    """The right to append to a file or to replace it; None where a living process has it. SIGKILL gives it up."""
    # a file of its own: filelock may empty what it locks. Not a thread's: who closes may be another one.
    held = FileLock(path.with_name(f".{path.name}.lock"), timeout=0, thread_local=False)
    try:
        held.acquire()
    except Timeout:
        return None
    return held


def give_up(path: Path, held: FileLock) -> None:
    """End a claim and leave nothing behind."""
    path.with_name(f".{path.name}.lock").unlink(missing_ok=True)
    held.release()


def in_use(path: Path) -> bool:
    """Whether a living process appends to a file."""
    if not path.with_name(f".{path.name}.lock").exists():
        return False
    try:
        held = claim(path)
    except OSError:  # a folder that can't be written tells nothing
        return False
    if held is not None:
        held.release()
    return held is None


class Appender:
    """Appends lines to a file of this process alone, made at the first line.

    The file is closed with `close`, or when nobody holds this object any more, at the latest as the program ends.

    Args:
        folder: made if need be.
        writer: begins the file's name.
        holds: what the lines are, for messages.
    """

    def __init__(self, folder: Path, writer: str, holds: str) -> None:
        self._holds = holds
        self._folder = folder
        self._writer = writer
        self._path: Path | None = None
        self._end: Callable[[], Any] | None = None
        self._descriptor = -1
        self._process = -1
        self._size = 0

    def __call__(self, line: bytes) -> tuple[str, int]:
        """Write a line in one call, so that it is out of this process when it returns.

        Returns:
            The file's name and where the line begins, in bytes.

        Raises:
            CacheError: the folder can't be written or the disk is full; whatever was written before is kept.
        """
        try:
            path = self._opened()
            start, rest = self._size, line
            try:
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                self._take_back(start)
                raise
        except OSError as error:
            raise CacheError(
                f"{self._path or self._folder}: {self._holds} can't be kept: {error.strerror or error}. What was kept "
                f"before is there; make room or name another folder, and run the same command again to continue."
            ) from error
        self._size = start + len(line)
        return path.name, start

    def _opened(self) -> Path:
        if self._path is not None and self._process != os.getpid():
            self._path = None  # after a fork the file is the parent's
            self._end = None
        if self._path is not None and not self._path.exists():
            # someone deleted it, and what is written to it would be kept nowhere
            logger.warning(
                "%s: was deleted while a run wrote to it, with what it held; a new file is begun", self._path
            )
            self.close()
        if self._path is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / f"{self._writer}-{secrets.token_hex(6)}.jsonl"
            held = claim(path)
            try:
                # O_EXCL: never another process's file, whatever the random numbers say.
                self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            except OSError:
                if held is not None:
                    give_up(path, held)
                raise
            self._path, self._process, self._size = path, os.getpid(), 0
            self._end = weakref.finalize(self, _end, path, self._descriptor, held, self._process)
        return self._path

    def _take_back(self, start: int) -> None:
        """Cut off a line that didn't fit, so that the next one doesn't continue it."""
        try:
            os.ftruncate(self._descriptor, start)
        except OSError:
            self.close()  # its last line is torn now; the next line begins a file

    def close(self) -> None:
        """Close the file, if one was made."""
        if self._end is not None:
            self._end()
        self._path = self._end = None


def _end(path: Path, descriptor: int, held: FileLock | None, process: int) -> None:
    if process == os.getpid():
        os.close(descriptor)
        if held is not None:
            give_up(path, held)
