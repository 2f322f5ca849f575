"""Where an output image's bytes are: a file, or a cell of a Parquet file that is read when it is asked for."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Protocol

from . import remote_images
from .errors import Failure
from .parquet_file import opened
from .remote_file import RemoteFile
from .remote_images import RemoteImage

CACHE_BYTES = 128 * 2**20
"""Image columns of row groups that stay in memory; at least the one that is being read does."""


class ImageSource(Protocol):
    """An image that has not been read yet; a `Path` is one.

    Attributes:
        name: the file's name; "" where none is known.
    """

    @property
    def name(self) -> str: ...

    def read_bytes(self) -> bytes:
        """The encoded file's bytes.

        Raises:
            OSError: they can't be read.
        """
        ...


@dataclass(frozen=True, slots=True)
class EmbeddedImage:
    """An image in a cell of a Parquet file.

    Attributes:
        file: the Parquet file, on this machine or elsewhere.
        group: its row group, from 0.
        row: the row in that group, from 0.
        column: the image column.
        item: which image of a list, None where the cell is one image.
        name: the file name that the cell gives, "" where it gives none.
        place: the row in the file, from 1, for messages.
    """

    file: Path | RemoteFile
    group: int
    row: int
    column: str
    item: int | None = None
    name: str = ""
    place: int = 0

    def read_bytes(self) -> bytes:
        """The encoded image; the row group's images stay in memory for its neighbours.

        Raises:
            Failure: the file can't be read, or holds something else by now. As an `OSError` it would stand as an
                unreadable output, and count against the system.
        """
        import pyarrow as pa

        try:
            value = self._cell()
        except (pa.ArrowException, OSError, IndexError, KeyError) as error:
            cause = str(getattr(error, "strerror", None) or error).strip().partition("\n")[0]
            raise self._failure(f"no longer readable as Parquet: {type(error).__name__}: {cause}") from error
        if self.item is not None:
            value = value[self.item] if value is not None and self.item < len(value) else None
        data = value.get("bytes") if isinstance(value, dict) else value
        if not isinstance(data, bytes):
            raise self._failure("no image where there was one")
        return data

    def _cell(self) -> Any:
        if isinstance(self.file, RemoteFile):
            return remote_images.cell(self.file, self.group, self.row, self.column)
        cells = _GROUPS.column(self.file, self.group, self.column)
        return cells[self.row].as_py() if self.row < len(cells) else None

    def _failure(self, got: str) -> Failure:
        return Failure(
            f"{self}: expected an image, got: {got}; the file is damaged, or was changed while it was read: write or "
            "download it again, and run again"
        )

    def __str__(self) -> str:
        return f"{self.file}:{self.place}: {self.column}" + (f" ({self.name})" if self.name else "")


def as_input(image: ImageSource | None) -> Path | bytes | None:
    """An image as the metrics take it: a path stays one (its absence or a pipe has a reason of its own), else bytes."""
    return image if image is None or isinstance(image, Path) else image.read_bytes()


def sha256_of(image: ImageSource) -> str:
    """Digest of an image's bytes, which aren't read where it is known without them."""
    known = image.file.sha256 if isinstance(image, RemoteImage) else ""
    return known or hashlib.sha256(image.read_bytes()).hexdigest()


def row_group(image: ImageSource | None) -> tuple[RemoteFile, int] | None:
    """The row group elsewhere that an image is read from; who scores one of its images had best score them all."""
    if isinstance(image, EmbeddedImage) and isinstance(image.file, RemoteFile):
        return image.file, image.group
    return None


class _Groups:
    """Image columns of the row groups read last. Predictions are scored in about the order in which they lie."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[Any, ...], Any] = OrderedDict()

    def column(self, file: Path, group: int, column: str) -> Any:
        state = file.stat()
        key = (file, state.st_size, state.st_mtime_ns, group, column)
        with self._lock:
            if key not in self._held:
                with opened(file) as reader:
                    read = reader.read_row_group(group, columns=[column], use_threads=False)
                self._held[key] = read.column(column)
            self._held.move_to_end(key)
            while len(self._held) > 1 and sum(held.nbytes for held in self._held.values()) > CACHE_BYTES:
                self._held.popitem(last=False)
            return self._held[key]


_GROUPS = _Groups()
