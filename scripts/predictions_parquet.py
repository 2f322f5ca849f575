"""Predictions in Parquet, one file or a folder of shards: rows as their JSONL would give them, images left in place."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import TypeVar

from medgen_metrics.file_digests import file_digest

from .errors import UsageError
from .image_source import EmbeddedImage
from .jsonl import MAX_LINE
from .jsonl import Findings
from .jsonl import Place
from .jsonl import shorten
from .parquet_file import is_image
from .parquet_file import opened
from .parquet_groups import row_groups
from .remote_file import RemoteFile
from .remote_path import AnyPath
from .remote_path import RemotePath

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

P = TypeVar("P", bound=AnyPath)

MAX_GROUP = 2**30
"""The most bytes of images in one row group: it is the least that a reader holds. `datasets` writes some 100 rows."""

_OUTPUTS = frozenset({"text", "image", "response", "raw_response", "output_image"})
_NAMES = frozenset({"id", "sample_id", "instruction", "metadata"})
SHARD = re.compile(r"(?P<split>.*)-(?P<index>\d{5})-of-(?P<count>\d{5})")
"""The stem of a shard's name, as `datasets` writes it."""


def is_parquet(path: AnyPath) -> bool:
    """Whether a file is Parquet by its name or, on this machine, by its first bytes."""
    if path.suffix == ".parquet" or isinstance(path, RemotePath):
        return path.suffix == ".parquet"
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def holds_predictions(path: Path) -> bool:
    """Whether a Parquet file has columns of predictions; records have `input_images` and none of these."""
    return bool(_OUTPUTS & _columns(path))


def holds_records(path: Path) -> bool:
    """Whether a Parquet file has columns of a data set and none of predictions."""
    columns = _columns(path)
    return not _OUTPUTS & columns and ("input_images" in columns or {"task", "modality"} <= columns)


