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

from medgen_metrics.file_digests import file_digest

from .errors import UsageError
from .image_source import EmbeddedImage
from .jsonl import MAX_LINE
from .jsonl import Findings
from .jsonl import Place
from .jsonl import shorten

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 16  # rows decoded at a time
MAX_GROUP = 2**30
"""The most bytes of images in one row group: it is the least that a reader holds. `datasets` writes some 100 rows."""

_OUTPUTS = frozenset({"text", "image", "response", "raw_response", "output_image"})
_NAMES = frozenset({"id", "sample_id", "instruction", "metadata"})
SHARD = re.compile(r"(?P<split>.*)-(?P<index>\d{5})-of-(?P<count>\d{5})")
"""The stem of a shard's name, as `datasets` writes it."""


def is_parquet(path: Path) -> bool:
    """Whether a file is Parquet by its name or by its first bytes."""
    if path.suffix == ".parquet":
        return True
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


def shards(folder: Path) -> list[Path]:
    """The Parquet files of a folder, in order.

    Raises:
        UsageError: files of several splits, or not all shards of one.
    """
    files = sorted(path for path in folder.glob("*.parquet") if path.is_file() and not path.name.startswith("."))
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
        digest: SHA-256 of the file's bytes, of a folder's files' digests; set once all rows were read.
    """

    path: Path
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
            for number, row in _rows(file, self.findings, file.name if is_folder else None):
                yield f"{file.name}:{number}" if is_folder else number, row
            digests.append(file_digest(file))
        self.digest = digests[0] if not is_folder else hashlib.sha256("".join(digests).encode()).hexdigest()


def _rows(file: Path, findings: Findings, shard: str | None) -> Iterator[tuple[int, Mapping[str, Any]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        # Buffering ahead would hold whole row groups.
        with pq.ParquetFile(file, pre_buffer=False) as opened:
            schema = opened.schema_arrow
            images = [column.name for column in schema if _is_image(column.type)]
            _check(file, opened, images)
            for group in range(opened.num_row_groups):
                start = number
                for batch in opened.iter_batches(batch_size=BATCH, row_groups=[group], use_threads=False):
                    for index in range(batch.num_rows):
                        number += 1
                        place = number if shard is None else f"{shard}:{number}"
                        row = _row(batch, index, findings, place)
                        if row is None:
                            continue
                        for name in images:
                            row[name] = _image(row[name], (file, group, number - start - 1, name), number)
                        yield number, row
    except (pa.ArrowException, OSError) as error:
        cause = str(error).strip().partition("\n")[0]
        raise UsageError(
            f"{file}: expected a readable Parquet file, got (after row {number}): {type(error).__name__}: {cause}; "
            "write or download it again"
        ) from error


def _check(file: Path, opened: Any, images: Sequence[str]) -> None:
    """Refuse a file that isn't predictions, or whose row groups are too large to be held."""
    names = opened.schema_arrow.names
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"{file}: expected each column once, got {', '.join(twice)} more than once; rename one")
    if (not _OUTPUTS & set(names) and "error" not in names) or not _NAMES & set(names):
        raise UsageError(
            f"{file}: expected columns id (or sample_id, or instruction and input_image) and text, image, response or "
            f"output_image, got {', '.join(map(shorten, names)) or 'none'}; rename its columns"
        )
    for group in range(opened.num_row_groups):
        metadata = opened.metadata.row_group(group)
        size = 0
        for index in range(metadata.num_columns):
            column = metadata.column(index)
            size += column.total_uncompressed_size * (column.path_in_schema.split(".")[0] in images)
        if size > MAX_GROUP:
            raise UsageError(
                f"{file}: row group {group}: expected at most {MAX_GROUP:,} bytes of images a row group, got {size:,} "
                f"in {metadata.num_rows} rows; write it with row_group_size=100"
            )


def _is_image(kind: "pa.DataType") -> bool:
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _is_image(kind.value_type)
    if types.is_struct(kind):
        index = kind.get_field_index("bytes")
        # Where no cell has bytes a writer may not know their type.
        return index >= 0 and (types.is_null(kind.field(index).type) or _is_image(kind.field(index).type))
    return types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind)


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


def _image(value: Any, cell: tuple[Path, int, int, str], place: int) -> Any:
    """An image cell as the rest of the reader takes it: its place, its path, None, or a list of such."""
    if isinstance(value, list):
        found = [_one(item, cell, place, index) for index, item in enumerate(value)]
        return [item for item in found if item is not None]
    return _one(value, cell, place, None)


def _one(value: Any, cell: tuple[Path, int, int, str], place: int, item: int | None) -> Any:
    path = value.get("path") if isinstance(value, dict) else None
    data = value.get("bytes") if isinstance(value, dict) else value
    if data is None:
        return path
    name = re.split(r"[/\\]", path)[-1] if isinstance(path, str) else ""
    return EmbeddedImage(*cell, item=item, name=name, place=place)
