"""Reading JSONL that anyone may have written, a line or a piece at a time: a bad line is an error with its cause."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import BinaryIO
from typing import NamedTuple

MAX_LINE = 16 * 2**20  # bytes; a record's row is a few kB, a long report some 10 kB
PIECE_LINES = 64  # lines of a piece: the unit that processes share out


class BadLine(ValueError):
    """A line that is no JSON object; the message says what was expected and what was got.

    Attributes:
        broken: it isn't JSON at all, as a line is that was cut off while it was written.
    """

    broken = False


def shorten(value: object, width: int = 60) -> str:
    """`repr` of a value for a message: at most `width` characters, control characters and lone surrogates escaped."""
    text = repr(value[: 4 * width] if isinstance(value, str) else value)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= width else text[: width - 1] + "…"


def raw_lines(file: BinaryIO, sha: Any = None) -> Iterator[tuple[bytes, int]]:
    """Each line (cut where it is too long to be kept) and its full length; `sha` is updated with all bytes."""
    while line := file.readline(MAX_LINE + 1):
        if sha is not None:
            sha.update(line)
        length = len(line)
        while not line.endswith(b"\n") and (more := file.readline(2**16)):
            if sha is not None:
                sha.update(more)
            length += len(more)
            line = line[:200] + more[-1:]  # too long to be parsed: only its ends are kept
        yield line, length


def parse_line(line: bytes, length: int) -> dict[str, Any] | None:
    """The object on a line; None for a blank one.

    Raises:
        BadLine: too long, not UTF-8, no JSON, no object, or one with a key twice.
    """
    line = line.strip()
    if not line:
        return None
    if length > MAX_LINE:
        raise BadLine(f"expected a line of at most {MAX_LINE:,} bytes, got {length:,}; images belong in files")
    try:
        row = json.loads(line.decode("utf-8"), object_pairs_hook=_object)
    except BadLine:
        raise
    except (ValueError, RecursionError) as error:
        got = shorten(line[:240].decode("utf-8", "replace"))
        if isinstance(error, UnicodeDecodeError):
            bad = BadLine(f"expected UTF-8, got byte 0x{line[error.start]:02x} at position {error.start}: {got}")
        else:
            cause = "nested too deeply" if isinstance(error, RecursionError) else str(error)[:80]
            bad = BadLine(f"expected one JSON object, got {got} ({cause})")
        bad.broken = True
        raise bad from error
    if not isinstance(row, dict):
        raise BadLine(f"expected a JSON object, got {shorten(row)}")
    return row


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):  # the last would win, and the others be dropped in silence
        again = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise BadLine(f"expected each key once, got {shorten(again)} again")
    return found


class Piece(NamedTuple):
    """Some lines of a file: where they begin, in bytes; the first one's number, from 1; and how many hold something."""

    start: int
    first: int
    rows: int


def pieces(path: Path) -> list[Piece]:
    """A file in pieces of `PIECE_LINES` lines."""
    found: list[Piece] = []
    at, start, first, rows, number = 0, 0, 1, 0, 0
    with path.open("rb") as file:
        for number, (line, length) in enumerate(raw_lines(file), start=1):
            at += length
            rows += bool(line.strip())
            if number % PIECE_LINES == 0:
                found.append(Piece(start, first, rows))
                start, first, rows = at, number + 1, 0
    return [*found, Piece(start, first, rows)] if number >= first else found


def read_piece(path: Path, start: int = 0, first: int = 1) -> Iterator[tuple[int, dict[str, Any] | BadLine]]:
    """The number and the object of each line of a piece that holds something, or what is wrong with the line."""
    with path.open("rb") as file:
        file.seek(start)
        for number, (line, length) in enumerate(raw_lines(file), start=first):
            if number >= first + PIECE_LINES:
                break
            try:
                row = parse_line(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, length)
            except BadLine as error:
                yield number, error
                continue
            if row is not None:
                yield number, row
