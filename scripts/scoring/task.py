"""What one job is scored from: the records, the selection of them, the predictions, and digests of what they hold."""

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from medgen_metrics.signature import digest

from ..predictions import Prediction
from ..predictions import Predictions
from ..predictions import read_predictions
from ..records import Records
from ..records import load_records
from ..subset import Subset
from ..subset import choose
from . import journal
from . import tiers
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

    def sample(self, position: int) -> tiers.Sample:
        """The record, and its prediction if there is one."""
        record = self.records[position]
        return record, self.predictions.by_id.get(record.id)

    def texts(self, position: int) -> tuple[str | None, Prediction | None]:
        """Reference answer and prediction, without reading any image."""
        answers = self.records.column("answer") if self.job.config != "edit" else None
        return answers[position] if answers else None, self.predictions.by_id.get(self.records.ids[position])

    def content(self, tier: str, position: int) -> tuple[str, str]:
        """Digests of candidate and reference, computed once a record."""
        if (tier, position) not in self.digests:
            self.digests[tier, position] = tiers.DIGESTS[tier](self.sample(position))
        return self.digests[tier, position]

    def key(self, tier: str, scorer: tiers.Scorer, position: int) -> str:
        """The journal key of a record's score."""
        return journal.row_key(
            self.records.ids[position], tier, *self.content(tier, position), digest(scorer.definition)
        )


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
        UsageError: bad input.
    """
    records = {config: load_records(config, edition, data_dir) for config in dict.fromkeys(job.config for job in todo)}
    tasks = []
    for job in todo:
        found = records[job.config]
        predictions = read_predictions(job.path, found, image_roots=image_roots)
        strata = (found.column("task"), found.column("modality"))
        selection = choose(job.config, found.ids, *strata, limit=limit, seed=seed, name=subset)
        tasks.append(Task(job, found, selection, predictions))
    return tasks
