"""Images elsewhere: fetched when they are scored, a few kept in memory for the next look, none on disk."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .parquet_file import leaves
from .parquet_file import opened
from .remote_file import RemoteFile

HELD_BYTES = 256 * 2**20
"""Images that stay in memory, so that the batch in hand is fetched once: for its digests, and to be scored."""
BUFFER = 4 * 2**20
"""Bytes asked for at a time of an image column. The last request of a row group may reach this far too far."""
STREAM_BYTES = 2**31
"""Row groups that are being read, one of each system; at least one is. Those left out are read from their start again.

A reader holds a page twice while it is decoded. Some writers put all images of a row group into one (a dictionary's),
which comes whole with the first image and stays to the end.
"""


@dataclass(frozen=True, slots=True)
class RemoteImage:
    """An image file elsewhere."""

    file: RemoteFile

    @property
    def name(self) -> str:
        """The file's name."""
        return self.file.name

    def read_bytes(self) -> bytes:
        """The encoded image.

        Raises:
            Failure: it can't be had.
        """
        return _IMAGES.file(self.file)

    def __str__(self) -> str:
        return str(self.file)


def cell(file: RemoteFile, group: int, row: int, column: str) -> Any:
    """The bytes in a cell of an image column; a list of them where the column holds lists; None where there are none.

    Raises:
        IndexError: the row group has no such row.
        Failure: the file can't be read.
    """
    return _IMAGES.cell(file, group, row, column)


class _Stream:
    """An image column of a row group, read forwards: what lies behind the row that was asked for isn't fetched."""

    def __init__(self, file: RemoteFile, group: int, column: str) -> None:
        self.row = 0  # the next one
        self.weight = 0  # bytes held at most, about
        self._source = file.open()
        reader = opened(file, buffer_size=BUFFER, through=self._source)
        leaf, _ = leaves(reader.schema, column)
        told = reader.metadata.row_group(group)
        chunks = map(told.column, range(told.num_columns))
        chunk = next(chunk for chunk in chunks if chunk.path_in_schema == leaf)
        self.rows = told.num_rows
        self._growth = chunk.total_uncompressed_size / max(1, chunk.total_compressed_size)
        self._taken = 0
        batches = reader.iter_batches(batch_size=1, row_groups=[group], columns=[leaf], use_threads=False)
        self._cells: Iterator[Any] = (_bytes(value) for batch in batches for value in batch.column(0).to_pylist())

    def take(self) -> Any:
        """The next row's cell."""
        self.row += 1
        cell = next(self._cells)
        self._taken += _weight(cell)
        self.weight = max(self.weight, 2 * int(self._source.fetched * self._growth - self._taken))
        return cell


def _bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_bytes(item) for item in value]
    return value.get("bytes") if isinstance(value, dict) else value


class _Images:
    """What was read last, and the row groups that are being read."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._held: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._size = 0
        self._streams: OrderedDict[tuple[Any, ...], _Stream] = OrderedDict()

    def file(self, file: RemoteFile) -> bytes:
        """A whole file."""
        key = (file,)
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                held: bytes = self._held[key]
                return held
        data = file.fetch(0, file.size)
        with self._lock:
            self._hold(key, data)
        return data

    def cell(self, file: RemoteFile, group: int, row: int, column: str) -> Any:
        """A cell of a row group; those before it in the group are read on the way."""
        key = (file, group, column, row)
        with self._lock:
            if key not in self._held:
                self._read(file, group, row, column)
            self._held.move_to_end(key)
            return self._held[key]

    def _read(self, file: RemoteFile, group: int, row: int, column: str) -> None:
        name = (file, group, column)
        stream = self._streams.pop(name, None)
        if stream is None or stream.row > row:
            stream = _Stream(file, group, column)
        try:
            while stream.row <= row:
                number = stream.row
                self._hold((*name, number), stream.take())
        except StopIteration:
            raise IndexError(row) from None
        # One that failed is read from its start again, and one at its end has nothing more to give.
        if stream.row < stream.rows:
            self._streams[name] = stream
        while len(self._streams) > 1 and sum(held.weight for held in self._streams.values()) > STREAM_BYTES:
            self._streams.popitem(last=False)

    def _hold(self, key: tuple[Any, ...], value: Any) -> None:
        if key in self._held:
            return
        self._held[key] = value
        self._size += _weight(value)
        while self._size > HELD_BYTES and len(self._held) > 1:
            self._size -= _weight(self._held.popitem(last=False)[1])


def _weight(value: Any) -> int:
    return sum(map(_weight, value)) if isinstance(value, list) else len(value or b"")


_IMAGES = _Images()
