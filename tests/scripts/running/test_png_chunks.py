import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from medgen_scripts.running import images
from medgen_scripts.running.png_chunks import pixels_alone

from ...builders import encoded
from .test_images import noise

MODES = ["L", "RGB", "RGBA", "P", "LA"]


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def parts(data: bytes) -> list[tuple[bytes, bytes]]:
    """Kind and the whole of each chunk."""
    found, start = [], 8
    while start < len(data):
        end = start + 12 + struct.unpack_from(">I", data, start)[0]
        found.append((data[start + 4 : start + 8], data[start:end]))
        start = end
    return found


@pytest.mark.parametrize("mode", MODES)
def test_a_png_is_kept_as_it_was_packed_without_what_else_it_holds(mode: str) -> None:
    told = PngInfo()
    told.add_text("prompt", "a secret prompt", zip=False)
    told.add_itxt("parameters", "a secret seed")
    sent = encoded(noise(33, 21, mode), pnginfo=told, icc_profile=b"a secret profile", compress_level=9, dpi=(72, 72))
    kept = images.keep(sent + b"a secret behind the end", [])
    assert b"secret" not in kept.png
    whole = parts(sent)
    assert {kind for kind, _ in whole} > {b"IHDR", b"IDAT", b"tEXt", b"iTXt", b"pHYs", b"IEND"}
    assert parts(kept.png) == [part for part in whole if part[0] in (b"IHDR", b"PLTE", b"IDAT", b"IEND")]
    with Image.open(io.BytesIO(kept.png)) as again, Image.open(io.BytesIO(sent)) as before:
        assert (again.mode, again.size) == (mode, (33, 21))
        assert again.tobytes() == before.tobytes()
    assert kept.png == images.keep(kept.png, []).png


def test_a_turned_png_is_packed_anew() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    kept = images.keep(encoded(noise(40, 20), exif=exif), [])
    with Image.open(io.BytesIO(kept.png)) as again:
        assert again.size == kept.size == (20, 40)
        assert np.array_equal(np.asarray(again), np.rot90(np.asarray(noise(40, 20)), -1))


def changed(*, at: bytes, before: bytes = b"", instead: bytes | None = None, mode: str = "RGB") -> bytes:
    """A PNG with something put before its first chunk of a kind, or in its place."""
    data = encoded(noise(9, 7, mode))
    place = data.index(at) - 4
    length = 12 + struct.unpack_from(">I", data, place)[0]
    return (
        data[:place] + before + (data[place : place + length] if instead is None else instead) + data[place + length :]
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        encoded(noise(9, 7), "JPEG"),
        encoded(noise(9, 7))[:-7],
        encoded(noise(9, 7, "1")),
        encoded(Image.fromarray(np.full((5, 5), 40_000, np.uint16))),
        encoded(noise(9, 7), save_all=True, append_images=[noise(9, 7).rotate(180)]),
        changed(at=b"IDAT", before=chunk(b"ABCD", b"critical and unknown")),
        changed(at=b"IDAT", before=chunk(b"IDAT", b"") + chunk(b"tEXt", b"between\0them")),
        changed(at=b"IDAT", before=chunk(b"PLTE", b"\0\0\0") * 2),
        changed(at=b"PLTE", instead=b"", mode="P"),
        changed(at=b"PLTE", instead=chunk(b"PLTE", b""), mode="P"),
        changed(at=b"PLTE", instead=chunk(b"PLTE", bytes(5)), mode="P"),
        changed(at=b"PLTE", instead=chunk(b"PLTE", bytes(3 * 257)), mode="P"),
        changed(at=b"IDAT", instead=b""),
        changed(at=b"IHDR", instead=b""),
        changed(at=b"IDAT", before=chunk(b"tEXt", b"a\0b")[:-1] + b"?"),
    ],
)
def test_what_another_reader_may_see_otherwise_is_not_kept(data: bytes) -> None:
    assert pixels_alone(data) is None


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_a_damaged_file_is_refused_or_shows_what_was_sent(data: st.DataObject) -> None:
    sound = bytearray(encoded(noise(8, 6)))
    place = data.draw(st.integers(0, len(sound) - 1))
    sound[place] ^= data.draw(st.integers(1, 255))
    found = pixels_alone(bytes(sound))
    if found is not None:
        assert Image.open(io.BytesIO(found)).tobytes() == noise(8, 6).tobytes()
