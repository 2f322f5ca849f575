"""Which record a prediction row belongs to: a ladder of three rungs, each of them exact, ambiguity an error.

1. `id`: ours, also where a row calls it `sample_id`. 2. `sample_id`: the public evaluator's, which is a record's
`release_id`. 3. `instruction`: the instruction with the digests of the input images.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Any

from medgen_metrics.sources import prepared
from medgen_metrics.sources.common import config_of_format
from medgen_metrics.sources.common import metadata_ids

from .image_roots import ImageRoots
from .image_roots import PathRefused
from .image_source import EmbeddedImage
from .jsonl import shorten
from .records import Records

RUNGS = ("id", "sample_id", "instruction")

# tableiv:<Format>:<task>:<line>, medgen:<Format>:<task>:<line> and medgen:<config>:<shard>:<row>: one prefix is as good
# as the other, and numbers are padded differently.
_SAMPLE_ID = re.compile(r"(?:tableiv|medgen):([^:]+):(.+):(\d{1,12})\Z")
# The prepared view names image files by the SHA-256 of their content.
_CONTENT_NAME = re.compile(r"[0-9a-f]{64}\Z")


class Unjoined(Exception):
    """A row that belongs to no record, or to several; the message says what was looked for and what to do."""


class OtherConfig(Unjoined):
    """A row of another config; what to do about it depends on the rows beside it.

    Attributes:
        config: the row's.
    """

    def __init__(self, message: str, config: str) -> None:
        super().__init__(f"{message}; give --config {config}")
        self.problem = message
        self.config = config


def sample_key(sample_id: str) -> tuple[str, str, int] | str:
    """A `sample_id` in a form in which its spellings are equal."""
    match = _SAMPLE_ID.match(sample_id)
    return (match[1].casefold(), match[2], int(match[3])) if match else sample_id


def category_config(row: Mapping[str, Any]) -> str | None:
    """The config that a public row's `category` (or `paper_format`) names, or None."""
    return config_of_format(row.get("category")) or config_of_format(row.get("paper_format"))


def id_config(record_id: str) -> str | None:
    """The config of the task that an id of ours begins with, or None."""
    import medgen_bench

    task = medgen_bench.TASKS.get(re.sub(r"-[0-9a-f]{12}(-\d+)?\Z", "", record_id))
    return None if task is None else task.config


