"""`medgen-bench cache list|prune`: what was paid or computed once, looked at and thinned out."""

import secrets
import time
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import contextmanager
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import Any

from medgen_metrics import cache_files
from medgen_metrics.cache_lines import CacheLines
from medgen_metrics.feature_cache import FeatureCache
from medgen_metrics.feature_entry import Entry as Feature
from medgen_metrics.judge.cache import CacheError
from medgen_metrics.judge.cache import Entry
from medgen_metrics.judge.cache import ReplyCache

from .atomic import replacing
from .errors import Failure
from .errors import UsageError
from .lock import hold

KINDS = {"judge": "judge-cache", "embedding": "feature-cache"}  # kind of cache -> its folder in OUT
IMPORTED = "imported"  # in a reply's `meta`: the file it came from
# Kind -> how a line is read, and what holds it.
_LINES: dict[str, tuple[Callable[[bytes], Any], type[CacheLines]]] = {
    "judge": (Entry.from_json, ReplyCache),
    "embedding": (Feature.from_json, FeatureCache),
}
DAY = 86_400  # seconds


def list_entries(folders: Mapping[str, Path]) -> None:
    """Print what caches hold: a row a judge or encoder.

    Args:
        folders: kind (one of `KINDS`) -> the cache.

    Raises:
        Failure: a cache can't be read.
    """
    from rich.console import Console
    from rich.table import Column
    from rich.table import Table

    whole = Column("model", overflow="fold")  # a name that is cut off names nothing
    # MedImageInsight's name fits 80 columns so.
    table = Table("kind", whole, box=None, pad_edge=False, collapse_padding=True)
    for heading in ("entries", "unusable", "imported", "MB", "first", "last"):
        table.add_column(heading, justify="right")
    empty = []
    for kind, folder in folders.items():
        rows = _models(kind, folder)
        if not rows:
            empty.append(folder)
        for model, row in sorted(rows.items()):
            # embeddings are never unusable
            counts = [f"{row[name]:,}" if name in row else "-" for name in ("entries", "unusable", "imported")]
            table.add_row(kind, model, *counts, f"{row['bytes'] / 1e6:.1f}", *map(_date, row["dates"]))
    if table.row_count:
        Console().print(table)
    for folder in empty:
        print(f"{folder}: no entries")


def _models(kind: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Model -> counts, bytes and dates of its entries."""
    rows: dict[str, dict[str, Any]] = {}

    def count(model: str, created: float, size: int) -> dict[str, Any]:
        row = rows.setdefault(model, {"entries": 0, "bytes": 0, "dates": []})
        row["entries"] += 1
        row["bytes"] += size
        row["dates"] = [min([*row["dates"], created]), max([*row["dates"], created])]
        return row

    with opened(kind, folder) as cache:
        for entry in cache:
            row = count(entry.model, entry.created, len(entry.to_json().encode("utf-8", "surrogatepass")))
            row["imported"] = row.get("imported", 0) + (imported(entry) is not None)
            if kind == "judge":
                row["unusable"] = row.get("unusable", 0) + (entry.unusable is not None)
    return rows


def imported(entry: Any) -> str | None:
    """The file that an entry came from, or None."""
    return entry.meta.get(IMPORTED) if isinstance(entry, Entry) else entry.imported


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
        check_model(_models(kind, folder), model)
    removed: set[str] = set()  # keys: what stands twice is one entry
    with _errors(), hold(folder, "prune", "pruning", "wait for it"):
        for path in cache_files.files(folder):
            claim = cache_files.claim(path)
            if claim is None:
                print(f"{path.name}: left as it is, a running process appends to it")
                continue
            try:
                removed |= _rewrite(path, kind, goes, dry_run)
            finally:
                cache_files.give_up(path, claim)
    print(f"{folder}: {counted(len(removed), 'entry', 'entries')} {'would be ' if dry_run else ''}removed")


def _rewrite(path: Path, kind: str, goes: Callable[[Any], bool], dry_run: bool) -> set[str]:
    """Put what stays of a file into a new one, and remove the file; the keys of what went.

    The new one has a name of its own, so that whoever has read the old one sees that it is gone, and looks again.
    """
    kept = []
    gone = set()
    for start, line in cache_files.whole_lines(path):
        # facts stay
        entry = None if line.startswith(b'{"fact"') else _entry(path, start, line, kind)
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


def _entry(path: Path, start: int, line: bytes, kind: str) -> Any:
    read, held = _LINES[kind]
    try:
        return read(line)
    except ValueError as error:
        raise cache_files.broken(
            path, cache_files.line_number(path, start), line, error, held.cache, held.redone
        ) from error


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except CacheError as error:
        raise Failure(str(error)) from error


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Any]:
    """A cache of a kind, to iterate over, to `get` from and to `put` into.

    Raises:
        Failure: it can't be read or written.
    """
    with _errors(), _cache(kind, folder) as cache:
        yield cache


def _cache(kind: str, folder: Path) -> ReplyCache | FeatureCache:
    return ReplyCache(folder, IMPORTED) if kind == "judge" else FeatureCache(folder, IMPORTED, strict=True)


def check_model(models: Iterable[str], model: str) -> None:
    """UsageError for a model of which nothing is kept."""
    known = sorted(set(models))
    if model not in known:
        raise UsageError(f"--model: expected one of {', '.join(known) or 'none: the cache is empty'}; got {model!r}")


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=timezone.utc).strftime("%Y-%m-%d")


def counted(count: int, one: str, several: str) -> str:
    """A number with the word for so many."""
    return f"{count:,} {one if count == 1 else several}"