def _columns(path: Path) -> set[str]:
    """The names of a Parquet file's columns; none of one that can't be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return set(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return set()


def shards(folder: P) -> list[P]:
    """The Parquet files of a folder, in order.

    Raises:
        UsageError: files of several splits, or not all shards of one.
    """
    files: list[Any] = sorted(
        path for path in folder.glob("*.parquet") if path.is_file() and not path.name.startswith(".")
    )
    splits: dict[str, list[re.Match[str]]] = defaultdict(list)
    for path in files:
        if match := SHARD.fullmatch(path.stem):
            splits[match["split"]].append(match)
    named = sorted(splits) + [path.stem for path in files if not SHARD.fullmatch(path.stem)]
    if splits and len(named) > 1:
        raise UsageError(
            f"{folder}: expected the Parquet shards of one split, got those of {', '.join(named[:8])}; "
            "name one file, or a folder that holds one split"
        )
    for split, found in splits.items():
        counts = {int(match["count"]) for match in found}
        expected = max(counts)
        absent = sorted(set(range(expected)) - {int(match["index"]) for match in found})
        if absent or len(counts) > 1:
            missing = ", ".join(f"{split}-{index:05d}-of-{expected:05d}.parquet" for index in absent[:3])
            raise UsageError(
                f"{folder}: expected the {expected} shards of {split!r}, got {len(found)}"
                f"{f' (without {missing})' if absent else ' of different totals'}; copy or download the folder again"
            )
    return files


@dataclass(slots=True)
class ParquetRows:
    """The rows of a Parquet file or of a folder of shards, a few at a time.

    An image cell (`datasets.Image`: a struct of bytes and path; plain bytes; a list of either) becomes an
    `EmbeddedImage` where it holds bytes and its path where it holds only that. Struct and map cells (`meta`, `error`)
    become objects without their nulls, which stand for absent keys; so does text that is a JSON object.

    Attributes:
        path: the file, or the folder of shards.
        findings: takes rows that can't be read.
        notices: always empty; nothing is passed over.
        digest: SHA-256 of the file's bytes, of a folder's files' digests; set once all rows were read. Of a file at an
            address that doesn't tell it, the server's tag and the size.
    """

    path: AnyPath
    findings: Findings
    notices: list[str] = field(default_factory=list)
    digest: str = ""
    unit = "row"
    expected = "at least one row"

    def __iter__(self) -> Iterator[tuple[Place, Mapping[str, Any]]]:
        """Yield row number from 1 (before it the shard's name, in a folder) and row."""
        is_folder = self.path.is_dir()
        digests = []
        for file in shards(self.path) if is_folder else [self.path]:
            place = file.file if isinstance(file, RemotePath) else file
            for number, row in _rows(place, self.findings, file.name if is_folder else None):
                yield f"{file.name}:{number}" if is_folder else number, row
            digests.append(place.identity if isinstance(place, RemoteFile) else file_digest(place))
        self.digest = digests[0] if not is_folder else hashlib.sha256("".join(digests).encode()).hexdigest()


def _rows(file: Path | RemoteFile, findings: Findings, shard: str | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import pyarrow as pa

    number = 0
    try:
        with opened(file) as reader:
            images = [column.name for column in reader.schema_arrow if is_image(column.type)]
            _check(file, reader, images)
            for group, batches in enumerate(row_groups(file, reader, images)):
                start = number
                for batch, shapes in batches:
                    for index in range(batch.num_rows):
                        number += 1
                        place = number if shard is None else f"{shard}:{number}"
                        row = _row(batch, index, findings, place)
                        if row is None:
                            continue
                        cell = (file, group, number - start - 1)
                        for name, shape in shapes.items():
                            value = row[name] if shape.is_embedded is None else shape.cell(cell[2])
                            row[name] = _image(value, (*cell, name), number, shape.is_embedded)
                        yield number, row
    except (pa.ArrowException, OSError) as error:
        cause = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"{file}: expected a readable Parquet file, got (after row {number}): {type(error).__name__}: {cause}; "
            "write or download it again"
        ) from error


def _check(file: Path | RemoteFile, reader: "pq.ParquetFile", images: Sequence[str]) -> None:
    """Refuse a file that isn't predictions, or whose row groups are too large to be held."""
    names = reader.schema_arrow.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{file}: expected each column once, got {', '.join(twice)} more than once; rename one")
    if (not _OUTPUTS & set(names) and "error" not in names) or not _NAMES & set(names):
        raise UsageError(
            f"{file}: expected columns id (or sample_id, or instruction and input_image) and text, image, response or "
            f"output_image, got {', '.join(map(shorten, names)) or 'none'}; rename its columns"
        )
    for group in range(reader.num_row_groups):
        metadata = reader.metadata.row_group(group)
        size = 0
        for index in range(metadata.num_columns):
            column = metadata.column(index)
            size += column.total_uncompressed_size * (column.path_in_schema.split(".")[0] in images)
        if size > MAX_GROUP:
            raise UsageError(
                f"{file}: row group {group}: expected at most {MAX_GROUP:,} bytes of images a row group, got {size:,} "
                f"in {metadata.num_rows} rows; write it with row_group_size=100"
            )


def _row(batch: "pa.RecordBatch", index: int, findings: Findings, place: Place) -> dict[str, Any] | None:
    row: dict[str, Any] = {}
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            value = column[index].as_py(maps_as_pydicts="strict")
        except (ValueError, KeyError) as error:  # not UTF-8; a map with a key twice
            findings.add(place, f"column {shorten(name)}: expected text in UTF-8 and each key once, got: {error}")
            return None
        if isinstance(value, str) and len(value) > MAX_LINE:
            findings.add(place, f"column {shorten(name)}: expected at most {MAX_LINE:,} characters, got {len(value):,}")
            return None
        row[name] = _object(value) if name in ("meta", "error") else value
    return row


def _object(value: Any) -> Any:
    """A cell that stands for a JSON object as the object: absent keys are nulls in Parquet, an absent object is null.

    Several JSON forms are written as text where rows differ in their keys.
    """
    if isinstance(value, str) and value.startswith("{"):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return read if isinstance(read, dict) else value
    if isinstance(value, dict):
        return {name: item for name, item in value.items() if item is not None} or None
    return value


_Cell = tuple[Path | RemoteFile, int, int, str]  # file, row group, row in it, column


def _image(value: Any, cell: _Cell, place: int, is_embedded: bool | None) -> Any:
    """An image cell as the rest of the reader takes it: its place, its path, None, or a list of such."""
    if isinstance(value, list):
        found = [_one(item, cell, place, index, is_embedded) for index, item in enumerate(value)]
        return [item for item in found if item is not None]
    return _one(value, cell, place, None, is_embedded)


def _one(value: Any, cell: _Cell, place: int, item: int | None, is_embedded: bool | None) -> Any:
    path = value.get("path") if isinstance(value, dict) else None
    if is_embedded is None:
        is_embedded = (value.get("bytes") if isinstance(value, dict) else value) is not None
    if value is None or not is_embedded:
        return path
    name = re.split(r"[/\\]", path)[-1] if isinstance(path, str) else ""
    return EmbeddedImage(*cell, item=item, name=name, place=place)
