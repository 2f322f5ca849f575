"""Scores: batch after batch, each taken by the process that asks next, and journalled as it is done."""

from collections import OrderedDict
from collections.abc import Hashable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from medgen_metrics.rows import Row
from medgen_metrics.signature import digest

from ..image_source import row_group
from ..progress import progress
from ..records import Record
from ..terminal import say
from . import journal
from . import launch
from . import tiers
from .judging import JudgeWork
from .judging import judge_failures
from .plan import alike
from .plan import plan
from .plan import runs
from .task import Task

_KEPT = 2**14  # rows of content seen last, about a kilobyte each

_Content = tuple[str, str, str]  # digests of candidate and reference, and the task
_Place = tuple[int, int]  # system, position


def score_tasks(tasks: Sequence[Task], built: Mapping[str, tiers.Tier], out: Path, here: launch.Ranks) -> int:
    """Score, with the other processes, what no journal holds.

    Tasks of one config are scored together where a tier's batches are planned from the records alone, so that what
    reference and input give is computed once for all systems.

    Args:
        tasks: what is scored; those of one config have the same records and selection.
        built: the tiers by name.
        out: folder of `scores/`.
        here: this process.

    Returns:
        How many scores this process has added.

    Raises:
        Failure: the scores can't be written, or the launcher of this process is gone.
    """
    done = [_done(task, out, here) for task in tasks]
    # Before anything is written, so that a line in the making is not told to be a torn one.
    if here.is_main:
        here.tell("read")
    else:
        here.heard("read", [0])
    stage = added = 0
    for config in dict.fromkeys(task.job.config for task in tasks):
        of_config = [(task, known) for task, known in zip(tasks, done, strict=True) if task.job.config == config]
        for name, tier in built.items():
            if name not in tiers.CONFIG_TIERS[config]:
                continue
            groups = [of_config] if tier.is_by_record else [[pair] for pair in of_config]
            for group in groups:
                with ExitStack() as stack:
                    works = [_Work(task, known, stack.enter_context(_writer(task, out, here))) for task, known in group]
                    added += _Stage(str(stage), name, tier, works, here).run()
                    stage += 1
    return added


def is_open(row: Row) -> bool:
    """Whether a row holds what another attempt may mend: a judge that failed."""
    return "judge_failed" in row.reasons.values()


def _done(task: Task, out: Path, here: launch.Ranks) -> set[str]:
    folder = out / "scores" / task.job.system
    lines = journal.stream(folder, task.job.config, notice=say if here.is_main else journal.unsaid)
    return {line.key for line in lines if not is_open(line.row)}


def _writer(task: Task, out: Path, here: launch.Ranks) -> journal.Writer:
    return journal.Writer(out / "scores" / task.job.system, task.job.config, here.rank)


@dataclass(frozen=True, slots=True)
class _Work:
    """A task, the keys that its journals hold, and where new lines go."""

    task: Task
    done: set[str]
    writer: journal.Writer


