"""JSONL: reading what anyone may have written (every line is accounted for, bad ones are findings), and writing it."""

import hashlib
import json
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from medgen_metrics.sources.jsonl import MAX_LINE as MAX_LINE
from medgen_metrics.sources.jsonl import BadLine
from medgen_metrics.sources.jsonl import parse_line
from medgen_metrics.sources.jsonl import raw_lines
from medgen_metrics.sources.jsonl import shorten

from .errors import UsageError
from .remote_path import AnyPath

SHOWN = 20  # findings spelled out in one error

Place = int | str
"""Where a row stands: a number from 1 in a file, `file:number` in a folder of files."""


@dataclass(slots=True)
class Findings:
    """Bad rows, collected so that one run names them all.

    Attributes:
        path: the file, for messages.
        what: what is being read, e.g. "predictions".
    """

    path: AnyPath
    what: str
    first: list[str] = field(default_factory=list)
    count: int = 0

    def add(self, line: Place | None, message: str) -> None:
        """Note a bad row; the first `SHOWN` are kept in words, the rest are counted."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(f"{self.where(line)}: {message}")

    def where(self, line: Place | None) -> str:
        """A row's place in words, None the whole file's."""
        if line is None:
            return self.path.name
        return f"{self.path.name}{'/' if isinstance(line, str) else ':'}{line}"

    @property
    def full(self) -> bool:
        """Whether further findings are only counted, so that costly hints can be left out."""
        return len(self.first) >= SHOWN

    def raise_if_any(self) -> None:
        """Raise one `UsageError` that holds every finding."""
        if self.count:
            rows = "1 bad row" if self.count == 1 else f"{self.count} bad rows"
            rest = [] if self.count <= SHOWN else [f"… and {self.count - SHOWN} more"]
            raise UsageError("\n".join([f"{self.path}: {rows} in {self.what}", *self.first, *rest]))


@dataclass(slots=True)
class JsonLines:
    """The rows of one file, and what was noticed on the way.

    Attributes:
        notices: things that were passed over and must be said (a torn last line, replaced surrogates).
        digest: SHA-256 of the file's bytes, 64 hex digits; set once all rows were read.
    """

    path: AnyPath
    findings: Findings
    notices: list[str] = field(default_factory=list)
    digest: str = ""
    unit = "line"
    expected = "one JSON object a line"

    def __iter__(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield line number (from 1) and object; bad lines go to `findings`."""
        sha = hashlib.sha256()
        surrogates = 0
        try:
            with self.path.open("rb") as file:
                for number, (line, length) in enumerate(raw_lines(file, sha), start=1):
                    row = self._parse(number, line, length)
                    if row is not None:
                        row, replaced = _without_surrogates(row)
                        surrogates += replaced
                        yield number, row
        except OSError as error:
            raise UsageError(f"{self.path}: can't be read: {error.strerror}") from error
        if surrogates:
            self.notices.append(f"{self.path}: {surrogates} lone surrogates in strings replaced by U+FFFD")
        self.digest = sha.hexdigest()

    def _parse(self, number: int, line: bytes, length: int) -> Mapping[str, Any] | None:
        if number == 1 and line[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise UsageError(f"{self.path}: expected UTF-8, got a UTF-16 byte order mark; save the file as UTF-8")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        try:
            return parse_line(line, length)
        except BadLine as error:
            if line.endswith(b"\n") or length > MAX_LINE or not error.broken:
                self.findings.add(number, str(error))
            else:
                got = shorten(line[:240].decode("utf-8", "replace"))
                self.notices.append(f"{self.path}:{number}: the last line is torn and was dropped: {got}")
            return None


def _without_surrogates(value: Any) -> tuple[Any, int]:
    """The value with lone surrogates, which can't be encoded, replaced by U+FFFD; and how many there were."""
    if isinstance(value, str):
        if value.isascii():
            return value, 0
        replaced = sum("\ud800" <= character <= "\udfff" for character in value)
        if not replaced:
            return value, 0
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in value), replaced
    if isinstance(value, list):
        pairs = [_without_surrogates(item) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        keys = [_without_surrogates(key) for key in value]
        values = [_without_surrogates(item) for item in value.values()]
        row = {key: item for (key, _), (item, _) in zip(keys, values, strict=True)}
        return row, sum(count for _, count in [*keys, *values])
    return value, 0


def to_line(row: Mapping[str, Any]) -> bytes:
    """A row as one line of strict JSON (no NaN) with its newline."""
    line = json.dumps(row, ensure_ascii=False, allow_nan=False)
    try:
        return line.encode("utf-8") + b"\n"
    except UnicodeEncodeError:  # a lone surrogate in a model's text: escaped, it can be written
        return json.dumps(row, allow_nan=False).encode("ascii") + b"\n"
