"""Parquet files here and elsewhere: opened the same way, and which parts of an image column hold what."""

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from .remote_file import Ranges
from .remote_file import RemoteFile

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def opened(
    file: Path | RemoteFile, *, buffer_size: int = 0, is_ahead: bool = False, through: Ranges | None = None
) -> "pq.ParquetFile":
    """A reader of the file.

    Args:
        file: on this machine or elsewhere; of one elsewhere the footer is fetched once a process.
        buffer_size: bytes read at a time of a column of a row group, so that it is never held as a whole; 0 reads it
            in one go.
        is_ahead: read all that was asked of a row group at once, which is fewer requests.
        through: of a file elsewhere, what reads it.
    """
    import pyarrow.parquet as pq

    how: dict[str, Any] = {"buffer_size": buffer_size, "pre_buffer": is_ahead}
    if isinstance(file, RemoteFile):
        return pq.ParquetFile(through or file.open(), metadata=_footer(file), **how)
    return pq.ParquetFile(file, **how)


@lru_cache(maxsize=256)
def _footer(file: RemoteFile) -> "pq.FileMetaData":
    import pyarrow.parquet as pq

    return pq.ParquetFile(file.open()).metadata


def is_image(kind: "pa.DataType") -> bool:
    """Whether a column of this type holds images: bytes, a struct with them (`datasets.Image`), a list of either."""
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return is_image(kind.value_type)
    if types.is_struct(kind):
        index = kind.get_field_index("bytes")
        # Where no cell has bytes a writer may not know their type.
        return index >= 0 and (types.is_null(kind.field(index).type) or is_image(kind.field(index).type))
    return types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)


def leaves(schema: "pq.ParquetSchema", column: str) -> tuple[str, list[str]]:
    """The paths of an image column's parts: that of its bytes, and those of all others."""
    paths = [schema.column(index).path for index in range(len(schema))]
    own = [path for path in paths if path == column or path.startswith(f"{column}.")]
    data = next((path for path in own if "bytes" in path[len(column) :].split(".")), own[0])
    return data, [path for path in own if path != data]


def bytes_given(group: "pq.RowGroupMetaData", leaf: str) -> int | None:
    """How many images with bytes a row group has, by its statistics; None where they don't say it."""
    for index in range(group.num_columns):
        column = group.column(index)
        if column.path_in_schema == leaf:
            found = column.statistics
            return None if found is None or not found.has_null_count else column.num_values - found.null_count
    return None
