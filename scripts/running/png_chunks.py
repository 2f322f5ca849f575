"""PNG files taken apart and put together again: their pixels as they were packed, without anything else.

A PNG that a system gave needs no packing anew, which takes several times as long as reading it. Format: ISO/IEC 15948.
"""

import zlib
from struct import error as StructError
from struct import unpack_from

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PIXELS = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
_HEADER = 13
_BITS = 8
_INDEXED = 3
_PALETTE = range(3, 3 * 256 + 1, 3)  # bytes that it may have


def pixels_alone(data: bytes) -> bytes | None:
    """A file's header, palette and pixels, byte for byte, without texts, profiles, dates or whatever else it holds.

    Args:
        data: a PNG file; whether its pixels can be unpacked, or are to be turned, is for its reader to see.

    Returns:
        None where that might be another picture than a reader sees, or a file that some readers refuse: not of 8 bits
        a channel, several frames, indices without a sound palette, a chunk that is unknown and critical, out of place,
        damaged or cut off.
    """
    try:
        chunks = _chunks(data)
    except (StructError, ValueError):
        return None
    kinds = [kind for kind, _, _ in chunks]
    header = data[chunks[0][1] + 8 :][:_HEADER] if chunks else b""
    if kinds[:1] != [b"IHDR"] or kinds[-1:] != [b"IEND"] or kinds.count(b"IHDR") != 1 or len(header) != _HEADER:
        return None
    if header[8] != _BITS or b"acTL" in kinds or not _in_order(kinds):
        return None
    palettes = [end - start - 12 for kind, start, end in chunks if kind == b"PLTE"]
    if header[9] == _INDEXED and not any(size in _PALETTE for size in palettes):
        return None
    return _SIGNATURE + b"".join(data[start:end] for kind, start, end in chunks if kind in _PIXELS)


def _in_order(kinds: list[bytes]) -> bool:
    """Whether the critical chunks are known ones, each in its place."""
    critical = [kind for kind in kinds if not kind[0] & 0x20]
    body = critical[1:-1]
    palettes = body.count(b"PLTE")
    pixels = body[palettes:]
    if palettes > 1 or body[:palettes] != [b"PLTE"] * palettes or not pixels or set(pixels) != {b"IDAT"}:
        return False
    first = kinds.index(b"IDAT")
    # what stands between them would have two readers see two pictures
    return kinds[first : first + len(pixels)] == pixels


def _chunks(data: bytes) -> list[tuple[bytes, int, int]]:
    """Kind, start and end of each chunk up to the last; what follows it is no part of the file.

    Raises:
        ValueError, struct.error: no PNG, a checksum that doesn't fit, or chunks that end before the last.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("no PNG")
    found: list[tuple[bytes, int, int]] = []
    start = len(_SIGNATURE)
    view = memoryview(data)
    while not found or found[-1][0] != b"IEND":
        length, kind = unpack_from(">I4s", data, start)
        end = start + 12 + length
        (checksum,) = unpack_from(">I", data, end - 4)
        if checksum != zlib.crc32(view[start + 4 : end - 4]):
            raise ValueError("damaged")
        found.append((kind, start, end))
        start = end
    return found