class _Stage:
    """One tier of one system's config, or of all systems' at once."""

    def __init__(self, stage: str, name: str, tier: tiers.Tier, works: Sequence[_Work], here: launch.Ranks) -> None:
        self._stage = stage
        self._name = name
        self._tier = tier
        self._works = works
        self._here = here
        self._positions = works[0].task.selection.positions
        self._definition = digest(tier.scorer.definition)
        self._seen: OrderedDict[_Content, Row] = OrderedDict()
        self._added = 0

    def run(self) -> int:
        """Score this process's part; how many scores that has added."""
        first = self._works[0].task.job
        whose = first.system if len(self._works) == 1 else f"{len(self._works)} systems"
        total = len(self._positions) * len(self._works)
        with progress(f"{whose} {first.config} {self._name}", total, show=self._here.is_main) as advance:
            self._advance = advance
            if isinstance(self._tier, JudgeWork):
                with judge_failures():
                    self._stream(self._tier)
            elif self._tier.is_by_record:
                self._by_record()
            else:
                self._by_content()
        return self._added

    def _taken(self, sizes: Sequence[int], order: Sequence[int]) -> Iterator[int]:
        """Batches for this process. What the others have taken by then counts as progress."""
        told = 0
        # Where only one machine's cache has what others read elsewhere, plans differ, and a number means other records:
        # then each plan is counted by itself. Work is done twice, but none is lost.
        stage = f"{self._stage}/{digest(list(sizes))}"
        for number in self._here.take(stage, len(order)):
            self._advance(sum(sizes[batch] for batch in order[told:number]) * len(self._works))
            told = number
            yield order[number]
        self._advance(sum(sizes[batch] for batch in order[told:]) * len(self._works))

    # --- several systems, batches of records ------------------------------------------------------------------------

    def _by_record(self) -> None:
        sizes = self._works[0].task.records.image_bytes
        costs = [sizes[position] for position in self._positions]
        # In their own order, which is the order on disk.
        batches = plan(costs, self._tier.batch, self._tier.budget, is_sorted=False)
        positions = [[self._positions[index] for index in batch] for batch in batches]
        # Alone, it fetches a row group once whatever the order; the others would fetch it too.
        together = runs([self._row_groups(batch) if self._here.size > 1 else None for batch in positions])
        for number in self._taken(
            [sum(len(positions[index]) for index in run) for run in together], range(len(together))
        ):
            for index in together[number]:
                self._here.step()
                self._batch(positions[index])

    def _row_groups(self, positions: Sequence[int]) -> tuple[Hashable, ...] | None:
        """Where the first images of a batch are fetched from, for each system; None where all are at hand."""
        found = []
        for work in self._works:
            given = (work.task.predictions.by_id.get(work.task.records.ids[position]) for position in positions)
            groups = (row_group(prediction.image) for prediction in given if prediction is not None)
            found.append(next((group for group in groups if group is not None), None))
        return tuple(found) if any(found) else None

    def _batch(self, positions: Sequence[int]) -> None:
        records = {position: self._works[0].task.records[position] for position in positions}
        missing: list[dict[int, str]] = []  # of each system: position -> key
        wanted: dict[_Place, _Content] = {}
        for system, work in enumerate(self._works):
            keys = {position: self._key(work, position, records[position]) for position in positions}
            missing.append({position: key for position, key in keys.items() if key not in work.done})
            # Of a batch that can move a score's last bits all, though part of it may be done.
            needed = missing[-1] if self._tier.is_batch_invariant or not missing[-1] else keys
            for position in needed:
                digests = work.task.content(self._name, position, records[position])
                wanted[system, position] = (*digests, records[position].task)
        rows = self._rows(wanted, records)
        for system, work in enumerate(self._works):
            self._write(work, {key: (position, rows[system, position]) for position, key in missing[system].items()})

    def _rows(self, wanted: Mapping[_Place, _Content], records: Mapping[int, Record]) -> Mapping[_Place, Row]:
        if not self._tier.is_batch_invariant:
            return self._score(list(wanted), records)
        # Equal content, of whichever system and record, is scored once.
        rows = {place: self._seen[content] for place, content in wanted.items() if content in self._seen}
        new = [place for place in wanted if place not in rows]
        groups = [[new[index] for index in same] for same in alike([wanted[place] for place in new])]
        found = self._score([places[0] for places in groups], records)
        for places in groups:
            row = self._seen[wanted[places[0]]] = found[places[0]]
            rows |= dict.fromkeys(places, row)
        while len(self._seen) > _KEPT:
            self._seen.popitem(last=False)
        return rows

    def _score(self, places: Sequence[_Place], records: Mapping[int, Record]) -> dict[_Place, Row]:
        """Rows of what stands at `places`, in one call, so that what a record gives is computed once."""
        asked = set(places)
        systems = sorted({system for system, _ in asked})
        positions = [position for position in records if any((system, position) in asked for system in systems)]
        # What is not asked for stands in its place without an output, which costs nothing.
        samples = [
            [
                (records[position], None)
                if (system, position) not in asked
                else self._works[system].task.sample(position, records[position])
                for position in positions
            ]
            for system in systems
        ]
        found = self._tier.score_systems(samples) if len(systems) > 1 else list(map(self._tier.score, samples))
        return {
            (system, position): row
            for system, rows in zip(systems, found, strict=True)
            for position, row in zip(positions, rows, strict=True)
            if (system, position) in asked
        }

    # --- one system, batches of its own -----------------------------------------------------------------------------

    def _by_content(self) -> None:
        (work,) = self._works
        task = work.task
        # A record without images is at hand: what is alike is found, and planned, once for the whole run.
        is_known = not self._tier.needs_images
        contents = [task.content(self._name, position) if is_known else (position,) for position in self._positions]
        groups = [[self._positions[index] for index in same] for same in alike(contents)]
        costs = [self._tier.cost(*task.texts(positions[0])) for positions in groups]
        batches = plan(costs, self._tier.batch, self._tier.budget)
        sizes = [sum(len(groups[index]) for index in batch) for batch in batches]
        # The costliest first, so that no process is left with one at the end.
        for number in self._taken(sizes, range(len(batches))[::-1]):
            batch = [groups[index] for index in batches[number]]
            keys = [[self._key(work, position) for position in positions] for positions in batch]
            if all(key in work.done for of_content in keys for key in of_content):
                continue
            # The whole batch, though part of it may be done: batch shape can move a score's last bits.
            rows = self._tier.score([self._sample(task, positions[0]) for positions in batch])
            self._write(
                work,
                {
                    key: (position, row)
                    for positions, of_content, row in zip(batch, keys, rows, strict=True)
                    for position, key in zip(positions, of_content, strict=True)
                    if key not in work.done
                },
            )

    def _sample(self, task: Task, position: int) -> tiers.Sample:
        return task.sample(position, None if self._tier.needs_images else task.records.without_images(position))

    # --- the judge --------------------------------------------------------------------------------------------------

    def _stream(self, tier: JudgeWork) -> None:
        (work,) = self._works
        keys: dict[int, str] = {}
        order = range(len(self._positions))
        # Where each process has its share of what may be spent, each has its share of the records.
        fixed = iter(order[self._here.rank :: self._here.size])
        numbers = fixed if tier.has_budget else self._taken([1] * len(order), order)

        def drawn() -> Iterator[tuple[int, tiers.Sample]]:
            for number in numbers:
                self._here.step()
                position = self._positions[number]
                record = work.task.records[position]  # read once for both
                key = self._key(work, position, record)
                if key not in work.done:
                    keys[position] = key
                    yield position, work.task.sample(position, record)
                if tier.has_budget:
                    self._advance(1)

        tier.stream(drawn(), lambda position, row: self._write(work, {keys.pop(position): (position, row)}))

    # --- all --------------------------------------------------------------------------------------------------------

    def _key(self, work: _Work, position: int, record: Record | None = None) -> str:
        return work.task.key(self._name, self._definition, position, record)

    def _write(self, work: _Work, rows: Mapping[str, tuple[int, Row]]) -> None:
        """Journal rows by key."""
        if rows:
            ids, signature = work.task.records.ids, self._tier.scorer.signature
            self._added += len(rows)
            work.writer.append(
                [journal.Line(ids[position], key, self._name, row, signature) for key, (position, row) in rows.items()]
            )
