"""A progress bar for long work: count, rate and time left; nothing where the output is no terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Advance(Protocol):
    """Tells the bar that work is done; `note` is shown behind the label."""

    def __call__(self, steps: int = 1, note: str = "") -> None: ...


@contextmanager
def progress(label: str, total: int | None, *, show: bool = True) -> Iterator[Advance]:
    """A bar of `total` steps on standard error.

    Args:
        label: what is being done.
        total: steps in all; None where that is not known.
        show: False for processes that don't report.
    """
    from rich.console import Console
    from rich.progress import BarColumn
    from rich.progress import MofNCompleteColumn
    from rich.progress import Progress
    from rich.progress import ProgressColumn
    from rich.progress import Task
    from rich.progress import TextColumn
    from rich.progress import TimeRemainingColumn
    from rich.text import Text

    class Rate(ProgressColumn):
        """Steps a second."""

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.1f}/s" if task.speed else "–/s")

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), Rate())
    with Progress(*columns, TimeRemainingColumn(), console=console, disable=not (show and console.is_terminal)) as bar:
        task = bar.add_task(label, total=total)

        def advance(steps: int = 1, note: str = "") -> None:
            bar.update(task, advance=steps, description=f"{label}{note}")

        yield advance
