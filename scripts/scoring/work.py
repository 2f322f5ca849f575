"""What a tier is made of, and what it is to `score` unless it says otherwise."""

from abc import ABC
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from medgen_metrics.rows import Row

from ..prediction import Prediction
from ..records import Record
from .options import ScoreOptions

Sample = tuple[Record, Prediction | None]


@dataclass(frozen=True, slots=True)
class TierOptions:
    """What the user chose, and what this process has to do with it.

    Attributes:
        user: the user's options.
        device: torch's name of this process's device; None lets the tier choose.
        processes: how many share concurrency and budget.
        dry_run: no server is asked anything.
    """

    user: ScoreOptions
    device: str | None = None
    processes: int = 1
    dry_run: bool = False

    @property
    def offline(self) -> bool | None:
        """Whether the user wants no download; None leaves it to the environment."""
        return self.user.offline or None


class Work(ABC):
    """Base of the tiers.

    Attributes:
        batch: records a batch.
        budget: the most that a batch of several records costs; None: no limit.
        is_by_record: whether batches are planned from the records alone, by the bytes of their images, so that several
            systems are scored batch by batch; else from each system's answers, by `cost`.
        is_batch_invariant: whether a row's bits don't depend on the batch that it is scored in; else whole batches
            are scored, though part of one may be done.
        needs_images: whether a record's images are read for it.
    """

    batch = 16
    budget: int | None = None
    is_by_record = False
    is_batch_invariant = False
    needs_images = True

    def cost(self, answer: str | None, prediction: Prediction | None) -> int:
        """What the batch plan sorts by."""
        return 0

    @abstractmethod
    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""

    def score_systems(self, systems: Sequence[Sequence[Sample]]) -> list[list[Row]]:
        """Each system's rows for the same records."""
        return [self.score(samples) for samples in systems]


def name_failures(rows: Sequence[Row], reasons: Sequence[str]) -> list[Row]:
    """The rows with `reasons`, one a row, in place of `missing`: a scorer sees only that nothing came."""
    return [
        Row(
            row.values,
            {metric: said if found == "missing" else found for metric, found in row.reasons.items()},
            row.flags,
        )
        for row, said in zip(rows, reasons, strict=True)
    ]
