"""Image files made for tests, odd ones too."""

import struct
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from medgen_metrics.failures import Unscored
from medgen_metrics.images import read

RNG = np.random.default_rng(5)

PIXELS = RNG.integers(0, 256, (12, 16, 3), dtype=np.uint8)

GREY = PIXELS[..., 0]


def png_file(width: int, height: int, *, depth: int, colour: int, rows: bytes) -> bytes:
    """A PNG chunk by chunk, for what Pillow does not write."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def pixels_of(source: Any) -> np.ndarray:
    picture = read(source)
    assert picture.image is not None
    assert picture.image.mode == "RGB"
    return np.asarray(picture.image)


def reason(call: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(Unscored) as caught:
        call()
    return caught.value.reason, caught.value.detail
