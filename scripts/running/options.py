"""What the user chose about a run; the command line's options under their own names."""

import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import UsageError


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several shares of the selected records: every `count`-th, from the `number`-th (from 1) on."""

    number: int
    count: int

    @classmethod
    def read(cls, text: str) -> "Shard":
        """`2/4`.

        Raises:
            UsageError: another form, or a number that isn't within the count.
        """
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        if found is None or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(f"--shard: expected I/N with I from 1 to N, e.g. 2/4, got {text!r}")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How a system is run.

    Attributes:
        edition: paper, release or sample.
        data_dir: folder of a local copy.
        out: predictions go to `out/predictions/<system>`.
        limit: only so many records; a later run with more, or with all, continues.
        seed: of the selection and of the systems' random numbers, a record's own derived from it.
        subset: `lite`, a fixed selection; not beside `limit`.
        tasks, modalities, ids: only these records; of `limit`, before it is applied.
        shard: only this share of the selection; shares may run at the same time into the same folder.
        blind: the models are not given the image.
        retry_failed: try failed records of earlier runs again.
        max_attempts: how often a request is sent at most, over all runs; default what the system's file says a run.
        fresh: put an earlier run's predictions aside and start anew.
        concurrency, image_concurrency: requests under way at most, of the (first) model and of a second, image one.
        max_cost, max_requests: dollars and requests, of models in this process too, after which nothing more is sent.
        prices: table of prices, see `medgen_metrics.serving.budget.Prices.read`.
        dry_run: say what would be asked and what it may cost; send nothing, write nothing.
        log_requests: write prompts and replies beside the predictions, images by digest.
    """

    edition: str = "paper"
    data_dir: Path | None = None
    out: Path = Path("out")
    limit: int | None = None
    seed: int = 0
    subset: str | None = None
    tasks: tuple[str, ...] = ()
    modalities: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    shard: Shard | None = None
    blind: bool = False
    retry_failed: bool = False
    max_attempts: int | None = None
    fresh: bool = False
    concurrency: int | None = None
    image_concurrency: int | None = None
    max_cost: float | None = None
    max_requests: int | None = None
    prices: Path | None = None
    dry_run: bool = False
    log_requests: bool = False
