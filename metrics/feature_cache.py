"""Embeddings of reference images, kept for all systems, later runs and other processes.

An entry stands under a digest of the image's content (its bytes as they came, and the grey levels it is shown with) and
of what determines an embedding (the encoder's definition and the kind of device), so that a changed picture or model
never meets an old value. Entries are lines of append-only files, see `cache_lines`.
"""

import base64
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from typing import NamedTuple

import numpy as np

from .cache_files import CacheError
from .cache_lines import CacheLines
from .signature import digest

KEY_DIGITS = 32
LIMIT = 2**30  # bytes: 200,000 embeddings of 1,024 dimensions, where the benchmark has 4,000 references
MEMORY = 4096  # embeddings

logger = logging.getLogger(__name__)


class Feature(NamedTuple):
    """An image's embedding.

    Attributes:
        vector: float32 [d].
        depth: the image's, as of `images.Picture`: which images it may be compared with.
    """

    vector: np.ndarray
    depth: str


class Entry(NamedTuple):
    """What is told of a kept embedding, as of a judge's reply; `size` is its line's in bytes."""

    key: str
    model: str
    created: float
    size: int
    unusable: None = None


class FeatureCache(CacheLines):
    """Embeddings in a folder.

    Args:
        folder: made at the first `put`; one that isn't there is an empty cache.
        limit: bytes; a cache as large takes in nothing more.
        notice: told of torn last lines, and once of a cache that is full; default a warning of this module's logger.

    Raises:
        CacheError: a line that is not the last of its file is broken, or a file can't be read.
    """

    cache = "feature cache"
    holds = "embeddings"
    redone = "its images are encoded again"

    def __init__(self, folder: Path, *, limit: int = LIMIT, notice: Callable[[str], None] | None = None) -> None:
        self._places: dict[bytes, tuple[str, int]] = {}
        self._limit = limit
        self._is_full = False
        super().__init__(folder, "features", notice=notice or logger.warning)

    def _index(self, name: str, start: int, row: dict[str, Any]) -> None:
        key = row["key"]
        if not isinstance(key, str) or len(key) != KEY_DIGITS or not isinstance(row["vector"], str):
            raise ValueError("not an entry of the feature cache")
        self._places.setdefault(bytes.fromhex(key), (name, start))

    def _forget(self) -> None:
        self._places.clear()

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._places

    def entries(self) -> Iterator[Entry]:
        """What is kept, in the order of keys.

        Raises:
            CacheError: as `get`.
        """
        for digits, (name, start) in sorted(self._places.items()):
            entry = self._at(name, start, read_entry)
            if entry is not None and entry.key == digits.hex():
                yield entry

    def get(self, key: str) -> Feature | None:
        """The embedding under a key, or None.

        Raises:
            CacheError: it can't be read any more, or was changed since it was written.
        """
        digits = bytes.fromhex(key)
        return self._found(lambda: self._places.get(digits), partial(_feature, key))

    def put(self, key: str, feature: Feature, encoder: str) -> None:
        """Keep an embedding, unless it is there or the cache is full; it is with the operating system then.

        Args:
            key: 32 hex digits.
            feature: the embedding.
            encoder: its encoder's name, for whoever looks into the cache.

        Raises:
            CacheError: the folder can't be written or the disk is full; all earlier entries are kept.
        """
        if key in self:
            return
        if self.size >= self._limit:
            if not self._is_full:
                self._notice(
                    f"{self.folder}: the feature cache is full ({self.size / 1e6:.0f} MB) and takes in nothing more; "
                    "`medgen-bench cache prune` makes room, or delete the folder"
                )
            self._is_full = True
            return
        row = {
            "key": key,
            "created": round(time.time(), 3),
            "encoder": encoder,
            "depth": feature.depth,
            "vector": base64.b64encode(feature.vector.astype("<f4").tobytes()).decode(),
        }
        self._write(json.dumps({**row, "sum": digest(row)}))


def _row(line: bytes) -> dict[str, Any]:
    """A line's content.

    Raises:
        ValueError: it isn't as it was written.
    """
    try:
        row: dict[str, Any] = json.loads(line)
        told = row.pop("sum")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("not an entry of the feature cache") from error
    if told != digest(row):
        raise ValueError("its content doesn't have the digest that it names: it was changed or damaged")
    return row


def _feature(key: str, line: bytes) -> Feature:
    row = _row(line)
    if row["key"] != key:
        raise ValueError(f"another key, {row['key']}")
    return Feature(np.frombuffer(base64.b64decode(row["vector"]), dtype="<f4"), row["depth"])


def read_entry(line: bytes) -> Entry:
    """What is told of a line.

    Raises:
        ValueError: it isn't as it was written.
    """
    row = _row(line)
    return Entry(row["key"], row["encoder"], float(row["created"]), len(line))


class Features:
    """The embeddings at hand: the latest in memory, and those of references in a cache's folder, if there is one.

    Args:
        cache: None keeps none beyond this process.
        kind: digest of what determines an embedding.
        encoder: the encoder's name.
    """

    def __init__(self, cache: FeatureCache | None, kind: str, encoder: str) -> None:
        self._cache = cache
        self._kind = kind
        self._encoder = encoder
        self._memory: OrderedDict[str, Feature] = OrderedDict()

    def get(self, content: str) -> Feature | None:
        """The embedding of an image, by the digest of its content.

        Raises:
            CacheError: the cache is damaged.
        """
        found = self._memory.get(content)
        if found is None and self._cache is not None:
            found = self._cache.get(self._key(content))
        return found

    def keep(self, content: str, feature: Feature, *, is_reference: bool) -> None:
        """Have an embedding at hand from now on; a reference's beyond this process."""
        self._memory[content] = feature
        self._memory.move_to_end(content)
        while len(self._memory) > MEMORY:
            self._memory.popitem(last=False)
        if is_reference and self._cache is not None:
            try:
                self._cache.put(self._key(content), feature, self._encoder)
            except CacheError as error:  # scores don't depend on it
                logger.warning("%s", error)
                self._cache = None

    def _key(self, content: str) -> str:
        return digest([self._kind, content], KEY_DIGITS)
