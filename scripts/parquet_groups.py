"""Row groups of a Parquet file of predictions, read without the bytes of their images wherever that can be done."""

from collections import deque
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from .parquet_file import bytes_given
from .parquet_file import leaves
from .parquet_file import opened
from .remote_file import RemoteFile
from .remote_images import BUFFER

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

BATCH = 16  # rows decoded at a time
AHEAD = 8  # row groups elsewhere whose texts are fetched at a time: an answer takes long, and holds little


@dataclass(frozen=True, slots=True)
class Shape:
    """What an image column of a row group is known to hold without its bytes.

    Attributes:
        cells: its cells without bytes; None where it has nothing else.
        is_embedded: whether all images have bytes (else none has); None: only the bytes tell.
    """

    cells: Any
    is_embedded: bool | None

    def cell(self, row: int) -> Any:
        """A cell without its bytes; {} stands for an image of which there is nothing else."""
        if self.cells is not None:
            return self.cells[row].as_py()
        return {} if self.is_embedded else None


Batches = Iterator[tuple["pa.RecordBatch", dict[str, Shape]]]


def row_groups(file: Path | RemoteFile, reader: "pq.ParquetFile", images: Sequence[str]) -> Iterator[Batches]:
    """Of each row group its rows, a few at a time, and the shapes of its image columns.

    Rows hold an image column only where nothing but its bytes tells which of its cells have any.

    Args:
        file: the file.
        reader: of it.
        images: the image columns.
    """
    groups = range(reader.num_row_groups)
    if isinstance(file, Path):
        for group in groups:
            shapes = _shapes(reader, group, images)
            yield _batches(reader, group, shapes)
        return
    fetched: deque[Future[tuple[dict[str, Shape], list[pa.RecordBatch] | None]]] = deque()
    with ThreadPoolExecutor(AHEAD) as pool:
        try:
            for group in groups:
                while len(fetched) < AHEAD and group + len(fetched) < len(groups):
                    fetched.append(pool.submit(_fetch, file, group + len(fetched), images))
                shapes, batches = fetched.popleft().result()
                if batches is None:
                    yield _batches(opened(file, buffer_size=BUFFER), group, shapes)
                else:
                    yield ((batch, shapes) for batch in batches)
        finally:
            pool.shutdown(cancel_futures=True)


def _fetch(
    file: RemoteFile, group: int, images: Sequence[str]
) -> tuple[dict[str, Shape], list["pa.RecordBatch"] | None]:
    """A row group's shapes and rows; None for the rows where they hold images, which are not to be held at once."""
    with opened(file, is_ahead=True) as reader:
        shapes = _shapes(reader, group, images)
        if any(shape.is_embedded is None for shape in shapes.values()):
            return shapes, None
        return shapes, [batch for batch, _ in _batches(reader, group, shapes)]


def _batches(reader: "pq.ParquetFile", group: int, shapes: dict[str, Shape]) -> Batches:
    names = [name for name in reader.schema_arrow.names if name not in shapes or shapes[name].is_embedded is None]
    for batch in reader.iter_batches(batch_size=BATCH, row_groups=[group], columns=names, use_threads=False):
        yield batch, shapes


def _shapes(reader: "pq.ParquetFile", group: int, images: Sequence[str]) -> dict[str, Shape]:
    return {name: _shape(reader, group, name) for name in images}


def _shape(reader: "pq.ParquetFile", group: int, column: str) -> Shape:
    data, others = leaves(reader.schema, column)
    metadata = reader.metadata.row_group(group)
    given = bytes_given(metadata, data)
    cells = None
    if others and given is not None:
        cells = reader.read_row_group(group, columns=others, use_threads=False).column(0).combine_chunks()
    if given == 0:
        return Shape(cells, False)
    # An image with bytes is an image: are they as many, they are the same ones.
    count = metadata.num_rows if data == column else None if cells is None else _images_in(cells)
    return Shape(cells, True if given is not None and given == count else None)


def _images_in(cells: Any) -> int:
    from pyarrow import types

    while not types.is_struct(cells.type):
        cells = cells.flatten()
    return len(cells) - int(cells.null_count)
