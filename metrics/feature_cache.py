"""Embeddings of reference images, kept for all systems, later runs and other processes.

An entry stands under a digest of the image's content (its bytes as they came, and the grey levels it is shown with) and
of what determines an embedding (the encoder's definition and the kind of device), so that a changed picture or model
never meets an old value. Entries are lines of append-only files, see `cache_lines`.

Nothing here is worth a run: what can't be read is told and encoded again, and what can't be written isn't kept.
"""

import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cache_files import KEY_DIGITS
from .cache_files import CacheError
from .cache_lines import CacheLines
from .feature_entry import Entry as Entry
from .feature_entry import Feature as Feature
from .feature_entry import checked
from .signature import digest

LIMIT = 2**30  # bytes: 200,000 embeddings of 1,024 dimensions, where the benchmark has 4,000 references
MEMORY = 4096  # embeddings
LOOK_AGAIN = 10.0  # seconds between looks at what others have written

logger = logging.getLogger(__name__)


class FeatureCache(CacheLines):
    """Embeddings in a folder.

    Args:
        folder: made at the first `put`; one that isn't there is an empty cache.
        writer: begins the name of this process's file, for whoever looks into the folder.
        limit: bytes; a cache as large takes in nothing more.
        notice: told of torn last lines, of what is broken, and once of a cache that is full; default a warning of this
            module's logger.
        strict: broken lines, and files that can't be read, are errors; else they are told and left out.

    Raises:
        CacheError: with `strict`, of what is broken.
    """

    cache = "feature cache"
    holds = "embeddings"
    redone = "its images are encoded again"

    def __init__(
        self,
        folder: Path,
        writer: str = "features",
        *,
        limit: int = LIMIT,
        notice: Callable[[str], None] | None = None,
        strict: bool = False,
    ) -> None:
        self._places: dict[bytes, tuple[str, int]] = {}
        self._dimensions: dict[str, int] = {}
        self._limit = limit
        self._strict = strict
        self._told: set[str] = set()
        self._is_full = False
        super().__init__(folder, writer, notice=notice or logger.warning)

    def _parsed(self, line: bytes) -> dict[str, Any]:
        return checked(line)

    def _index(self, name: str, start: int, row: dict[str, Any]) -> None:
        dimensions = len(row["vector"]) * 3 // 16  # base64 of float32
        self._fits(row["definition"], dimensions)
        self._dimensions[row["definition"]] = dimensions
        self._places.setdefault(bytes.fromhex(row["key"]), (name, start))

    def _fits(self, definition: str, dimensions: int) -> None:
        known = self._dimensions.get(definition, dimensions)
        if dimensions != known:
            raise ValueError(f"vector: expected {known} dimensions, as others of its definition have, got {dimensions}")

    def _forget(self) -> None:
        self._places.clear()
        self._dimensions.clear()

    def _fault(self, error: CacheError, file: str) -> None:
        if self._strict:
            raise error
        if file not in self._told:
            self._notice(str(error))
        self._told.add(file)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return bytes.fromhex(key) in self._places

    def __iter__(self) -> Iterator[Entry]:
        """What is kept, in the order of keys.

        Raises:
            CacheError: as `get`.
        """
        for digits in sorted(self._places):
            entry = self._entry(digits)
            if entry is not None:
                yield entry

    def get(self, key: str) -> Feature | None:
        """The embedding under a key, or None.

        Raises:
            CacheError: with `strict`, it can't be read any more, or was changed since it was written.
        """
        entry = self._entry(bytes.fromhex(key))
        return None if entry is None else entry.feature

    def _entry(self, digits: bytes) -> Entry | None:
        def read(line: bytes) -> Entry:
            entry = Entry.from_json(line)
            if entry.key != digits.hex():
                raise ValueError(f"another key, {entry.key}")
            return entry

        try:
            return self._found(lambda: self._places.get(digits), read)
        except CacheError as error:
            with self._lock:
                # it may be kept anew
                self._fault(error, self._places.pop(digits, ("", 0))[0])
            return None

    def put(self, entry: Entry) -> bool:
        """Keep an embedding, unless it is there or the cache is full; it is with the operating system then.

        Returns:
            Whether it is kept.

        Raises:
            ValueError: it hasn't as many dimensions as others of its definition.
            CacheError: the folder can't be written or the disk is full; all earlier entries are kept.
        """
        if entry.key in self:
            return True
        if self.size >= self._limit:
            if not self._is_full:
                self._notice(
                    f"{self.folder}: the feature cache is full ({self.size / 1e6:.0f} MB) and takes in nothing more; "
                    "`medgen-bench cache prune --kind embedding` makes room, or delete the folder"
                )
            self._is_full = True
            return False
        self._fits(entry.definition, entry.feature.vector.size)
        self._write(entry.to_json())
        return True


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
        self._is_writable = True
        self._looked = time.monotonic()

    def look_again(self) -> None:
        """Take in what other processes have kept since the last look, now and then."""
        if self._cache is not None and time.monotonic() - self._looked > LOOK_AGAIN:
            self._cache.refresh()
            self._looked = time.monotonic()

    def get(self, content: str) -> Feature | None:
        """The embedding of an image, by the digest of its content."""
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
        if is_reference and self._cache is not None and self._is_writable:
            entry = Entry(self._key(content), round(time.time(), 3), self._kind, self._encoder, feature)
            try:
                self._cache.put(entry)
            except CacheError as error:  # scores don't depend on it, and what is kept still serves
                logger.warning("%s", error)
                self._is_writable = False
            except ValueError as error:  # what it has of this encoder is another's: none of it is to be trusted
                logger.warning(
                    "%s: the feature cache isn't used any more, its embeddings of this encoder are another's: %s; "
                    "delete the folder: %s",
                    self._cache.folder,
                    error,
                    self._cache.redone,
                )
                self._cache = None

    def _key(self, content: str) -> str:
        return digest([self._kind, content], KEY_DIGITS)
