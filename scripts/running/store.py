"""The rows of a system's predictions on disk: one final row a record, whatever was stopped, killed or tried again.

Rows are appended to a journal as they come. At the end the file is written whole, in the data set's order, from the
file of before and all journals; an answer outweighs a failure, and of two failures the later one stays. Only where
rows lie is held in memory.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from filelock import FileLock
from filelock import Timeout

from medgen_metrics.serving.usage import Usage

from ..atomic import replacing
from ..atomic import write_bytes
from ..errors import Failure
from ..errors import UsageError
from ..jsonl import to_line
from ..lock import hold
from ..records import Records
from .found_rows import FoundRows
from .found_rows import Place
from .found_rows import Row
from .found_rows import line_at
from .found_rows import row_at
from .options import Shard

_PATIENCE = 600  # seconds to wait for other shards' merging


@dataclass(frozen=True, slots=True)
class Written:
    """What the file holds.

    Attributes:
        rows, failed: rows in all, and those with an error.
        first_failed: the first of these.
        digest: SHA-256 of the file, 64 hex digits.
        usage: what the rows say that their requests consumed.
        outside: rows that were left out, since the data has no such record.
    """

    rows: int
    failed: int
    first_failed: Row | None
    digest: str
    usage: Usage
    outside: int


class Store:
    """Predictions of one system and config.

    Args:
        folder: `out/predictions/<system>`.
        records: the config's.
        shard: the share that this run is over.
    """

    def __init__(self, folder: Path, records: Records, shard: Shard | None = None) -> None:
        self.folder = folder
        self.path = folder / f"{records.config}.jsonl"
        self.records = records
        self.config = records.config
        self._part = "" if shard is None else f"-{shard.number}-of-{shard.count}"
        self.journal = folder / f".{records.config}.journal{self._part}.jsonl"
        self._rows = FoundRows(folder)
        self._file: Any = None
        self._held: Any = None

    def hold(self) -> None:
        """Keep another run off this config (of a shard: off this shard).

        Raises:
            UsageError: another run is at work.
        """
        self._held = hold(self.folder, f"{self.config}{self._part}", f"producing {self.config} predictions")

    def release(self) -> None:
        """Let others work here."""
        if self._file is not None:
            self._file.close()
            self._file = None
        if self._held is not None:
            self._held.release()
            self._held = None

    def refuse_others(self, entry: Mapping[str, Any] | None) -> None:
        """Keep a run off a file that isn't a run's.

        Args:
            entry: what the manifest says of the config.

        Raises:
            UsageError: there is a file, and the manifest knows nothing of it.
        """
        if entry is None and self.path.exists():
            raise UsageError(f"{self.path}: not written by `medgen-bench run`; give another --out, or move it away")

    def read(self) -> None:
        """Find the rows of earlier runs.

        Raises:
            UsageError: lines that are no rows; all are named.
        """
        self._rows = FoundRows(self.folder)
        for path in (self.path, *self._journals()):
            if path.is_file():
                self._rows.add(path, is_whole=path == self.path, is_ours=path == self.journal)

    def set_aside(self) -> Path | None:
        """Move the rows of earlier runs, with their images, to a folder of their own, so that a run starts anew.

        Returns:
            Where the file is now; None where there were no rows.
        """
        self.read()
        moved = None
        if self._rows.places:
            self.finish()
            number = next(n for n in count(1) if not (self.folder / f"before-{n}" / self.path.name).exists())
            target = self.folder / f"before-{number}"
            (target / "images").mkdir(parents=True, exist_ok=True)
            for record_id in self._rows.places:
                image = self.row(record_id).get("image")
                if isinstance(image, str) and (self.folder / image).is_file():
                    (self.folder / image).rename(target / image)
            moved = target / self.path.name
            self.path.rename(moved)
        self.clear()
        return moved

    def clear(self) -> None:
        """Remove what earlier runs wrote."""
        for path in (self.path, *self._journals()):
            path.unlink(missing_ok=True)
        self._rows = FoundRows(self.folder)

    def earlier(self, record_id: str) -> Place | None:
        """Where a record's row is, if there is one."""
        return self._rows.places.get(record_id)

    def row(self, record_id: str) -> Row:
        """Read a record's row."""
        return row_at(self._rows.places[record_id])

    def draft(self, record_id: str) -> dict[str, Any] | None:
        """What a first model gave for a record whose second one has not answered yet."""
        place = self._rows.drafts.get(record_id)
        return None if place is None else row_at(place)["draft"]

    @property
    def is_whole(self) -> bool:
        """Whether the file holds all rows there are: a run may have been killed before it was written."""
        return self.path.is_file() and all(place.file == self.path for place in self._rows.places.values())

    @property
    def has_any(self) -> bool:
        """Whether there are rows or drafts of earlier runs."""
        return bool(self._rows.places or self._rows.drafts)

    @property
    def outside(self) -> int:
        """Rows of records that the data doesn't hold."""
        return sum(record_id not in self.records.index for record_id in self._rows.places)

    def open(self) -> None:
        """Open the journal.

        Raises:
            Failure: it can't be written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Unbuffered: a row is out of this process once it is written.
            self._file = self.journal.open("ab", buffering=0)
        except OSError as error:
            raise Failure(f"{self.journal}: can't be written: {error.strerror}; give another --out") from error

    def add(self, row: Row) -> None:
        """Append a record's row, or its draft.

        Raises:
            Failure: it can't be written.
        """
        try:
            self._file.write(to_line(row))
        except OSError as error:
            raise Failure(
                f"{self.journal}: can't be written: {error.strerror}; make room and run again to continue"
            ) from error

    def add_image(self, record_id: str, png: bytes) -> str:
        """Write a record's image; call it before the row that names it is added.

        Returns:
            Its name in the row.
        """
        name = f"images/{record_id}.png"
        write_bytes(self.folder / name, png)
        return name

    def finish(self) -> Written:
        """Write the file from all rows there are.

        Raises:
            Failure: it can't be written.
        """
        if self._file is not None:
            self._file.close()
            self._file = None
        try:
            # Other shards may end at this moment.
            with FileLock(self.folder / f".{self.config}.merge.lock", timeout=_PATIENCE):
                self.read()
                written = self._write()
                self._tidy()
                self.read()
        except Timeout as error:
            raise Failure(f"{self.path}: another run holds it for {_PATIENCE} s now; run again to finish") from error
        return written

    def _write(self) -> Written:
        sha, usage = hashlib.sha256(), Usage()
        failed, first = 0, None
        ordered = [record_id for record_id in self.records.ids if record_id in self._rows.places]
        with replacing(self.path) as file:
            for record_id in ordered:
                place = self._rows.places[record_id]
                line = line_at(place)
                row = json.loads(line)
                usage = usage + _usage(row)
                if place.failed:
                    failed += 1
                    first = first or row
                sha.update(line)
                file.write(line)
        return Written(len(ordered), failed, first, sha.hexdigest(), usage, len(self._rows.places) - len(ordered))

    def _tidy(self) -> None:
        """Remove what the file now holds; drafts without a row stay in this run's journal."""
        lines = [line_at(place) for record_id, place in self._rows.drafts.items() if record_id not in self._rows.places]
        for path in self._journals():
            if path != self.journal and not self._is_idle(path):
                continue
            path.unlink(missing_ok=True)
        if lines:
            write_bytes(self.journal, b"".join(lines))

    def _is_idle(self, journal: Path) -> bool:
        """Whether no run appends to a journal any more."""
        part = journal.name.removeprefix(f".{self.config}.journal").removesuffix(".jsonl")
        lock = FileLock(self.folder / f".{self.config}{part}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            return False
        lock.release()
        return True

    def _journals(self) -> list[Path]:
        return sorted(self.folder.glob(f".{self.config}.journal*.jsonl"))


def _usage(row: Mapping[str, Any]) -> Usage:
    told = (row.get("meta") or {}).get("usage")
    return Usage.read(told) if isinstance(told, Mapping) else Usage()
