"""Parquet shards of one config, images embedded: written record by record, in row groups and files of bounded size."""

from collections.abc import Iterable
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

if TYPE_CHECKING:
    from datasets import Features

# A row group is the least that a reader holds (Parquet pages hold up to 1,024 rows, so such a group is one page), and
# what processes and workers share out.
GROUP_BYTES, GROUP_ROWS = 32 * 2**20, 100
SHARD_BYTES = 450 * 10**6  # of images; with its text a file stays under 500 MB

Row = Mapping[str, Any]


class Written(NamedTuple):
    """What became of a config.

    Attributes:
        files: names of the shards, in order.
        records: how many records they hold.
        images: how many images, each use counted.
        bytes: size of the data in Arrow.
    """

    files: tuple[str, ...]
    records: int
    images: int
    bytes: int


def write_shards(rows: Iterable[Row], columns: "Features", folder: Path) -> Written:
    """Write rows to `test-00000-of-0000N.parquet` in `folder`.

    Args:
        rows: records; images as `{"bytes": …, "path": …}`.
        columns: the features; they are written into each file too, so that a file alone is loaded with them.
        folder: made if need be; without shards so far.

    Raises:
        OSError, pyarrow.ArrowException: it can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shards = _Shards(columns, folder)
    try:
        for row in rows:
            shards.add(row)
    finally:
        shards.close()
    total = len(shards.paths)
    files = [path.rename(folder / f"{path.stem}-of-{total:05d}.parquet").name for path in shards.paths]
    return Written(tuple(files), shards.records, shards.images, shards.bytes)


class _Shards:
    """The files so far, and the row group that is being filled."""

    def __init__(self, columns: "Features", folder: Path) -> None:
        self.schema = columns.arrow_schema
        self.image_columns = [name for name in columns if name.endswith("_images")]
        self.folder = folder
        self.paths: list[Path] = []
        self.records = self.images = self.bytes = 0
        self._writer: Any = None
        self._in_shard = self._in_group = 0
        self._group: list[Row] = []

    def add(self, row: Row) -> None:
        images = [image for name in self.image_columns for image in row[name]]
        size = sum(len(image["bytes"]) for image in images)
        if self._group and (self._in_group + size > GROUP_BYTES or len(self._group) == GROUP_ROWS):
            self._flush()
        self._group.append(row)
        self._in_group += size
        self.records += 1
        self.images += len(images)

    def close(self) -> None:
        # A config without records still has a file, so that the card's pattern finds one.
        if self._group or not self.paths:
            self._flush()
        self._finish()

    def _flush(self) -> None:
        import pyarrow as pa

        if self._writer is None or self._in_shard + self._in_group > SHARD_BYTES:
            self._finish()
            self._writer = self._open()
        table = pa.Table.from_pylist(self._group, schema=self.schema)
        self._writer.write_table(table, row_group_size=GROUP_ROWS)
        self.bytes += table.nbytes
        self._in_shard += self._in_group
        self._group, self._in_group = [], 0

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        path = self.folder / f"test-{len(self.paths):05d}.parquet"
        text = [name for name in self.schema.names if name not in (*self.image_columns, "choices")]
        self.paths.append(path)
        self._in_shard = 0
        return pq.ParquetWriter(
            path,
            self.schema,
            # Image files are compressed already; columns that aren't named are stored as they are.
            compression=dict.fromkeys(text, "zstd"),
            use_dictionary=text,
            write_statistics=text,
        )

    def _finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
