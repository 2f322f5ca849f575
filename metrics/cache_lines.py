"""A folder of append-only files of JSON lines, one file a process, indexed at the start; what every cache here is.

Each process appends to a file of its own, so a kill can tear the last line of one file and nothing else; a torn line is
dropped with a notice. At the start every line is read once and only its place is kept. (SQLite would be shorter here,
but its locks and its WAL don't work on the network file systems of clusters.)
"""

import json
import logging
import threading
from abc import ABC
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from typing import ClassVar
from typing import TypeVar

from .cache_files import Appender
from .cache_files import CacheError
from .cache_files import broken
from .cache_files import files
from .cache_files import in_use
from .cache_files import line_number
from .cache_files import whole_lines

logger = logging.getLogger(__name__)

Self = TypeVar("Self", bound="CacheLines")
T = TypeVar("T")


@dataclass(slots=True)
class _Read:
    """How far a file has been read: whole lines only."""

    size: int = 0
    lines: int = 0
    torn: bool = False


class CacheLines(ABC):
    """Lines in a folder. A subclass indexes them (`_index`, `_forget`).

    Args:
        folder: made at the first line; one that isn't there is an empty cache.
        writer: begins the name of this process's file, for whoever looks into the folder.
        notice: told of torn last lines; default a warning of this module's logger.

    Raises:
        CacheError: a line that is not the last of its file is broken, or a file can't be read.
    """

    cache: ClassVar[str]  # its name, for messages
    holds: ClassVar[str]  # what the lines are, for messages
    redone: ClassVar[str]  # what becomes of a lost line, for messages

    def __init__(self, folder: Path, writer: str, *, notice: Callable[[str], None] | None = None) -> None:
        self.folder = Path(folder)
        self._notice = notice or logger.warning
        self._read: dict[str, _Read] = {}
        self._append = Appender(self.folder, writer, self.holds)
        self._lock = threading.RLock()
        self.refresh()

    @abstractmethod
    def _index(self, name: str, start: int, row: dict[str, Any]) -> None:
        """Note where a line is, by its file and first byte. May raise what a row of another form makes it raise."""

    @abstractmethod
    def _forget(self) -> None:
        """Drop the index: all is read anew."""

    def _parsed(self, line: bytes) -> dict[str, Any]:
        """A line's row. May raise what a line of another form makes it raise."""
        row: dict[str, Any] = json.loads(line)
        return row

    def _fault(self, error: CacheError, file: str) -> None:
        """What becomes of a file's line that is broken, or of a file that can't be read: an error, or left out."""
        raise error

    def refresh(self) -> None:
        """Take in what other processes have written since.

        Raises:
            CacheError: as at the start.
        """
        with self._lock:
            for _ in range(5):  # files go while we read only where another process prunes
                names = [path.name for path in files(self.folder)]
                if self._read.keys() - set(names):
                    self._forget()
                    self._read.clear()
                if sum(map(self._take_in, names)) == len(names):
                    return
            told = f"{self.folder}: files keep vanishing while they are read; wait for what prunes this folder"
            self._fault(CacheError(told), "")

    @property
    def size(self) -> int:
        """Bytes of the lines known here."""
        return sum(read.size for read in self._read.values())

    def _take_in(self, name: str) -> bool:
        """Index the new lines of a file; False where it is gone."""
        path = self.folder / name
        read = self._read.setdefault(name, _Read())
        try:
            for start, line in whole_lines(path, read.size):
                try:
                    self._index(name, start, self._parsed(line))
                except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
                    self._fault(self._broken(path, read.lines + 1, line, error), name)
                read.size = start + len(line)
                read.lines += 1
            if not read.torn and path.stat().st_size > read.size and not in_use(path):
                read.torn = True
                self._notice(
                    f"{path}:{read.lines + 1}: dropped a torn last line, left by a run that was killed; {self.redone}"
                )
        except FileNotFoundError:
            return False
        except OSError as error:
            told = f"{path}: expected a file of {self.holds}, got: {error.strerror}; move it away"
            self._fault(CacheError(told), name)
        return True

    def _at(self, file: str, start: int, read: Callable[[bytes], T]) -> T | None:
        """What `read` makes of the line at a place; None where the file is gone: another process has pruned it.

        Raises:
            CacheError: it can't be read any more, or `read` raised ValueError.
        """
        path = self.folder / file
        try:
            with path.open("rb") as opened:
                opened.seek(start)
                line = opened.readline()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CacheError(f"{path}: can't be read: {error.strerror}") from error
        try:
            return read(line)
        except ValueError as error:
            raise self._broken(path, line_number(path, start), line, error) from error

    def _found(self, place: Callable[[], tuple[str, int] | None], read: Callable[[bytes], T]) -> T | None:
        """What `read` makes of the line at a place, looked up again where its file was pruned meanwhile.

        Args:
            place: file and first byte as the index has them now; None where there is no such line.
            read: as of `_at`.

        Raises:
            CacheError: as `_at`.
        """
        with self._lock:
            for _ in range(2):
                known = place()
                if known is None:
                    return None
                found = self._at(*known, read)
                if found is not None:
                    return found
                self.refresh()  # what another process's prune kept is elsewhere now
        return None

    def _broken(self, path: Path, number: int, line: bytes, cause: Exception) -> CacheError:
        return broken(path, number, line, cause, self.cache, self.redone)

    def _write(self, text: str) -> None:
        """Append a line; it is with the operating system when this returns.

        Raises:
            CacheError: the folder can't be written or the disk is full; all earlier lines are kept.
        """
        line = text.encode("utf-8", "surrogatepass") + b"\n"
        with self._lock:
            name, start = self._append(line)
            # what is ours is indexed here, so that `refresh` needn't read it again
            self._index(name, start, self._parsed(line))
            read = self._read.setdefault(name, _Read())
            read.size = start + len(line)
            read.lines += 1

    def close(self) -> None:
        """End this process's file, if one was made."""
        self._append.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
