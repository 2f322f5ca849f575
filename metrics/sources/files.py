"""Files of records in any layout: in pieces, row by row in the columns of the Parquet release, and what tells a change.

`medgen_bench` finds them, and makes records of the rows.
"""

import hashlib
import os
import re
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import NamedTuple

from . import folder
from . import prepared
from .jsonl import BadLine
from .jsonl import pieces
from .jsonl import read_piece
from .paths import allowed_roots

_JSONL = {"folder": folder, "prepared": prepared}


class Shard(NamedTuple):
    """A file of records, its config and its layout: `public` or `ours` (Parquet), `folder` or `prepared` (JSONL)."""

    path: Path
    config: str
    layout: str

    @property
    def root(self) -> Path:
        """The folder of the data set; for Parquet, where a config has one of its own, that of the file."""
        return folder.root_of(self.path) if self.layout == "folder" else self.path.parent

    @property
    def name(self) -> str:
        """The file below `root`, the same wherever the data set lies."""
        return self.path.relative_to(self.root).as_posix()

    @property
    def pieces(self) -> "list[Piece]":
        """The file in the pieces that processes and data loader workers share out."""
        import pyarrow.parquet as pq

        if self.layout in _JSONL:
            return [Piece(self, *piece) for piece in pieces(self.path)]
        metadata = pq.read_metadata(self.path)
        sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        return [Piece(self, group, sum(sizes[:group]), rows) for group, rows in enumerate(sizes)]

    def place(self, number: int) -> str:
        """Where a row is, for messages and the index of a source."""
        return f"{self.name}:{number}" if self.layout in _JSONL else f"{self.name}, row {number}"

    def stamp(self) -> str:
        """Changes with the file, and with the image files that it names."""
        if self.layout in _JSONL:
            return f"{self[1:]}{_stamp(self)}"
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            # A Parquet footer holds the offsets and statistics of all that lies before it.
            file.seek(max(0, size - 65536))
            footer = hashlib.sha256(file.read()).hexdigest()
        return f"{self[1:]}{self.name}{size} {self.path.stat().st_mtime_ns} {footer}"


class Piece(NamedTuple):
    """Some rows of a file.

    Of Parquet a row group, `at` its number and `first` its first row, from 0; of JSONL some lines, `at` the byte at
    which they begin and `first` the first line, from 1.
    """

    shard: Shard
    at: int
    first: int
    rows: int


def read(some: Iterable[Piece], columns: Sequence[str] | None = None) -> Iterator[tuple[Shard, int, Any]]:
    """Rows as they are stored, each with its file and its number there, from 0 in Parquet and from 1 in JSONL."""
    import pyarrow.parquet as pq

    for shard, at, number, _ in some:
        if shard.layout in _JSONL:
            yield from ((shard, line, row) for line, row in read_piece(shard.path, at, number))
            continue
        # Streamed, so that memory is bounded by a page (1,024 rows of a column as usually written), not by a row group.
        with pq.ParquetFile(shard.path, buffer_size=2**20, pre_buffer=False) as file:
            names = [name for name in file.schema_arrow.names if columns is None or name in columns]
            for batch in file.iter_batches(16, row_groups=[at], columns=names, use_threads=False):
                for row in batch.to_pylist():
                    yield shard, number, row
                    number += 1


def as_row(shard: Shard, number: int, raw: Mapping[str, Any] | BadLine) -> dict[str, Any]:
    """What `read` gave as a row in the columns of Parquet; ValueError for what is wrong with a line of JSONL."""
    if isinstance(raw, BadLine):
        raise raw
    return _JSONL[shard.layout].read_row(shard.path, number, raw) if shard.layout in _JSONL else dict(raw)


def missing(shards: Iterable[Shard]) -> str:
    """Files that names such as `train-00000-of-00003.parquet` promise and that aren't there."""
    here = {str(shard.path) for shard in shards}
    series = {(match[1], match[2]) for name in here if (match := re.fullmatch(r"(.*-)\d{5}-of-(\d{5})\.parquet", name))}
    promised = {f"{stem}{n:05d}-of-{total}.parquet" for stem, total in series for n in range(int(total))}
    return ", ".join(sorted(promised - here)[:20])


def _stamp(shard: Shard) -> str:
    allowed = allowed_roots(shard.root)
    digest = hashlib.sha256(shard.name.encode("utf-8", "surrogateescape"))
    for _, _, row in read(shard.pieces):
        digest.update(repr(row).encode("utf-8", "backslashreplace"))
        try:
            columns = {} if isinstance(row, BadLine) else _JSONL[shard.layout].candidates(row)
        except ValueError:  # told when the row is read
            continue
        for name in (name for images in columns.values() for choice in images for name in choice):
            digest.update(_state(shard.path.parent / name, allowed))
    return digest.hexdigest()


def _state(path: Path, allowed: Sequence[Path]) -> bytes:
    try:
        stat, target = path.stat(), path.resolve()
    except (OSError, RuntimeError, ValueError):
        return b"absent"
    if not any(target.is_relative_to(root) for root in allowed):
        return b"refused"
    # The time of the last change of status can't be set back, as that of the content can.
    return f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ctime_ns}".encode()
