"""`medgen-bench reproduce`: published result files scored again, each record's figure beside the published one.

The public evaluator writes its figures into the rows that it evaluated. For each metric that a file holds figures of,
the two means over the records that both sides score are set side by side, and every record whose figures differ is
put down to a repair of the protocol (docs/repairs.md) that applies to it, or left open.
"""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from typing import Any

from medgen_metrics.rows import Row
from medgen_metrics.rows import mean

from . import result_file
from .errors import UsageError
from .image_roots import ImageRoots
from .join import Ladder
from .join import Unjoined
from .jsonl import Findings
from .predictions import rows_of
from .remote_path import AnyPath
from .result_file import ResultFile
from .score import score
from .scoring.jobs import given
from .scoring.jobs import jobs
from .scoring.options import ScoreOptions
from .scoring.task import Task
from .scoring.task import read_tasks

# Our metric -> the field of an evaluated row.
FIELDS = {
    "ssim": "SSIM",
    "psnr": "PSNR",
    "lpips": "LPIPS",
    "bleu": "BLEU",
    "bertscore": "BERT_Score",
    "em": "Text_EM",
}
# Published figures are rounded nowhere; what is left is single precision and other releases of the libraries.
TOLERANCE = {"psnr": 0.01}
DEFAULT_TOLERANCE = 1e-3


@dataclass(slots=True)
class Cell:
    """One metric of one file.

    Attributes:
        metric: our name.
        published, ours: figures of the records that both sides score, in one order.
        causes: repair -> records whose figures differ because of it; `open` where none applies.
        only_published, only_ours: records that one side alone scores.
    """

    metric: str
    published: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)
    only_published: Counter[str] = field(default_factory=Counter)
    only_ours: int = 0

    def add(self, published: float | None, row: Row) -> None:
        """Compare one record."""
        value = None if self.metric in row.reasons else row.values.get(self.metric)
        if published is None or value is None:
            if published is not None:
                self.only_published[row.reasons.get(self.metric, "not applicable")] += 1
            self.only_ours += value is not None
            return
        self.published.append(published)
        self.ours.append(value)
        if abs(published - value) > TOLERANCE.get(self.metric, DEFAULT_TOLERANCE):
            self.causes[cause(self.metric, row)] += 1


def cause(metric: str, row: Row) -> str:
    """The repair that explains a difference in `metric` of a record, `open` if none applies."""
    if metric in ("ssim", "psnr", "lpips"):
        if "resized" in row.flags:
            return "resize"
        return "LPIPS inputs (if the file is of an older version)" if metric == "lpips" else "open"
    if metric == "em":
        return "exact match parser"
    if "empty" in row.flags:
        return "blank answers"
    if metric == "bertscore":
        return "BERTScore length" if "truncated" in row.flags else "BERTScore padding"
    return "open"


def reproduce(
    paths: Sequence[str | Path], options: ScoreOptions, *, config: str | None = None, system: str | None = None
) -> list[Path]:
    """Score evaluated result files and print a line a file and metric.

    Args:
        paths: as `score`; files whose rows hold the public evaluator's figures.
        options: as `score`.
        config: as `score`.
        system: as `score`.

    Returns:
        The result files that `score` wrote.

    Raises:
        UsageError: bad input, as `score`; no file holds a published figure.
    """
    # Of predictions on the Hub, the commit that is scored is the one that is compared.
    paths = given(jobs(paths, config, system, offline=options.offline, download=options.download))
    tasks = read_tasks(
        jobs(paths, config, system, offline=options.offline, download=options.download),
        options.edition,
        options.data_dir,
        options.limit,
        options.seed,
        options.image_roots,
    )
    # Looked at first: scoring takes long, and without figures there is nothing to reproduce.
    published = [_published(task, options.image_roots) for task in tasks]
    if all(value is None for file in published for figures in file.values() for value in figures.values()):
        keys = ", ".join(f"{name} ({metric})" for metric, name in FIELDS.items())
        raise UsageError(
            f"{', '.join(task.job.place for task in tasks)}: expected rows that the public evaluator has evaluated, "
            f"with figures under any of the keys {keys}, got none; `medgen-bench score` scores rows without figures"
        )
    written = score(paths, options, config=config, system=system)
    results = {result.system: result for result in map(result_file.load, written)}
    _print(
        {
            task.job.path: compare(task, results[task.job.system], figures)
            for task, figures in zip(tasks, published, strict=True)
        }
    )
    return written


def compare(task: Task, result: ResultFile, published: Mapping[str, Mapping[str, float | None]]) -> list[Cell]:
    """The cells of one file, for the metrics of which it holds a figure.

    Args:
        task: the file's.
        result: what it was scored.
        published: record id -> metric -> the file's figure.
    """
    rows = result.configs[task.job.config].rows  # type: ignore[index]  # pydantic's keys are literals
    cells: dict[str, Cell] = {}
    for tier in rows.tiers:
        for record_id, row in zip(rows.id, rows.unpack(tier), strict=True):
            for metric, value in published.get(record_id, {}).items():
                if metric in row.values or metric in row.reasons:
                    cells.setdefault(metric, Cell(metric)).add(value, row)
    return [cells[metric] for metric in FIELDS if metric in cells]


def _published(task: Task, image_roots: Sequence[Path]) -> dict[str, dict[str, float | None]]:
    """Record id -> metric -> figure, None where the row says that there is none. The last row of a record counts."""
    findings = Findings(task.job.path, "predictions")
    ladder = Ladder(task.records, ImageRoots.of(task.job.path, image_roots))
    found: dict[str, dict[str, float | None]] = {}
    for _, row in rows_of(task.job.path, findings):
        try:
            position, _ = ladder.join(row, hints=False)
        except Unjoined:
            continue  # a task that the edition does not have; the reader of predictions let it pass
        figures = {metric: _number(row[name]) for metric, name in FIELDS.items() if name in row}
        if figures:
            found[task.records.ids[position]] = figures
    return found


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _print(found: Mapping[AnyPath, Sequence[Cell]]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    for path, cells in found.items():
        if not cells:
            print(f"{path}: its rows hold none of the public evaluator's figures ({', '.join(FIELDS.values())})")
            continue
        table = Table("metric", box=None, pad_edge=False, title=escape(str(path)), title_justify="left")
        for heading in ("both", "published", "ours", "difference"):
            table.add_column(heading, justify="right")
        table.add_column("records that differ, by repair (docs/repairs.md)")
        for cell in cells:
            before, after = mean(cell.published), mean(cell.ours)
            figures = ("–", "–", "–")
            if before is not None and after is not None:
                figures = (f"{before:.4f}", f"{after:.4f}", f"{after - before:+.4f}")
            table.add_row(cell.metric, str(len(cell.ours)), *figures, _words(cell))
        Console(width=120, highlight=False).print(table)


def _words(cell: Cell) -> str:
    said = [f"{name} {count}" for name, count in cell.causes.most_common()] or ["none"]
    said += [f"published only: {reason} {count}" for reason, count in cell.only_published.most_common()]
    if cell.only_ours:
        said.append(f"ours only: {cell.only_ours}")
    return "; ".join(said)
