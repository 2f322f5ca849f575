"""`medgen-bench cache export|import`: judges' replies handed on.

An export is one JSONL file (gzipped where its name ends in `.gz`): a header line with the format and the number of
entries, then the entries in the order of their keys, so that equal caches give equal bytes. Hosts of servers stay out
of it.
"""

import gzip
import json
import zlib
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from typing import BinaryIO
from typing import cast

from medgen_metrics.judge.cache import Entry
from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.sources.jsonl import raw_lines

from .atomic import replacing
from .cache import IMPORTED
from .cache import check_model
from .cache import counted
from .cache import opened
from .errors import UsageError
from .jsonl import SHOWN

FORMAT = "medgen-bench judge cache"
VERSION = 1


def export(folder: Path, file: Path, *, model: str | None = None) -> None:
    """Write a cache as one file that others can import.

    Args:
        folder: the cache.
        file: `.jsonl`, or `.jsonl.gz`; replaced in one step.
        model: only this judge's.

    Raises:
        UsageError: nothing to export, or an unknown model.
        Failure: the cache can't be read or the file can't be written.
    """
    with opened(folder) as cache:
        if model is not None:
            check_model((entry.model for entry in cache), model)
        count = len(cache) if model is None else sum(entry.model == model for entry in cache)
        if not count:
            raise UsageError(f"{folder}: expected a cache with entries, got none; name its folder with --cache")
        with replacing(file) as raw, _packed(raw, file) as out:
            out.write(_line({"format": FORMAT, "version": VERSION, "entries": count}))
            for entry in cache:
                if model is None or entry.model == model:
                    out.write(replace(entry, endpoint=None).to_json().encode("utf-8", "surrogatepass") + b"\n")
    print(f"{file}: {counted(count, 'entry', 'entries')}")


def import_files(folder: Path, files: Sequence[Path]) -> None:
    """Add the entries of exports that this cache lacks. Entries that it has stay as they are.

    Args:
        folder: the cache; made if need be.
        files: what `export` wrote.

    Raises:
        UsageError: a file that can't be read or is no whole export, or entries that were refused, each with its
            cause; the others were added.
        Failure: the cache can't be read or written.
    """
    faults: list[str] = []
    with opened(folder) as cache:
        for file in files:
            added, known, refused = _import(cache, file, faults)
            print(f"{file}: {added:,} added, {known:,} known, {refused:,} refused")
    if faults:
        rest = [f"… and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        raise UsageError("\n".join(["cache import: not everything could be taken in", *faults[:SHOWN], *rest]))


def _import(cache: ReplyCache, file: Path, faults: list[str]) -> tuple[int, int, int]:
    added = known = refused = promised = number = 0
    try:
        for number, line in enumerate(_unpacked(file), start=1):
            if line.startswith(b'{"format"') or number == 1:
                promised += _promised(line)
                continue
            try:
                entry = Entry.from_json(line)
            except ValueError as error:
                refused += 1
                faults.append(f"{file}:{number}: {error}")
                continue
            there = cache.get(entry.key)
            if there is None or (there.unusable and not entry.unusable):
                meta = {**entry.meta, IMPORTED: entry.meta.get(IMPORTED, file.name)}
                cache.put(entry.key, replace(entry, meta=meta))
                added += 1
            else:
                known += 1
        if not number:
            raise ValueError("an empty file")
    except (OSError, EOFError, zlib.error, ValueError) as error:  # the second and third: a gzip file that was damaged
        faults.append(f"{file}: expected an export of `medgen-bench cache export`, got: {error}")
    else:
        if added + known + refused != promised:
            faults.append(
                f"{file}: expected {promised:,} entries, got {added + known + refused:,}; fetch the file again"
            )
    return added, known, refused


def _promised(line: bytes) -> int:
    try:
        head = json.loads(line)
        told = (head["format"], head["version"], int(head["entries"]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"no header line ({line[:60]!r})") from error
    if told[:2] != (FORMAT, VERSION):
        raise ValueError(f"format {told[0]!r}, version {told[1]!r}; this version reads {FORMAT!r}, version {VERSION}")
    return told[2]


def _unpacked(file: Path) -> Iterator[bytes]:
    with file.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
    with gzip.open(file, "rb") if packed else file.open("rb") as source:
        for line, _ in raw_lines(cast(BinaryIO, source)):  # one of endless length is cut, and refused as no JSON
            yield line


@contextmanager
def _packed(raw: BinaryIO, file: Path) -> Iterator[BinaryIO]:
    """What writes to `raw`, gzipped by the file's name; the same content gives the same bytes."""
    if file.suffix != ".gz":
        yield raw
        return
    with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as out:
        yield out  # type: ignore[misc]


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
