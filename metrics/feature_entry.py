"""An entry of the feature cache: an image's embedding under the digest of all that determines it.

A line holds a digest of its own bytes, so that a damaged one is never taken for an embedding. It does not show that an
encoder ever gave that embedding: an imported entry is as trustworthy as its sender.
"""

import base64
import hashlib
import json
import math
from typing import Any
from typing import NamedTuple

import numpy as np

from .cache_files import KEY_DIGITS
from .cache_files import is_key

_SUM = b', "sum": "'
_TEXTS = ("key", "definition", "model", "depth", "vector")


class Feature(NamedTuple):
    """An image's embedding.

    Attributes:
        vector: float32 [d].
        depth: the image's, as of `images.Picture`: which images it may be compared with.
    """

    vector: np.ndarray
    depth: str


class Entry(NamedTuple):
    """A kept embedding.

    Attributes:
        key: digest of the definition and of the image's content, 32 hex digits.
        created: seconds since 1970, UTC.
        definition: digest of what determines an embedding beside the image.
        model: the encoder's name, for whoever looks into the cache.
        feature: the embedding.
        imported: the file that it came from, or None.
        unusable: None: an embedding always serves; as of a judge's reply.
    """

    key: str
    created: float
    definition: str
    model: str
    feature: Feature
    imported: str | None = None
    unusable: None = None

    def to_json(self) -> str:
        """One line of strict JSON, without its newline; the digest of what stands before it comes last."""
        row: dict[str, Any] = {
            "key": self.key,
            "created": self.created,
            "definition": self.definition,
            "model": self.model,
            "depth": self.feature.depth,
            **({} if self.imported is None else {"imported": self.imported}),
            "vector": base64.b64encode(self.feature.vector.astype("<f4").tobytes()).decode(),
        }
        head = json.dumps(row, ensure_ascii=False, allow_nan=False)[:-1].encode("utf-8", "surrogatepass")
        return (head + _SUM + _sum(head).encode() + b'"}').decode("utf-8", "surrogatepass")

    @classmethod
    def from_json(cls, line: bytes) -> "Entry":
        """Read and check a line.

        Raises:
            ValueError: no entry, content that isn't as written, or an embedding that can't be one.
        """
        row = checked(line)
        try:
            vector = np.frombuffer(base64.b64decode(row["vector"], validate=True), dtype="<f4")
        except (ValueError, TypeError) as error:
            raise ValueError(f"vector: expected float32 in base64: {error}") from error
        if not vector.size or not np.isfinite(vector).all():
            raise ValueError(f"vector: expected finite numbers, got {vector.size} with some that are not")
        return cls(
            row["key"],
            float(row["created"]),
            row["definition"],
            row["model"],
            Feature(vector, row["depth"]),
            row.get("imported"),
        )


def checked(line: bytes) -> dict[str, Any]:
    """A line's fields, its vector still in base64.

    Raises:
        ValueError: no entry, or content that isn't as written.
    """
    head, found, told = line.rstrip(b"\n").rpartition(_SUM)
    try:
        row = json.loads(head + b"}") if found else None
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not all(isinstance(row.get(name), str) for name in _TEXTS):
        raise ValueError("not an entry of the feature cache")
    if told != _sum(head).encode() + b'"}':
        raise ValueError("its content doesn't have the digest that it names: it was changed or damaged")
    created = row.get("created")
    if not is_key(row["key"]) or not isinstance(created, int | float) or not math.isfinite(created):
        raise ValueError(f"expected a key of {KEY_DIGITS} hex digits and a date, got {row['key'][:40]!r}, {created!r}")
    if not isinstance(row.get("imported"), str | None):
        raise ValueError(f"imported: expected a file's name, got {row['imported']!r}")
    return row


def _sum(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:16]
