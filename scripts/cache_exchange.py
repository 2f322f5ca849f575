"""`medgen-bench cache export|import`: judges' replies and references' embeddings handed on.

An export is one JSONL file (gzipped where its name ends in `.gz`): a header line with the kind of cache and the number
of entries, then the entries in the order of their keys, so that equal caches give equal bytes. Hosts of servers stay
out of it. Files may be joined: a further header begins a further part, of either kind.
"""

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import ExitStack
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from typing import BinaryIO
from typing import cast

from medgen_metrics.feature_entry import Entry as Feature
from medgen_metrics.judge.cache import Entry
from medgen_metrics.sources.jsonl import raw_lines

from .atomic import replacing
from .cache import IMPORTED
from .cache import KINDS
from .cache import check_model
from .cache import counted
from .cache import imported
from .cache import opened
from .errors import UsageError
from .jsonl import SHOWN

FORMATS = {"judge": "medgen-bench judge cache", "embedding": "medgen-bench feature cache"}
VERSION = 1
SUFFIXES = (".jsonl", ".jsonl.gz")


def export(folder: Path, file: Path, *, kind: str = "judge", model: str | None = None) -> None:
    """Write a cache as one file that others can import.

    Args:
        folder: the cache.
        file: `.jsonl`, or `.jsonl.gz`; replaced in one step.
        kind: one of `KINDS`.
        model: only this judge's, or encoder's.

    Raises:
        UsageError: nothing to export, an unknown model, or a file of another name or inside of the cache.
        Failure: the cache can't be read or the file can't be written.
    """
    if not file.name.endswith(SUFFIXES):
        raise UsageError(f"{file}: expected a name that ends in {' or '.join(SUFFIXES)}")
    if folder.resolve() in file.resolve().parents:
        raise UsageError(f"{file}: expected a file outside of the cache, whose files are all read as its own")
    with opened(kind, folder) as cache:
        if model is not None:
            check_model((entry.model for entry in cache), model)
        count = len(cache) if model is None else sum(entry.model == model for entry in cache)
        if not count:
            others = " or ".join(f"--kind {other}" for other in KINDS if other != kind)
            raise UsageError(
                f"{folder}: expected a cache with entries, got none; name its folder with --cache, or {others}"
            )
        with replacing(file) as raw, _packed(raw, file) as out:
            out.write(_line({"format": FORMATS[kind], "version": VERSION, "entries": count}))
            for entry in cache:
                if model is None or entry.model == model:
                    bare = replace(entry, endpoint=None) if isinstance(entry, Entry) else entry
                    out.write(bare.to_json().encode("utf-8", "surrogatepass") + b"\n")
    print(f"{file}: {counted(count, 'entry', 'entries')}")


def import_files(files: Sequence[Path], folder_of: Callable[[str], Path]) -> None:
    """Add the entries of exports that our caches lack. Entries that they have stay as they are.

    Args:
        files: what `export` wrote.
        folder_of: kind (one of `KINDS`) -> the cache; made if need be.

    Raises:
        UsageError: a file that can't be read or is no whole export, or entries that were refused, each with its
            cause; the others were added.
        Failure: a cache can't be read or written.
    """
    faults: list[str] = []
    with ExitStack() as stack:
        caches: dict[str, Any] = {}

        def cache_of(kind: str) -> Any:
            if kind not in caches:
                caches[kind] = stack.enter_context(opened(kind, folder_of(kind)))
            return caches[kind]

        for file in files:
            done = _import(cache_of, file, faults)
            if done is not None:
                print(f"{file}: {done['added']:,} added, {done['known']:,} known, {done['refused']:,} refused")
    if faults:
        rest = [f"… and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else []
        raise UsageError("\n".join(["cache import: not everything could be taken in", *faults[:SHOWN], *rest]))


def _import(cache_of: Callable[[str], Any], file: Path, faults: list[str]) -> Counter[str] | None:
    """What came of the entries of a file; None of one that can't be read at all."""
    done: Counter[str] = Counter()
    promised = number = 0
    kind = ""
    try:
        for number, line in enumerate(_unpacked(file), start=1):
            if line.startswith(b'{"format"') or number == 1:
                kind, count = _header(line)
                promised += count
                continue
            try:
                done[(_add_reply if kind == "judge" else _add_feature)(cache_of(kind), line, file.name)] += 1
            except ValueError as error:
                done["refused"] += 1
                faults.append(f"{file}:{number}: {error}")
        if not number:
            raise ValueError("an empty file")
    except (OSError, EOFError, zlib.error, ValueError) as error:  # the second and third: a gzip file that was damaged
        faults.append(f"{file}: expected an export of `medgen-bench cache export`, got: {error}")
        if not number:
            return None
    else:
        if done.total() != promised:
            faults.append(f"{file}: expected {promised:,} entries, got {done.total():,}; fetch the file again")
    return done


def _add_reply(cache: Any, line: bytes, name: str) -> str:
    entry = Entry.from_json(line)
    there = cache.get(entry.key)
    if there is not None and (entry.unusable or not there.unusable):
        return "known"
    cache.put(entry.key, replace(entry, meta={**entry.meta, IMPORTED: imported(entry) or name}))
    return "added"


def _add_feature(cache: Any, line: bytes, name: str) -> str:
    entry = Feature.from_json(line)
    if entry.key in cache:
        return "known"
    if not cache.put(entry._replace(imported=entry.imported or name)):
        raise ValueError("the cache is full; `medgen-bench cache prune --kind embedding` makes room")
    return "added"


def _header(line: bytes) -> tuple[str, int]:
    """Of an export: the kind of what follows, and how many entries."""
    try:
        head = json.loads(line)
        told = (head["format"], head["version"], int(head["entries"]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ValueError(f"no header line ({line[:60]!r})") from error
    for kind, known in FORMATS.items():
        if told[:2] == (known, VERSION):
            return kind, told[2]
    reads = " or ".join(map(repr, FORMATS.values()))
    raise ValueError(f"format {told[0]!r}, version {told[1]!r}; this version reads {reads}, version {VERSION}")


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
