"""The public evaluator's prepared view: `vqa.jsonl`, `edit.jsonl` and `gen.jsonl`, with paths relative to their folder.

Versions of it: before the Parquet release images lie behind the link `source`, and several input images of a question
are shown as one contact sheet; since then, images are files of the view, named by their content.
"""

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any

from .common import encodable
from .common import names
from .common import read_images
from .common import texts
from .jsonl import BadLine
from .jsonl import read_piece
from .jsonl import shorten

FILES = {f"{config}.jsonl": config for config in ("vqa", "edit", "gen")}
_SHEETS = "vqa_contact_sheets"


def is_data(path: Path) -> bool:
    """Whether a file of a prepared view's name holds records, and not, for instance, a system's outputs."""
    if not path.is_file():
        return False
    rows = list(islice(read_piece(path), 20))
    for _, row in rows:
        if not isinstance(row, BadLine):
            return "response" not in row and "instruction" in row and bool({"input_images", "input_image"} & row.keys())
    return bool(rows) and (path.parent / "adapter_manifest.json").is_file()


def candidates(row: Mapping[str, Any]) -> dict[str, list[tuple[str, ...]]]:
    """The names under which to look for a row's images, by column, relative to the view's folder.

    A contact sheet is passed over for the images that it shows.

    Raises:
        ValueError: a contact sheet of unnamed images, or something else than paths.
    """
    adapter = row.get("eval_adapter")
    adapter = adapter if isinstance(adapter, dict) else {}
    inputs = names(row.get("input_images"), "input_images") or names(row.get("input_image"), "input_image")
    if any(_SHEETS in PurePosixPath(name).parts for name in inputs):
        originals = names(adapter.get("original_input_image"), "eval_adapter.original_input_image")
        if not originals:
            raise ValueError(
                f"input_image {shorten(inputs[0], 100)}: a contact sheet, whose images "
                "eval_adapter.original_input_image should name; prepare the view again"
            )
        found = [_places(name, row, adapter)[::-1] for name in originals]
    else:
        found = [_places(name, row, adapter) for name in inputs]
    outputs = names(row.get("ground_truth_images"), "ground_truth_images")
    outputs = outputs or names(row.get("ground_truth_image"), "ground_truth_image")
    return {
        "input_images": found,
        "output_images": [_places(name, row, adapter) for name in outputs],
    }


def shows_sheet(row: Mapping[str, Any]) -> bool:
    """Whether a row of the view, or one that a system's outputs were added to, shows its input images as one sheet."""
    adapter = row.get("eval_adapter")
    if isinstance(adapter, Mapping) and adapter.get("input_strategy") == "labeled_contact_sheet":
        return True
    shown = row.get("input_image")
    return isinstance(shown, str) and _SHEETS in PurePosixPath(shown).parts


def _places(name: str, row: Mapping[str, Any], adapter: Mapping[str, Any]) -> tuple[str, ...]:
    """A name as it is, then as one relative to the file that the row was made from, at last behind `source`."""
    if PurePosixPath(name).parts[:1] == ("source",):
        return (name,)
    origin = adapter.get("source_data_jsonl")
    folders = [str(PurePosixPath(origin.removeprefix("source/")).parent)] if isinstance(origin, str) else []
    folders += [f"{row['paper_format']}/{row['paper_task']}"] if {"paper_format", "paper_task"} <= row.keys() else []
    below = [str(PurePosixPath(top, folder, name)) for folder in folders for top in ("", "source")]
    return tuple(dict.fromkeys([name, *below]))


def read_row(path: Path, line: int, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row in the columns of the Parquet release, with image bytes, `choices`, `source`; `release_id` its `sample_id`.

    Raises:
        ValueError: what is wrong with the row.
    """
    sample_id = row.get("sample_id")
    if not isinstance(sample_id, str) or not sample_id:
        raise ValueError(f"sample_id: expected a string, got {shorten(sample_id)}; prepare the view again")
    encodable("sample_id", sample_id)
    columns = texts(row)
    images = {name: read_images(found, name, path.parent, path.parent) for name, found in candidates(row).items()}
    return {**columns, **images, "release_id": sample_id, "position": None}
