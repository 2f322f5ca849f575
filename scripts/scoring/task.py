"""What one job is scored from: the records, the selection of them, the predictions, and digests of what they hold."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from ..errors import UsageError
from ..prediction import Prediction
from ..predictions import Predictions
from ..predictions import read_predictions
from ..records import Record
from ..records import Records
from ..records import load_records
from ..remote_path import AnyPath
from ..subset import Subset
from ..subset import choose
from . import journal
from . import launch
from . import tiers
from .jobs import CONFIGS
from .jobs import Job


@dataclass
class Task:
    """A job with all that it is scored from."""

    job: Job
    records: Records
    selection: Subset
    predictions: Predictions
    digests: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)

    @property
    def notices(self) -> list[str]:
        """What is to be said of predictions and selection."""
        about = self.selection.notice(self.job.config)
        return [*self.predictions.notices, *([about] if about else [])]

    def sample(self, position: int, record: Record | None = None) -> tiers.Sample:
        """The record, read here unless it is given, and its prediction if there is one."""
        record = self.records[position] if record is None else record
        return record, self.predictions.by_id.get(record.id)

    def texts(self, position: int) -> tuple[str | None, Prediction | None]:
        """Reference answer and prediction, without reading any image."""
        answers = self.records.column("answer") if self.job.config != "edit" else None
        return answers[position] if answers else None, self.predictions.by_id.get(self.records.ids[position])

    def content(self, tier: str, position: int, record: Record | None = None) -> tuple[str, str]:
        """Digests of candidate and reference, computed once a record.

        Args:
            tier: the tier's name.
            position: the record's.
            record: the record, where it is at hand.
        """
        if (tier, position) not in self.digests:
            if tier in tiers.TEXTS_ONLY:
                record = self.records.without_images(position)
            self.digests[tier, position] = tiers.DIGESTS[tier](self.sample(position, record))
        return self.digests[tier, position]

    def key(self, tier: str, definition: str, position: int, record: Record | None = None) -> str:
        """The journal key of a record's score under a definition's digest."""
        return journal.row_key(self.records.ids[position], tier, *self.content(tier, position, record), definition)


def exchange_digests(tasks: Sequence[Task], here: launch.Ranks) -> list[int]:
    """Give the main process the digests that the others computed, so that no image is read twice; it waits for them.

    Returns:
        In the main process the others that are gone before they had done their part.

    Raises:
        Failure: the main process is gone.
    """
    if not here.is_main:
        here.tell(
            "digests", json.dumps([[[*place, *found] for place, found in task.digests.items()] for task in tasks])
        )
        return []
    gone = []
    others = range(1, here.size)
    for rank, told in zip(others, here.heard("digests", others), strict=True):
        if told is None:
            gone.append(rank)
            continue
        for task, digests in zip(tasks, json.loads(told), strict=True):
            for tier, position, candidate, reference in digests:
                task.digests[tier, position] = (candidate, reference)
    return gone


def read_tasks(
    todo: Sequence[Job],
    edition: str,
    data_dir: Path | None,
    limit: int | None,
    seed: int,
    image_roots: Sequence[Path],
    subset: str | None = None,
) -> list[Task]:
    """Load the records of each config once, and read every prediction file.

    Raises:
        UsageError: bad input, of all files in one message.
    """
    records = {config: load_records(config, edition, data_dir) for config in dict.fromkeys(job.config for job in todo)}
    tasks = []
    faults: dict[AnyPath, str] = {}
    for job in todo:
        found = records[job.config]
        try:
            predictions = read_predictions(job.path, found, image_roots=image_roots)
        except UsageError as error:
            faults[job.path] = str(error)
            continue
        strata = (found.column("task"), found.column("modality"))
        selection = choose(job.config, found.ids, *strata, limit=limit, seed=seed, name=subset)
        tasks.append(Task(job, found, selection, predictions))
    if faults:
        more = [_look_closer(job, edition, data_dir) for job in todo if job.path in faults]
        raise UsageError("\n".join([*faults.values(), *more]))
    return tasks


def _look_closer(job: Job, edition: str, data_dir: Path | None) -> str:
    """The command that tells a file's faults by kind."""
    command = ["medgen-bench", "validate", job.place]
    command += ["--config", job.config] if job.path.stem not in CONFIGS else []
    command += ["--edition", edition] if edition != "paper" else []
    command += ["--data-dir", str(data_dir)] if data_dir is not None else []
    return f"All that is wrong, by kind: {shlex.join(command)}"
