"""Entries of the cache of replies, and a disk that is full."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.judge.entry import UNUSABLE
from medgen_metrics.judge.entry import Entry
from medgen_metrics.judge.entry import asked
from medgen_metrics.judge.entry import key_of

PARTS = {
    "model": "judge-8b",
    "mode": "json_schema",
    "params": {"temperature": 0.0, "seed": 0},
    "rubric_digest": "ab",
    "schema_digest": "cd",
    "sample": 0,
}


def entry(number: int, text: str = "five", *, created: float = 1000.0, unusable: str | None = None) -> Entry:
    what = asked([{"role": "user", "content": number}], **PARTS)
    return Entry(
        key=key_of(what),
        asked=what,
        text=text,
        finish_reason="stop",
        usage={"requests": 1},
        model="judge-8b",
        fingerprint=None,
        mode="json_schema",
        endpoint="gpu7:8000",
        created=created,
        meta={} if unusable is None else {UNUSABLE: unusable},
    )


def filled(folder: Path, *entries: Entry) -> Path:
    """Entries in a file of their own."""
    with ReplyCache(folder) as cache:
        for item in entries:
            cache.put(item.key, item)
    return folder


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """No file grows beyond `size` bytes; the write that meets the limit is cut short, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
