"""What the embedding tier needs of a record's images: whether they can be compared, their digests and their pixels."""

import hashlib
import os
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import NamedTuple

import numpy as np
from PIL import Image

from .failures import Unscored
from .feature_cache import Feature
from .images import Picture
from .images import check_type
from .pairs import check_depths
from .pairs import check_window
from .pairs import eight_bit
from .pixel_pairs import settled
from .pixel_target import picture_of
from .signature import digest

REVISION = 1  # of the way from a file to an encoder's 8-bit RGB; a change makes caches and journals start anew

Window = tuple[float, float] | None


class Source(NamedTuple):
    """A record's images as they were given: each system's candidate, and the reference."""

    candidates: tuple[Any, ...]
    reference: Any
    window: Window
    position: int


@dataclass(slots=True)
class Record:
    """What was found of a record.

    Attributes:
        failures: each system's reason to have no score, or None.
        several: whether a system gave several images.
        candidates: digest of each candidate's content; None where there is a failure.
        reference: digest of the reference's content; None where no candidate asks for it.
        depths: digest -> the image's depth.
        pixels: digest -> what the encoder wants, of images whose embedding isn't at hand.
        features: digest -> embedding; filled once they are computed.
    """

    failures: list[Unscored | None]
    several: list[bool]
    candidates: list[str | None]
    reference: str | None = None
    depths: dict[str, str] = field(default_factory=dict)
    pixels: dict[str, np.ndarray] = field(default_factory=dict)
    features: dict[str, Feature] = field(default_factory=dict)

    def cosine(self, system: int) -> float | None:
        """Of a system's candidate and the reference; None where there are no embeddings."""
        candidate = self.features.get(self.candidates[system] or "")
        reference = self.features.get(self.reference or "")
        if candidate is None or reference is None:
            return None
        first, second = candidate.vector.astype(np.float64), reference.vector.astype(np.float64)
        lengths = float(np.sqrt((first @ first) * (second @ second)))
        # Rounding can leave [-1, 1]; a vector of zeros has no direction.
        return min(1.0, max(-1.0, float(first @ second) / lengths)) if lengths else 0.0


def sources(
    predictions: Sequence[Sequence[Any]], references: Sequence[Any], windows: Sequence[Any] | None
) -> list[Source]:
    """Check all inputs before any is read.

    Args:
        predictions: each system's images, one a record.
        references: one a record.
        windows: one a record, or None.

    Raises:
        TypeError: a value that is no image or no window, with its position.
        ValueError: unequal lengths, an impossible window.
    """
    windows = [None] * len(references) if windows is None else windows
    if len({len(given) for given in (*predictions, references, windows)}) > 1:
        counts = ", ".join(str(len(given)) for given in predictions)
        raise ValueError(
            f"expected as many of each; got {counts} predictions, {len(references)} references, {len(windows)} windows"
        )
    made = [
        Source(tuple(candidates), reference, window, position)
        for position, (reference, window, *candidates) in enumerate(zip(references, windows, *predictions, strict=True))
    ]
    for source in made:
        for candidate in source.candidates:
            check_type(candidate, f"predictions[{source.position}]")
        check_type(source.reference, f"references[{source.position}]")
        check_window(source.window, f"windows[{source.position}]")
    return made


def settle(source: Source) -> Source:
    """PIL images are read by the caller's thread: one object may stand in several samples, and is not safe to share."""
    return source._replace(
        candidates=tuple(settled(candidate, f"predictions[{source.position}]") for candidate in source.candidates),
        reference=settled(source.reference, f"references[{source.position}]"),
    )


def look(
    source: Source,
    known: Callable[[str], Feature | None],
    preprocess: Callable[[Image.Image], np.ndarray] | None,
) -> Record:
    """Read a record's images, and prepare those that are to be encoded.

    Args:
        source: the images.
        known: digest -> embedding, where it is at hand.
        preprocess: the encoder's; None where there is none, so that only failures are looked for.
    """
    count = len(source.candidates)
    record = Record([None] * count, [False] * count, [None] * count)
    # The candidates first: whether there is an output does not depend on the reference.
    pictures = [_candidate(source, system, record) for system in range(count)]
    if any(pictures):
        _against_reference(source, pictures, record, known, preprocess)
    return record