class Ladder:
    """Joins rows to the records of one config."""

    def __init__(self, records: Records, roots: ImageRoots) -> None:
        self.records = records
        self.roots = roots

    def join(self, row: Mapping[str, Any], *, hints: bool = True) -> tuple[int, str]:
        """A row's record: position and the rung that found it.

        Args:
            row: one row of a predictions file.
            hints: look for near matches of an unknown id (slow).

        Raises:
            Unjoined: no record, or more than one.
        """
        config = category_config(row)
        if config is not None and config != self.records.config:
            raise OtherConfig(f"expected a row of config {self.records.config}, got one of {config}", config)
        record_id = row.get("id")
        if isinstance(record_id, str) and record_id in self.records.index:
            return self.records.index[record_id], "id"
        names = [
            name for name in (row.get("sample_id"), record_id, *metadata_ids(row)) if isinstance(name, str) and name
        ]
        for name in names:
            if name in self.records.index:
                return self.records.index[name], "id"
        for name in names:
            positions = self._by_sample_key.get(sample_key(name), [])
            if len(positions) > 1:
                raise Unjoined(f"sample_id {shorten(name)} names {len(positions)} records: {self._ids(positions)}")
            if positions:
                self._check_instruction(row, positions[0], name)
                return positions[0], "sample_id"
        if isinstance(row.get("instruction"), str):
            return self._by_instruction(row, names), "instruction"
        if not names:
            raise Unjoined("expected an id (or sample_id, or instruction and input_image), got none")
        named = id_config(names[0])
        if named is not None and named != self.records.config:
            raise OtherConfig(f"id {shorten(names[0])} is of config {named}, expected {self.records.config}", named)
        raise Unjoined(self._unknown(names[0], hints))

    @cached_property
    def _by_sample_key(self) -> dict[tuple[str, str, int] | str, list[int]]:
        positions = defaultdict(list)
        for position, release_id in enumerate(self.records.column("release_id")):
            positions[sample_key(release_id)].append(position)
        return dict(positions)

    @cached_property
    def _by_body(self) -> dict[str, list[int]]:
        positions = defaultdict(list)
        for position, instruction in enumerate(self.records.column("instruction")):
            positions[_body(instruction)].append(position)
        return dict(positions)

    def _check_instruction(self, row: Mapping[str, Any], position: int, name: str) -> None:
        """A sample_id counts lines, and lines move between releases: the instruction, where given, must agree."""
        given = row.get("instruction")
        expected = self.records.column("instruction")[position]
        if isinstance(given, str) and _body(given) != _body(expected):
            raise Unjoined(
                f"sample_id {shorten(name)} is record {self.records.ids[position]}, whose instruction is "
                f"{shorten(expected)}, but the row's is {shorten(given)}; it was made from another release"
            )

    def _by_instruction(self, row: Mapping[str, Any], names: list[str]) -> int:
        unknown = f"unknown id {shorten(names[0])}, and " if names else ""
        positions = self._by_body.get(_body(row["instruction"]), [])
        if not positions:
            raise Unjoined(
                f"{unknown}no record of {self._where} has the instruction {shorten(row['instruction'])}; "
                f"use ids from {self._source}"
            )
        digests = self._row_digests(row, unknown)
        matching = [position for position in positions if self.records.input_digests(position) == digests]
        if len(matching) > 1 and isinstance(row.get("choice"), list):
            choices = row["choice"]
            matching = [position for position in matching if list(self.records.column("choices")[position]) == choices]
        if not matching:
            raise Unjoined(
                f"{unknown}{len(positions)} records of {self._where} have its instruction, none its input image; "
                f"use ids from {self._source}"
            )
        if len(matching) > 1:
            raise Unjoined(
                f"{unknown}{len(matching)} records have its instruction and input image: {self._ids(matching)}; "
                "say which with id"
            )
        return matching[0]

    def _row_digests(self, row: Mapping[str, Any], unknown: str) -> tuple[str, ...]:
        if embedded := _embedded(row.get("input_images")) or _embedded(row.get("input_image")):
            return tuple(sha256(image.read_bytes()).hexdigest() for image in embedded)
        try:
            images = prepared.candidates(row)["input_images"]
        except ValueError as error:
            raise Unjoined(f"{unknown}{error}; or give the row an id") from None
        if not images:
            raise Unjoined(f"{unknown}expected input_image beside instruction, got none; give the row an id")
        return tuple(self._file_digest(names, unknown) for names in images)

    def _file_digest(self, names: Sequence[str], unknown: str) -> str:
        """Of the first of an image's possible names at which there is a file."""
        stem = PurePosixPath(names[0]).stem
        if _CONTENT_NAME.match(stem):
            return stem
        for name in names:
            try:
                file = self.roots.find(name)
            except PathRefused as refused:
                raise Unjoined(f"{unknown}input image {shorten(name)}: {refused}") from None
            if file is not None:
                return sha256(file.read_bytes()).hexdigest()
        raise Unjoined(
            f"{unknown}input image {shorten(names[0])} is not under {self.roots}; "
            "name the folder of the data with --image-root, or give the row an id"
        )

    def _unknown(self, name: str, hints: bool) -> str:
        known = self.records.ids if _SAMPLE_ID.match(name) is None else self.records.column("release_id")
        near = get_close_matches(name[:120], known, n=3, cutoff=0.7) if hints else []
        matches = f"; {len(near)} near match{'es' if len(near) > 1 else ''}: {', '.join(near)}" if near else ""
        return f"unknown id {shorten(name)} in {self._where}{matches}. Use ids from {self._source}"

    def _ids(self, positions: list[int]) -> str:
        shown = ", ".join(self.records.ids[position] for position in positions[:3])
        return shown + (", …" if len(positions) > 3 else "")

    @property
    def _where(self) -> str:
        return f"{self.records.config}, edition {self.records.edition}"

    @property
    def _source(self) -> str:
        edition = "" if self.records.edition == "paper" else f', edition="{self.records.edition}"'
        return f'load_dataset("medgen-bench", "{self.records.config}"{edition})'


def _embedded(value: Any) -> list[EmbeddedImage]:
    """The input images of a Parquet row, where all are embedded."""
    images = value if isinstance(value, list) else [value]
    return images if all(isinstance(image, EmbeddedImage) for image in images) else []


def _body(instruction: str) -> str:
    """The instruction as ids see it: without its options, white space folded."""
    import medgen_bench

    body, _ = medgen_bench.split_options(instruction)
    return " ".join(body.split())
