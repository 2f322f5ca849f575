"""`medgen-bench table`: the paper's table from result files."""

import gc
import os
import sys
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

from .errors import UsageError
from .result_file import load_all
from .tables import render_data
from .tables import render_latex
from .tables import render_markdown
from .tables import render_text
from .tables.build import build
from .tables.model import Document
from .tables.show import Show

RENDERERS: dict[str, Callable[[Document], str]] = {
    "markdown": render_markdown.render,
    "latex": render_latex.render,
    "csv": render_data.render_csv,
    "json": render_data.render_json,
}
FORMATS = ("text", *RENDERERS)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keeps the garbage collector off: rows of many systems are millions of objects, none of them in a cycle."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def table(results: Sequence[Path], *, format: str = "text", show: Show | None = None) -> None:
    """Print a table for each config, edition, protocol and subset of records that occurs in `results`.

    Args:
        results: result files of `score`.
        format: one of `FORMATS`.
        show: what is shown; default: the means.

    Raises:
        UsageError: a file is no result; results contradict each other; an unknown format.
    """
    if format not in FORMATS:
        raise UsageError(f"--format: expected one of {', '.join(FORMATS)}, got {format!r}")
    with _uncollected():
        document = build(load_all(results), show)
    if hasattr(sys.stdout, "reconfigure"):
        # An arrow that the terminal's encoding lacks is no reason to print nothing.
        sys.stdout.reconfigure(errors="replace")
    if format == "text":
        from rich.console import Console

        console = Console()
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console = Console(width=render_text.WIDTH)
        render_text.write(document, console)
    else:
        sys.stdout.write(RENDERERS[format](document))