def _candidate(source: Source, system: int, record: Record) -> Picture | None:
    try:
        picture = picture_of(source.candidates[system], f"predictions[{source.position}]")
    except Unscored as failure:
        record.failures[system] = failure
        return None
    record.several[system] = picture.several
    return picture


def _against_reference(
    source: Source,
    pictures: Sequence[Picture | None],
    record: Record,
    known: Callable[[str], Feature | None],
    preprocess: Callable[[Image.Image], np.ndarray] | None,
) -> None:
    image = None
    try:
        content, picture = _content(source.reference, f"references[{source.position}]", source.window)
        feature = known(content)
        if feature is None:
            picture = picture or picture_of(source.reference, f"references[{source.position}]")
        depth = feature.depth if feature is not None else picture.depth  # type: ignore[union-attr]  # one is there
    except Unscored as error:
        missing = Unscored("reference_missing", str(error))
        record.failures = [failure or missing for failure in record.failures]
        return
    missing_range: Unscored | None = None
    if feature is None:
        assert picture is not None
        try:
            image = eight_bit(picture, source.window)
        except Unscored as error:
            missing_range = Unscored("reference_missing", error.detail)
    wanted: dict[str, tuple[Image.Image, str]] = {}
    for system, candidate in enumerate(pictures):
        if candidate is None:
            continue
        try:
            check_depths(candidate.depth, depth, source.window)
            if missing_range is not None:
                raise missing_range
            shown = eight_bit(candidate, source.window)
        except Unscored as failure:
            record.failures[system] = failure
            continue
        own, _ = _content(source.candidates[system], "", source.window, candidate)
        record.candidates[system] = own
        wanted[own] = (shown, candidate.depth)
    if not wanted:
        return
    record.reference = content
    if feature is not None:
        record.features[content] = feature
    elif image is not None:
        wanted.setdefault(content, (image, depth))
    refused: dict[str, Unscored] = {}
    for name, (shown, depth) in wanted.items():
        found = record.features.get(name) or known(name)
        if found is not None:
            record.features[name] = found
        elif preprocess is not None:
            try:
                record.pixels[name] = preprocess(shown)
                record.depths[name] = depth
            except Unscored as failure:
                refused[name] = failure
    if content in refused:
        refused = {name: Unscored("reference_missing", refused[content].detail) for name in wanted}
    for system, mine in enumerate(record.candidates):
        if mine in refused:
            record.failures[system] = record.failures[system] or refused[mine]


def _content(source: Any, where: str, window: Window, picture: Picture | None = None) -> tuple[str, Picture | None]:
    """Digest of an image's content, and the image if it had to be read for that.

    Encoded files go by their bytes, so that one whose embedding is kept needn't be decoded; others by their pixels.

    Raises:
        Unscored: it can't be read.
    """
    first = source[0] if isinstance(source, list | tuple) and source and not isinstance(source, Picture) else source
    if isinstance(first, bytes | bytearray):
        return digest(["file", hashlib.sha256(first).hexdigest(), window]), None
    if isinstance(first, str | os.PathLike):
        try:
            with open(first, "rb") as file:
                return digest(["file", hashlib.sha256(file.read()).hexdigest(), window]), None
        except (OSError, ValueError):
            pass  # reading it tells what it is
    picture = picture or picture_of(source, where)
    pixels = picture.levels if picture.levels is not None else np.asarray(picture.image)
    told = [
        picture.depth,
        str(pixels.dtype),
        pixels.shape,
        hashlib.sha256(np.ascontiguousarray(pixels).data).hexdigest(),
    ]
    return digest(["pixels", *told, window]), picture
