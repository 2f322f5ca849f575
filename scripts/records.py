"""The records of one config as the command line works with them: metadata at hand, image bytes one record at a time."""

import hashlib
import sys
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from .errors import UsageError

if TYPE_CHECKING:
    from datasets import Dataset
    from PIL.Image import Image

IMAGE_COLUMNS = ("input_images", "output_images")
_SIZED_AT_ONCE = 1000  # records


@dataclass(frozen=True, slots=True)
class Picture:
    """An image file's bytes as the data set holds them, not decoded."""

    data: bytes
    path: str | None = None
    _digest: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def digest(self) -> str:
        """SHA-256 of the bytes, 64 hex digits; computed once, however many systems are scored against the picture."""
        if not self._digest:
            self._digest.append(hashlib.sha256(self.data).hexdigest())
        return self._digest[0]

    def open(self) -> "Image":
        """The decoded picture, turned upright as its EXIF tag says; mode and depth are kept."""
        from PIL import Image
        from PIL import ImageOps

        with Image.open(BytesIO(self.data)) as image:
            return ImageOps.exif_transpose(image)


@dataclass(frozen=True, slots=True)
class Record:
    """One record; the columns of the data set, absent ones None or empty."""

    id: str
    release_id: str
    task: str
    subtask: str | None
    modality: str
    instruction: str
    choices: tuple[str, ...]
    input_images: tuple[Picture, ...]
    output_images: tuple[Picture, ...]
    answer: str | None
    source: str | None
    group: str


class Records:
    """Records of one config and edition, in the data set's order.

    Metadata columns are in memory; image bytes are read from Arrow when a record is asked for.
    """

    def __init__(self, dataset: "Dataset", config: str, edition: str) -> None:
        self.config = config
        self.edition = edition
        images = [name for name in IMAGE_COLUMNS if name in dataset.column_names]
        # Arrow's own rows hold the bytes as they are; casting the columns to undecoded images would copy the data set.
        self._dataset = dataset.with_format("arrow")
        self._metadata: dict[str, list[Any]] = dataset.remove_columns(images).to_dict()

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, position: int) -> Record:
        row = self._dataset[[position]].to_pylist()[0]
        pictures = {
            name: tuple(_picture(image, row["id"], name) for image in row.get(name) or ()) for name in IMAGE_COLUMNS
        }
        return _record(row, pictures)

    def without_images(self, position: int) -> Record:
        """A record's metadata alone; no image is read."""
        row = {name: column[position] for name, column in self._metadata.items()}
        return _record(row, dict.fromkeys(IMAGE_COLUMNS, ()))

    @cached_property
    def image_bytes(self) -> list[int]:
        """How many bytes each record's encoded images have in all, known without reading one; 0 of linked files."""
        import pyarrow.compute as pc

        sizes = [0] * len(self)
        for name in IMAGE_COLUMNS:
            if name not in self._dataset.column_names:
                continue
            start = 0
            for batch in self._dataset.select_columns(name).iter(_SIZED_AT_ONCE):
                images = batch[name].combine_chunks()
                lengths = pc.binary_length(pc.struct_field(images.flatten(), "bytes"))
                owners = pc.list_parent_indices(images)
                for owner, length in zip(owners.to_pylist(), lengths.to_pylist(), strict=True):
                    sizes[start + owner] += length or 0
                start += len(images)
        return sizes

    def __iter__(self) -> Iterator[Record]:
        return (self[i] for i in range(len(self)))

    def column(self, name: str) -> list[Any]:
        """A metadata column, one value a record."""
        return self._metadata[name]

    @property
    def ids(self) -> list[str]:
        """Record ids in order."""
        return self._metadata["id"]

    @cached_property
    def index(self) -> dict[str, int]:
        """Record id -> position."""
        return {record_id: position for position, record_id in enumerate(self.ids)}

    def input_digests(self, position: int) -> tuple[str, ...]:
        """SHA-256 of each input image's bytes; computed once a record."""
        if position not in self._digests:
            self._digests[position] = tuple(picture.digest for picture in self[position].input_images)
        return self._digests[position]

    @cached_property
    def _digests(self) -> dict[int, tuple[str, ...]]:
        return {}


def _record(row: Mapping[str, Any], pictures: Mapping[str, tuple[Picture, ...]]) -> Record:
    return Record(
        id=row["id"],
        release_id=row["release_id"],
        task=row["task"],
        subtask=row["subtask"],
        modality=row["modality"],
        instruction=row["instruction"],
        choices=tuple(row["choices"] or ()),
        input_images=pictures["input_images"],
        output_images=pictures["output_images"],
        answer=row.get("answer"),
        source=row["source"],
        group=row["group"],
    )


def _picture(image: dict[str, Any], record_id: str, column: str) -> Picture:
    data = image["bytes"]
    if data is None:
        # A data set made elsewhere may point at local files instead of embedding them.
        if image["path"] is None:
            raise ValueError(f"record {record_id}: {column} holds neither bytes nor a path")
        data = Path(image["path"]).read_bytes()
    return Picture(data, image["path"])


def check_names(config: str, edition: str) -> None:
    """UsageError for a config or an edition that there is not."""
    import medgen_bench

    for what, value, known in (
        ("config", config, medgen_bench.CONFIGS),
        ("edition", edition, medgen_bench.EDITIONS),
    ):
        if value not in known:
            raise UsageError(f"unknown {what} {value!r}; expected one of {', '.join(known)}")


def load_records(config: str, edition: str = "paper", data_dir: str | Path | None = None) -> Records:
    """Load a config's records.

    Args:
        config: vqa, edit or gen.
        edition: paper, release or sample.
        data_dir: folder of a local copy; default `MEDGEN_BENCH_DIR`, else the Hub.

    Raises:
        UsageError: unknown config or edition, or no source for it.
    """
    import datasets
    import pyarrow

    import medgen_bench

    check_names(config, edition)
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    folder = None if data_dir is None else str(data_dir)
    try:
        dataset = medgen_bench.load(config, edition=edition, data_dir=folder)
    except medgen_bench.DataError as error:
        raise UsageError(str(error)) from error
    except (datasets.exceptions.DatasetGenerationError, pyarrow.ArrowException, OSError) as error:
        # Of a failed generation the cause says more: bad rows, a damaged block, a full disk.
        cause = error.__cause__ or error
        said = str(cause) if isinstance(cause, medgen_bench.DataError) else f"{type(cause).__name__}: {cause}"
        raise UsageError(f"{folder or 'the data set'}: config {config!r} can't be read: {said.strip()}") from error
    return Records(dataset, config, edition)
