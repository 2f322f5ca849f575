"""What both JSONL layouts share: the config that a row names, its images as bytes, its texts, checked one by one."""

import re
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .answers import flatten
from .jsonl import shorten
from .paths import allowed_roots
from .paths import find_file

# A format has one name as a folder and as `paper_format`, another as `category`; hyphens and case don't matter.
_FORMATS = {
    "vqa": "vqa",
    "imageedit": "edit",
    "imageediting": "edit",
    "mmgeneration": "gen",
    "multimodalgeneration": "gen",
}


def config_of_format(name: object) -> str | None:
    """The config that a format's name means, or None."""
    return _FORMATS.get(re.sub(r"[-_ ]", "", name).casefold()) if isinstance(name, str) else None


def names(value: object, column: str) -> list[str]:
    """Image paths in a column that holds a list, one path or nothing; ValueError for anything else."""
    listed = [] if value is None or value == "" else [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(name, str) and name for name in listed):
        raise ValueError(f"{column}: expected a list of relative paths, got {shorten(value)}")
    return listed


def metadata_ids(row: Mapping[str, Any]) -> list[Any]:
    """What `metadata` names a row by, the first that counts first."""
    metadata = row.get("metadata")
    return [metadata.get(name) for name in ("sample_id", "unique_id")] if isinstance(metadata, dict) else []


def read_images(candidates: Sequence[Sequence[str]], column: str, place: Path, root: Path) -> list[dict[str, Any]]:
    """The bytes of a row's images.

    Args:
        candidates: for each image, the names under which to look for it, in order.
        column: for messages.
        place: folder that the names are relative to.
        root: folder of the data set, out of which no link may lead.

    Raises:
        ValueError: a path that is refused, a file that is missing or empty.
    """
    allowed = allowed_roots(root)
    images = []
    for choice in candidates:
        found = None
        for name in choice:
            try:
                found = find_file(name, [place], allowed, "write it relative to its JSONL file", "copy the file there")
            except ValueError as error:
                raise ValueError(f"{column} {shorten(name, 100)}: {error}") from None
            if found is not None:
                break
        if found is None:
            raise ValueError(f"{column} {shorten(choice[0], 100)}: no such file in {place}; restore or download it")
        if not (data := found.read_bytes()):
            raise ValueError(f"{column} {shorten(choice[0], 100)}: an empty file; restore or download it again")
        images.append({"bytes": data, "path": None})
    return images


def texts(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row that are no images, under the names that the Parquet release gives them.

    `task` may be generic; `sub_category` and `subtask` are then to be asked. `subtask` is the paper's: where the stored
    taxonomy was another, it is null, and `observed_subtask` isn't taken for it. `choices` is None where the row has no
    list of options.

    Raises:
        ValueError: a column that holds something else than it should.
    """
    columns = {
        "instruction": _string(row, "instruction", required=True),
        "task": _string(row, "paper_task"),
        "sub_category": _string(row, "sub-category"),
        "subtask": _string(row, "paper_subtask"),
        "modality": _string(row, "modality"),
    }
    choices, answer, source = row.get("choice"), row.get("answer"), row.get("source")
    if choices is not None and not (isinstance(choices, list) and all(isinstance(option, str) for option in choices)):
        raise ValueError(f"choice: expected a list of strings, got {shorten(choices)}")
    if answer is not None and not isinstance(answer, str | dict):
        raise ValueError(f"answer: expected a string or an object of sections, got {shorten(answer)}")
    columns["answer"] = flatten(answer) if isinstance(answer, dict) else answer
    encodable("answer", columns["answer"])
    for option in choices or ():
        encodable("choice", option)
    # A file's name and row, as an object, is what the view of the Parquet release has here.
    return {**columns, "choices": choices or None, "source": source if isinstance(source, str) and source else None}


def _string(row: Mapping[str, Any], name: str, *, required: bool = False) -> str | None:
    value = row.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise ValueError(f"{name}: expected a string, got {shorten(value) if name in row else 'none'}")
    encodable(name, value)
    return value


def encodable(name: str, value: str | None) -> None:
    """ValueError for a text that can't be stored as UTF-8; JSON may spell half a character."""
    if value is not None and not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise ValueError(f"{name}: expected text, got a lone surrogate in {shorten(value)}; replace it")
