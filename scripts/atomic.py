"""Whole files are written to a temporary name and renamed, so that a reader never meets half of one."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from .errors import Failure


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes the place of `path` (folders are made) when the block ends without an error.

    Raises:
        Failure: the file can't be written (read-only folder, full disk, …); what was there before still is.
    """
    # A short name of its own: the target's may already be as long as the file system allows.
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise Failure(
            f"{path}: can't be written: {error.strerror or error}; make room, or name another folder"
        ) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write `content` to `path` (folders are made) in one step: after a crash the old file or the new one is there.

    Raises:
        Failure: as `replacing`.
    """
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """`write_bytes` of UTF-8 text."""
    write_bytes(path, text.encode("utf-8"))
