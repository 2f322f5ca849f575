"""Scores one tier of one task: this process's share, journalled as it is done."""

import sys
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from medgen_metrics.rows import Row

from ..errors import Failure
from ..progress import Advance
from ..progress import progress
from . import journal
from . import launch
from . import tiers
from .judging import JudgeWork
from .plan import plan
from .plan import share
from .task import Task


def score_tier(task: Task, name: str, tier: tiers.Tier, out: Path, here: launch.Ranks) -> None:
    """Score this process's share of the records, and journal each row, or batch of rows, as it is done.

    Args:
        task: what is scored.
        name: the tier's name.
        tier: what scores.
        out: folder of `scores/`.
        here: this process.

    Raises:
        Failure: the scores can't be written, or the launcher of this process is gone.
    """
    folder = out / "scores" / task.job.system
    lines = journal.read(folder, task.job.config, notice=_say if here.is_main else _ignore)
    done = {key: line for key, line in lines.items() if not is_open(line.row)}
    label = f"{task.job.system} {task.job.config} {name}"

    def bar(total: int) -> AbstractContextManager[Advance]:
        return progress(label, total, show=here.is_main)

    with journal.Writer(folder, task.job.config, here.rank) as writer:
        if isinstance(tier, JudgeWork):
            _stream(task, name, tier, done, here, writer, bar)
        else:
            _batches(task, name, tier, done, here, writer, bar)


def is_open(row: Row) -> bool:
    """Whether a row holds what another attempt may mend: a judge that failed."""
    return "judge_failed" in row.reasons.values()


_Bar = Callable[[int], AbstractContextManager[Advance]]


def _batches(
    task: Task,
    name: str,
    tier: tiers.Tier,
    done: Mapping[str, journal.Line],
    here: launch.Ranks,
    writer: journal.Writer,
    bar: _Bar,
) -> None:
    positions = task.selection.positions
    mine = share(plan([tier.cost(*task.texts(position)) for position in positions], tier.batch), here.rank, here.size)
    with bar(sum(map(len, mine))) as advance:
        for batch in mine:
            keys = {position: task.key(name, tier.scorer, position) for position in (positions[i] for i in batch)}
            missing = {position for position, key in keys.items() if key not in done}
            if missing:
                # The whole batch, though part of it may be done: batch shape can move a score's last bits.
                rows = tier.score([task.sample(position) for position in keys])
                writer.append(
                    [
                        _line(task, name, tier, position, keys[position], row)
                        for position, row in zip(keys, rows, strict=True)
                        if position in missing
                    ]
                )
            advance(len(batch))
            _check_launcher(here)


def _stream(
    task: Task,
    name: str,
    tier: JudgeWork,
    done: Mapping[str, journal.Line],
    here: launch.Ranks,
    writer: journal.Writer,
    bar: _Bar,
) -> None:
    mine = list(task.selection.positions[here.rank :: here.size])
    keys = {position: task.key(name, tier.scorer, position) for position in mine}
    left = [position for position in mine if keys[position] not in done]
    with bar(len(mine)) as advance:
        advance(len(mine) - len(left))

        def drawn() -> Iterator[tuple[int, tiers.Sample]]:
            for position in left:
                _check_launcher(here)
                yield position, task.sample(position)

        def on_row(position: int, row: Row) -> None:
            writer.append([_line(task, name, tier, position, keys[position], row)])
            advance(1)

        tier.stream(drawn(), on_row)


def _line(task: Task, name: str, tier: tiers.Tier, position: int, key: str, row: Row) -> journal.Line:
    return journal.Line(task.records.ids[position], key, name, row, tier.scorer.signature)


def _check_launcher(here: launch.Ranks) -> None:
    if here.is_orphan():
        raise Failure("the launcher of this process is gone; what is scored is kept")


def _say(message: str) -> None:
    print(f"medgen-bench: {message}", file=sys.stderr)


def _ignore(message: str) -> None:
    pass
