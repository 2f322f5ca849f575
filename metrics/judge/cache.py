"""The reply cache: what a judge answered, by the digest of all that determines the answer.

A folder of append-only JSONL files (`medgen_metrics.cache_lines`), of which memory holds some 0.3 kB an entry whatever
the replies' length.

A line is never changed. Where a key stands twice, a usable reply is taken before an unusable one, then the earlier
one: every process and every later run sees the same.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any
from typing import NamedTuple

from ..cache_files import KEY_DIGITS
from ..cache_files import CacheError as CacheError
from ..cache_files import is_key
from ..cache_lines import CacheLines
from .entry import UNUSABLE
from .entry import Entry as Entry
from .entry import check

logger = logging.getLogger(__name__)


class _Place(NamedTuple):
    """Where an entry is; of two under one key the smaller counts."""

    unusable: bool
    created: float
    file: str
    start: int


@dataclass(slots=True)
class _Flight:
    """A request on its way, and how many wait for it."""

    task: "asyncio.Task[Entry]"
    waiting: int = 0


class ReplyCache(CacheLines):
    """Replies in a folder.

    Args:
        folder: made at the first `put`; one that isn't there is an empty cache.
        writer: begins the name of this process's file, for whoever looks into the folder.
        notice: told of torn last lines; default a warning of this module's logger.

    Raises:
        CacheError: a line that is not the last of its file is broken, or a file can't be read.
    """

    cache = "reply cache"
    holds = "replies"
    redone = "its replies are asked for again"

    def __init__(self, folder: Path, writer: str = "replies", *, notice: Callable[[str], None] | None = None) -> None:
        self._places: dict[bytes, _Place] = {}
        self._facts: dict[str, tuple[float, Any]] = {}
        self._flights: dict[str, _Flight] = {}
        super().__init__(folder, writer, notice=notice or logger.warning)

    # --- reading ----------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._places.clear()
        self._facts.clear()

    def _index(self, name: str, start: int, row: dict[str, Any]) -> None:
        if "fact" in row:
            told = (float(row["created"]), row["value"])
            if row["fact"] not in self._facts or told[0] >= self._facts[row["fact"]][0]:
                self._facts[row["fact"]] = told
            return
        place = _Place(row["meta"].get(UNUSABLE) is not None, float(row["created"]), name, start)
        digits = _digits(row["key"])
        self._places[digits] = min(place, self._places.get(digits, place))

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return _digits(key) in self._places

    def has_usable(self, key: str) -> bool:
        """Whether there is an entry under a key that gave a verdict."""
        place = self._places.get(_digits(key))
        return place is not None and not place.unusable

    def __iter__(self) -> Iterator[Entry]:
        """Each entry that counts, in the order of keys."""
        for digits in sorted(self._places):
            entry = self.get(digits.hex())
            if entry is not None:
                yield entry

    def get(self, key: str) -> Entry | None:
        """The entry under a key, or None.

        Raises:
            CacheError: it can't be read any more, or was changed since it was written.
        """
        digits = _digits(key)

        def place() -> tuple[str, int] | None:
            known = self._places.get(digits)
            return None if known is None else (known.file, known.start)

        return self._found(place, partial(_entry, key))

    # --- writing ----------------------------------------------------------------------------------------------------

    def put(self, key: str, entry: Entry) -> None:
        """Keep an entry; it is with the operating system when this returns.

        Raises:
            ValueError: the key isn't the entry's, or the entry isn't JSON.
            CacheError: the folder can't be written or the disk is full; all earlier entries are kept.
        """
        if key != entry.key:
            raise ValueError(f"key: expected the entry's, {entry.key}, got {key}")
        check({name: getattr(entry, name) for name in Entry.__dataclass_fields__})
        self._write(entry.to_json())

    @property
    def facts(self) -> Mapping[str, Any]:
        """Small notes beside the replies, e.g. which reply format a server can; the latest a name."""
        with self._lock:
            return MappingProxyType({name: value for name, (_, value) in self._facts.items()})

    def note(self, fact: str, value: Any) -> None:
        """Keep a fact, any JSON. Its name is written as it is: no credentials.

        Raises:
            CacheError: as `put`.
        """
        row = {"fact": fact, "created": time.time(), "value": value}
        self._write(json.dumps(row, ensure_ascii=False, allow_nan=False))

    # --- asking once ------------------------------------------------------------------------------------------------

    async def get_or_ask(self, key: str, ask: Callable[[], Awaitable[Entry]], *, usable: bool = False) -> Entry:
        """The entry under a key; else what `ask` gives, which is kept.

        Identical requests of one event loop that are in flight at once are sent once. The request goes on while
        anyone waits for it, so whoever is cancelled takes it from nobody; once nobody waits it is cancelled.

        Args:
            key: see `entry.key_of`.
            ask: sends the request; called once however many ask.
            usable: an entry that gave no verdict doesn't count: it is asked for again.

        Raises:
            CacheError: as `get` and `put`.
            Exception: whatever `ask` raises, to each who waits; nothing is kept.
        """
        flight = self._flights.get(key)
        if flight is None:
            entry = self.get(key)
            if entry is not None and not (usable and entry.unusable):
                return entry
            flight = self._flights[key] = _Flight(asyncio.ensure_future(self._ask(key, ask)))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                if self._flights.get(key) is flight:
                    del self._flights[key]
                flight.task.cancel()

    async def _ask(self, key: str, ask: Callable[[], Awaitable[Entry]]) -> Entry:
        entry = await ask()
        self.put(key, entry)
        return entry


def _entry(key: str, line: bytes) -> Entry:
    entry = Entry.from_json(line)
    if entry.key != key:
        raise ValueError(f"another key, {entry.key}")
    return entry


def _digits(key: str) -> bytes:
    """A key as the index holds it.

    Raises:
        ValueError: no key.
    """
    if not is_key(key):
        raise ValueError(f"key: expected {KEY_DIGITS} hex digits, as `entry.key_of` gives, got {str(key)[:40]!r}")
    return bytes.fromhex(key)
