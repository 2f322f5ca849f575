"""Where the rows of earlier runs are: in a predictions file and the journals beside it, one a record that counts.

An answer outweighs a failure, and of two failures the later one stays; a row whose image is gone is none. Only places
are held in memory.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from typing import NamedTuple

from medgen_metrics.sources.jsonl import BadLine
from medgen_metrics.sources.jsonl import parse_line
from medgen_metrics.sources.jsonl import raw_lines

from ..jsonl import Findings

Row = dict[str, Any]


class Place(NamedTuple):
    """Where a row is, and what is needed of it to know whether there is work left."""

    file: Path
    offset: int
    length: int
    failed: bool
    attempts: int


class FoundRows:
    """The rows of files, by record.

    Args:
        folder: that images are named from.

    Attributes:
        places: record id -> its row.
        drafts: record id -> what a first model gave for it.
    """

    def __init__(self, folder: Path) -> None:
        self.places: dict[str, Place] = {}
        self.drafts: dict[str, Place] = {}
        self._folder = folder

    def add(self, path: Path, *, is_whole: bool, is_ours: bool) -> None:
        """Note the rows of a file.

        Args:
            path: the file.
            is_whole: whether it was written in one, and no line of it can be torn.
            is_ours: whether no other run appends to it; a torn last line is then cut off, so that nothing is appended
                to it.

        Raises:
            UsageError: lines that are no rows; all are named.
        """
        findings = Findings(path, "an earlier run's predictions; delete the file to start anew")
        offset, torn = 0, False
        with path.open("rb") as file:
            for number, (line, length) in enumerate(raw_lines(file), start=1):
                if not line.endswith(b"\n") and not is_whole:
                    # torn by a kill, or another shard is writing it at this moment
                    torn = True
                    break
                try:
                    row = parse_line(line, length)
                    if row is not None and not isinstance(row.get("id"), str):
                        raise BadLine("expected a row with an id")
                    if row is not None:
                        self._note(row, path, offset, length)
                except BadLine as error:
                    findings.add(number, str(error))
                offset += length
        findings.raise_if_any()
        if torn and is_ours:
            with path.open("r+b") as file:
                file.truncate(offset)

    def _note(self, row: Mapping[str, Any], path: Path, offset: int, length: int) -> None:
        record_id = row["id"]
        error = row.get("error")
        attempts = error.get("attempts", 1) if isinstance(error, Mapping) else 0
        image = row.get("image")
        failed = error is not None
        place = Place(path, offset, length, failed, attempts if isinstance(attempts, int) else 1)
        if "draft" in row:
            self.drafts[record_id] = place
            return
        if not failed and isinstance(image, str) and not (self._folder / image).is_file():
            return
        before = self.places.get(record_id)
        if before is None or before.failed or not failed:
            self.places[record_id] = place


def line_at(place: Place) -> bytes:
    """A row as it is written, its newline included."""
    with place.file.open("rb") as file:
        file.seek(place.offset)
        return file.read(place.length).rstrip(b"\r\n") + b"\n"


def row_at(place: Place) -> Row:
    """A row."""
    row: Row = json.loads(line_at(place))
    return row
