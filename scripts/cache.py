"""`medgen-bench cache list|prune|export|import`: what was paid or computed once, looked at, thinned out, and handed on.

An export is one JSONL file (gzipped where its name ends in `.gz`): a header line with the format and the number of
entries, then the entries in the order of their keys, so that equal caches give equal bytes. Hosts of servers stay out
of it.
"""

import gzip
import json
import secrets
import time
import zlib
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import Any
from typing import BinaryIO
from typing import cast

from medgen_metrics import cache_files
from medgen_metrics.feature_cache import FeatureCache
from medgen_metrics.feature_cache import read_entry as read_feature
from medgen_metrics.judge.cache import CacheError
from medgen_metrics.judge.cache import Entry
from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.sources.jsonl import raw_lines

from .atomic import replacing
from .errors import Failure
from .errors import UsageError
from .jsonl import SHOWN
from .lock import hold

KINDS = {"judge": "judge-cache", "embedding": "feature-cache"}  # kind of cache -> its folder in OUT
FORMAT = "medgen-bench judge cache"
VERSION = 1
IMPORTED = "imported"  # in an entry's `meta`: the file it came from
DAY = 86_400  # seconds


def list_entries(folders: Mapping[str, Path]) -> None:
    """Print what caches hold: a row a judge or encoder.

    Args:
        folders: kind (one of `KINDS`) -> the cache.

    Raises:
        Failure: a cache can't be read.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table("kind", "model", "entries", "unusable", "imported", "MB", "first", "last", box=None, pad_edge=False)
    for kind, folder in folders.items():
        rows = _models(kind, folder)
        for model, row in sorted(rows.items()):
            counts = [f"{row[name]:,}" if name in row else "" for name in ("entries", "unusable", "imported")]
            table.add_row(kind, model, *counts, f"{row['bytes'] / 1e6:.1f}", *map(_date, row["dates"]))
    if table.row_count:
        Console().print(table)
    else:
        print("\n".join(f"{folder}: no entries" for folder in folders.values()))


def _models(kind: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Model -> counts, bytes and dates of its entries."""
    rows: dict[str, dict[str, Any]] = {}

    def count(model: str, created: float, size: int) -> dict[str, Any]:
        row = rows.setdefault(model, {"entries": 0, "bytes": 0, "dates": []})
        row["entries"] += 1
        row["bytes"] += size
        row["dates"] = [min([*row["dates"], created]), max([*row["dates"], created])]
        return row

    if kind == "embedding":
        with _errors(), FeatureCache(folder) as features:
            for found in features.entries():
                count(found.model, found.created, found.size)
        return rows
    with _opened(folder) as cache:
        for entry in cache:
            row = count(entry.model, entry.created, len(entry.to_json().encode("utf-8", "surrogatepass")))
            row["unusable"] = row.get("unusable", 0) + (entry.unusable is not None)
            row["imported"] = row.get("imported", 0) + (IMPORTED in entry.meta)
    return rows


def prune(
    folder: Path,
    *,
    kind: str = "judge",
    model: str | None = None,
    older_than: float | None = None,
    unusable: bool = False,
    dry_run: bool,
) -> None:
    """Remove the entries that meet every criterion given. Files that a running process appends to are left alone.

    Args:
        folder: the cache.
        kind: one of `KINDS`.
        model: only this judge's, or encoder's.
        older_than: only those older than so many days.
        unusable: only replies that gave no verdict.
        dry_run: say what would go, and change nothing.

    Raises:
        UsageError: no criterion, an unknown model, or another prune at work.
        Failure: the cache can't be read or written; nothing is lost then.
    """
    if model is None and older_than is None and not unusable:
        raise UsageError("cache prune: expected what is to go (--model, --older-than, --unusable), got nothing")
    if not folder.is_dir():
        raise UsageError(f"{folder}: expected a cache's folder, got none; name it with --cache")
    before = None if older_than is None else time.time() - older_than * DAY

    def goes(entry: Any) -> bool:
        return (
            (model is None or entry.model == model)
            and (before is None or entry.created < before)
            and (not unusable or entry.unusable is not None)
        )

    if model is not None:
        _known_model(_models(kind, folder), model)
    read: Callable[[bytes], Any] = Entry.from_json if kind == "judge" else read_feature
    removed: set[str] = set()  # keys: what stands twice is one entry
    with _errors(), hold(folder, "prune", "pruning", "wait for it"):
        for path in cache_files.files(folder):
            claim = cache_files.claim(path)
            if claim is None:
                print(f"{path.name}: left as it is, a running process appends to it")
                continue
            try:
                removed |= _rewrite(path, read, goes, dry_run)
            finally:
                cache_files.give_up(path, claim)
    print(f"{folder}: {_count(len(removed), 'entry', 'entries')} {'would be ' if dry_run else ''}removed")


def _rewrite(path: Path, read: Callable[[bytes], Any], goes: Callable[[Any], bool], dry_run: bool) -> set[str]:
    """Put what stays of a file into a new one, and remove the file; the keys of what went.

    The new one has a name of its own, so that whoever has read the old one sees that it is gone, and looks again.
    """
    kept = []
    gone = set()
    for start, line in cache_files.whole_lines(path):
        # facts stay
        entry = None if line.startswith(b'{"fact"') else _entry(path, start, line, read)
        if entry is not None and goes(entry):
            gone.add(entry.key)
        else:
            kept.append((start, len(line)))
    if not gone or dry_run:
        return gone
    if kept:
        with replacing(path.with_name(f"pruned-{secrets.token_hex(6)}.jsonl")) as new, path.open("rb") as old:
            for start, length in kept:
                old.seek(start)
                new.write(old.read(length))
    path.unlink()
    return gone


def _entry(path: Path, start: int, line: bytes, read: Callable[[bytes], Any]) -> Any:
    try:
        return read(line)
    except ValueError as error:
        raise cache_files.broken(path, cache_files.line_number(path, start), line, error) from error


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
    with _opened(folder) as cache:
        if model is not None:
            _known_model((entry.model for entry in cache), model)
        count = len(cache) if model is None else sum(entry.model == model for entry in cache)
        if not count:
            raise UsageError(f"{folder}: expected a cache with entries, got none; name its folder with --cache")
        with replacing(file) as raw, _packed(raw, file) as out:
            out.write(_line({"format": FORMAT, "version": VERSION, "entries": count}))
            for entry in cache:
                if model is None or entry.model == model:
                    out.write(replace(entry, endpoint=None).to_json().encode("utf-8", "surrogatepass") + b"\n")
    print(f"{file}: {_count(count, 'entry', 'entries')}")


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
    with _opened(folder) as cache:
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


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except CacheError as error:
        raise Failure(str(error)) from error


@contextmanager
def _opened(folder: Path) -> Iterator[ReplyCache]:
    with _errors(), ReplyCache(folder, "imported") as cache:
        yield cache


def _known_model(models: Iterable[str], model: str) -> None:
    known = sorted(set(models))
    if model not in known:
        raise UsageError(f"--model: expected one of {', '.join(known) or 'none: the cache is empty'}; got {model!r}")


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%d")


def _count(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"
