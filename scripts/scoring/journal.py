"""The score journal: append-only files of one line a (record, tier, view, sample), read as a union by key.

Each process appends to a file of its own that no other process ever opens for writing, so a kill at any moment can
tear the last line of a file and nothing else. A line is used only under its key, which names everything that
determines the score (record, what was scored, the reference, the metric's definition); so a line can never be stale,
and a line that stands twice counts once.
"""

import json
import math
import os
import secrets
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from sys import intern
from types import TracebackType
from typing import Any

from medgen_metrics.failures import REASONS
from medgen_metrics.rows import Row
from medgen_metrics.signature import digest

from ..errors import Failure

_REASONS = frozenset(REASONS)
_strict = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class Line:
    """A journal line: which record and tier, under which key, with what row."""

    id: str
    key: str
    tier: str
    row: Row
    signature: str
    view: str | None = None
    sample: int = 0

    def to_json(self) -> str:
        """One line of strict JSON, without its newline."""
        return _strict(
            {
                "id": self.id,
                "key": self.key,
                "tier": self.tier,
                "view": self.view,
                "sample": self.sample,
                "values": dict(self.row.values),
                "reasons": dict(self.row.reasons),
                "flags": list(self.row.flags),
                "signature": self.signature,
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> "Line":
        """Parse and check a line.

        Raises:
            ValueError: no JSON, or not a journal line.
        """
        try:
            # Of bytes the parser would guess the encoding first.
            data = json.loads(text if isinstance(text, str) else text.decode("utf-8", "surrogatepass"))
            # What all lines share is kept once: of 100,000 lines it would be most of the memory.
            flags = tuple(intern(str(flag)) for flag in data["flags"])
            return cls(
                id=str(data["id"]),
                key=str(data["key"]),
                tier=intern(str(data["tier"])),
                row=Row(_values(data["values"]), _reasons(data["reasons"]), flags),
                signature=intern(str(data["signature"])),
                view=data["view"],
                sample=int(data["sample"]),
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"not a score line: {error!r}") from error


def _values(data: Mapping[str, Any]) -> dict[str, float]:
    values = {intern(name): float(value) for name, value in data.items()}
    if not all(map(math.isfinite, values.values())):
        raise ValueError("a score is not finite")
    return values


def _reasons(data: Mapping[str, Any]) -> dict[str, str]:
    if not _REASONS.issuperset(data.values()):
        raise ValueError(f"unknown reasons {sorted(set(data.values()) - _REASONS)}")
    return {intern(name): intern(reason) for name, reason in data.items()}


def row_key(record_id: str, tier: str, candidate: str, reference: str, definition: str) -> str:
    """The key of a score: digests of all that determines it (DESIGN section 4)."""
    return digest([record_id, tier, candidate, reference, definition])


def read(folder: Path, config: str, *, notice: Callable[[str], None]) -> dict[str, Line]:
    """All scores of one system and config, by key.

    Args:
        folder: `out/scores/<system>`.
        config: `vqa`, `edit` or `gen`.
        notice: told of a torn last line, which is dropped: its score is computed again.

    Raises:
        Failure: a line that is not the last of its file is broken, which no kill can do, or a file can't be read.
    """
    lines: dict[str, Line] = {}
    for line in stream(folder, config, notice=notice):
        # A judge that failed may have been asked again: the verdict counts, in whichever file it stands.
        if line.key not in lines or len(line.row.reasons) < len(lines[line.key].row.reasons):
            lines[line.key] = line
    return lines


def stream(folder: Path, config: str, *, notice: Callable[[str], None]) -> Iterator[Line]:
    """Every line of one system and config, file by file, as it is read; arguments and errors as of `read`."""
    for path in sorted(folder.glob(f"{config}.*.jsonl")):
        try:
            yield from _lines(path, notice)
        except OSError as error:  # noqa: PERF203 - once a file
            raise Failure(f"{path}: expected a file of scores, got: {error.strerror}; move it away") from error


def _lines(path: Path, notice: Callable[[str], None]) -> Iterator[Line]:
    number = 0
    pending: tuple[int, str] | None = None
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            if pending is not None:
                raise Failure(
                    f"{path}:{pending[0]}: expected a score line, got {pending[1]}; "
                    f"something else wrote to this file. Delete the file: its scores are computed again."
                )
            if not text.endswith(b"\n"):
                # Where a process that counts as gone writes on, its rest may stand there by now.
                pending = (number, "an incomplete line")
                break
            try:
                yield Line.from_json(text)
            except ValueError as error:
                pending = (number, f"{text[:60]!r} ({error})")
    if pending is not None:
        notice(f"{path}:{number}: dropped a torn last line, left by a run that was killed; its score is computed again")


def unsaid(message: str) -> None:
    """A `notice` for processes that leave telling to the main one."""


class Writer:
    """Appends lines to a file of this process alone; `close` or a `with` block ends it.

    The file is made at the first line, so that a run with nothing to do leaves nothing behind.
    """

    def __init__(self, folder: Path, config: str, rank: int) -> None:
        self._stem = folder / f"{config}.{secrets.token_hex(6)}-{rank}.jsonl"
        self._descriptor: int | None = None

    def append(self, lines: list[Line]) -> None:
        """Write lines in one call, so that they are out of this process when it returns.

        Raises:
            Failure: the disk is full or can't be written.
        """
        data = "".join(line.to_json() + "\n" for line in lines).encode("utf-8", "surrogatepass")
        try:
            if self._descriptor is None:
                self._stem.parent.mkdir(parents=True, exist_ok=True)
                # O_EXCL: never another process's file, whatever the clock or the random numbers say.
                self._descriptor = os.open(self._stem, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError as error:
            raise Failure(
                f"{self._stem}: scores can't be written: {error.strerror}. What is written is kept; "
                f"make room and run the same command again to continue."
            ) from error

    def close(self) -> None:
        """Close the file, if one was made."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> "Writer":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
