"""Tables built from hand-written results, and ways to look at them, that tests of tables share."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from medgen_scripts.result_file import ResultFile
from medgen_scripts.tables import render_text
from medgen_scripts.tables.build import build
from medgen_scripts.tables.model import Cell
from medgen_scripts.tables.model import Document
from medgen_scripts.tables.show import Show

from .results import config_result
from .results import pixels
from .results import result


def edits(
    system: str, ssim: Sequence[float | None], *rest: Sequence[float | None] | None, **options: Any
) -> ResultFile:
    """A result over edit alone."""
    fields = {name: options.pop(name) for name in ("edition", "edition_note", "protocol") if name in options}
    if "protocol" in fields:
        options["protocol"] = fields["protocol"]
    psnr, lpips = (*rest, None, None)[:2]
    rows = pixels(ssim, psnr, lpips, options.pop("reason", "missing"))
    return result(system, {"edit": config_result({"pixel": rows}, **options)}, **fields)


def built(*files: ResultFile, **options: Any) -> Document:
    return build([(Path(f"{index}.json"), file) for index, file in enumerate(files)], Show(**options))


def cell(document: Document, system: str, metric: str, *, group: str = "", kind: str = "all") -> Cell:
    (table,) = document.tables
    place = [column.metric for column in table.columns].index(metric)
    (line,) = [line for line in table.lines if (line.system, line.group, line.kind) == (system, group, kind)]
    found = line.cells[place]
    assert found is not None
    return found


def marks(document: Document, metric: str, *, group: str = "", kind: str = "all") -> dict[str, str]:
    """System -> its mark, of those that have one."""
    lines = [line for line in document.tables[0].lines if (line.kind, line.group) == (kind, group)]
    found = {line.system: cell(document, line.system, metric, kind=kind, group=group).mark for line in lines}
    return {system: mark for system, mark in found.items() if mark}


def foot(document: Document) -> str:
    return "\n".join([*(note for table in document.tables for note in table.notes), *document.notes])


def as_text(document: Document, **options: Any) -> str:
    console = Console(file=io.StringIO(), width=100, **options)
    render_text.write(document, console)
    return console.file.getvalue()  # type: ignore[attr-defined]
