"""Encodes the images of many records: each content once, in batches of one shape."""

from collections.abc import Iterable
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from .ahead import in_order
from .embedding_looks import Record
from .embedding_looks import Source
from .embedding_looks import look
from .embedding_looks import settle
from .encoders.base import Encoder
from .encoders.base import EncoderFault
from .feature_cache import Feature
from .feature_cache import Features
from .pixel_pairs import thread_count

if TYPE_CHECKING:
    import torch

# Images a forward pass. A batch is always full, the last one filled up by repeating: kernels follow a batch's shape,
# and with them the last bits. So an embedding does not depend on what was encoded beside it, or in which run.
_BATCH = {"cuda": 16}


def batch_size(device: "torch.device") -> int:
    """Images a forward pass: one on a processor, which one image occupies."""
    return _BATCH.get(device.type, 1)


def looked_at(sources: Iterable[Source], features: Features | None, encoder: Encoder | None) -> Iterable[Record]:
    """`look` of each record in order, a few ahead in threads."""
    Image.init()  # registers Pillow's readers, which threads would do at once
    known = features.get if features is not None else _nothing
    preprocess = encoder.preprocess if encoder is not None else None
    threads = thread_count()
    drawn = sources if threads == 1 else map(settle, sources)
    return in_order(lambda source: look(source, known, preprocess), drawn, threads)


def _nothing(content: str) -> None:
    return None


def embed(sources: Iterable[Source], features: Features, encoder: Encoder) -> list[Record]:
    """Look at records and encode what isn't at hand.

    Args:
        sources: the records' images.
        features: the embeddings at hand; gets the new ones.
        encoder: what encodes.

    Returns:
        The records in order, their features filled.

    Raises:
        EncoderFault: the encoder gives numbers that are not finite.
    """
    features.look_again()
    records = []
    made: dict[str, Feature] = {}
    waiting: dict[tuple[int, ...], dict[str, tuple[np.ndarray, str]]] = {}
    size = batch_size(encoder.device)
    for record in looked_at(sources, features, encoder):
        for content, pixels in record.pixels.items():
            group = waiting.setdefault(pixels.shape, {})
            if content not in made and content not in group:
                group[content] = (pixels, record.depths[content])
            if len(group) >= size:
                made |= _encoded(waiting.pop(pixels.shape), encoder, size)
        record.pixels = {}
        records.append(record)
    for group in waiting.values():
        if group:
            made |= _encoded(group, encoder, size)
    for record in records:
        record.features |= {content: made[content] for content in record.depths}
        for content, feature in record.features.items():
            features.keep(content, feature, is_reference=content == record.reference)
    return records


def _encoded(group: dict[str, tuple[np.ndarray, str]], encoder: Encoder, size: int) -> dict[str, Feature]:
    pixels: Sequence[np.ndarray] = [array for array, _ in group.values()]
    vectors = encoder.encode([*pixels, *[pixels[-1]] * (size - len(pixels))])
    if not np.isfinite(vectors).all():
        raise EncoderFault(
            "the encoder gives embeddings that are not finite: its weights are damaged, or float16 overflows"
        )
    return {
        content: Feature(vector.copy(), depth)
        for (content, (_, depth)), vector in zip(group.items(), vectors, strict=False)
    }
