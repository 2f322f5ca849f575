"""The judge's tier as `score` drives it: records and predictions as samples, and how it stands beside other tiers."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from medgen_metrics.rows import Row
from medgen_metrics.signature import digest

from ..errors import Failure
from ..errors import UsageError
from ..prediction import Prediction
from ..records import Record
from .work import Sample
from .work import Work

if TYPE_CHECKING:
    from medgen_metrics.judge.prompt import JudgeSample
    from medgen_metrics.judge.tier import JudgeTier

SENTINEL = "judge-check.json"
"""The file in the output folder that `judge-check --save` may leave, and that `score` looks at by itself."""


@contextmanager
def judge_failures() -> Iterator[None]:
    """Turns what ends a judge's run into this command's failure.

    Raises:
        Failure: a server that doesn't answer or refuses us, a spent budget, a cache that can't be used.
    """
    from medgen_metrics.judge.cache import CacheError
    from medgen_metrics.serving.faults import ServingError

    try:
        yield
    except (ServingError, CacheError) as error:
        raise Failure(f"judge: {error}") from error


def look_for_drift(path: Path | None, tier: "JudgeTier") -> list[str]:
    """What a file of `judge-check --save` says of the judge by now; nothing without a file.

    Raises:
        UsageError: no such file, or one that speaks of another judge.
    """
    if path is None:
        return []
    from medgen_metrics.judge.drift import sentinel

    try:
        return sentinel(path, tier)
    except (OSError, ValueError) as error:
        raise UsageError(f"--sentinel: {error}") from error


def usage_told(tier: "JudgeTier") -> str | None:
    """What was asked of the judge, and paid; None where all came from the cache."""
    used = tier.usage
    if not used.requests:
        return None
    cost = "" if used.cost is None else f", ${used.cost:,.4f}"
    return (
        f"judge: {used.requests:,} requests with {used.images:,} images, {used.prompt_tokens:,} prompt and "
        f"{used.completion_tokens:,} completion tokens{cost}"
    )


class JudgeWork(Work):
    """Verdicts of a vision-language model on the outputs.

    Requests go out as slots are free, so that it has no batches: `stream` takes the place of `score`.

    Args:
        scorer: the metrics.
        has_budget: whether what may be asked or paid is limited.
    """

    batch = 1

    def __init__(self, scorer: "JudgeTier", has_budget: bool = False) -> None:
        self.scorer = scorer
        self.has_budget = has_budget
        self.options: dict[str, Any] = scorer.options
        self.drift: list[str] = []  # what the sentinel says

    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""
        rows: dict[int, Row] = {}
        self.stream(enumerate(samples), rows.__setitem__)
        return [rows[position] for position in range(len(samples))]

    def stream(self, samples: Iterable[tuple[int, Sample]], on_row: Callable[[int, Row], None]) -> None:
        """One row a sample, each handed over when its verdicts are there."""
        reasons: dict[int, str] = {}

        def drawn() -> Iterable[tuple[int, "JudgeSample"]]:
            for position, (record, prediction) in samples:
                if prediction is not None and (reason := prediction.image_reason or prediction.text_reason):
                    reasons[position] = reason
                yield position, judge_sample(record, prediction)

        def named(position: int, row: Row) -> None:
            # The judge's tier sees only that nothing came; the prediction says why.
            said = reasons.pop(position, "missing")
            changed = {metric: said if reason == "missing" else reason for metric, reason in row.reasons.items()}
            on_row(position, Row(row.values, changed, row.flags))

        self.scorer.stream(drawn(), named)

    def warnings(self, rows: Sequence[Row], system: str, components: Sequence[str] = ()) -> list[str]:
        """What a reader of this judge's scores of `system`, made of these models, should be told."""
        from medgen_metrics.judge import families
        from medgen_metrics.judge import warnings

        judges = [judge.name for judge in self.scorer.judges]
        found = [*self.drift, *families.repeated(judges, {system: components})]
        found += warnings.of_rows(rows, self.scorer.views, self.scorer.rubric.names)
        return [*found, *self.scorer.fingerprint_changes()]


def judge_sample(record: Record, prediction: Prediction | None) -> "JudgeSample":
    """The record with a system's output, as the judge takes it; an output that can't be read is none."""
    from medgen_metrics.judge.prompt import JudgeSample

    gives_text, gives_image = record.answer is not None, bool(record.output_images)
    image = None
    if gives_image and prediction is not None and prediction.image is not None:
        try:
            image = prediction.image.read_bytes()
        except OSError:
            image = b""  # it is there, and `images.read` calls this unreadable
    # a system's row may say anything
    saw = None if prediction is None else prediction.meta.get("saw_sheet")
    return JudgeSample(
        id=record.id,
        config="gen" if gives_text and gives_image else "edit" if gives_image else "vqa",
        task=record.task,
        instruction=record.instruction,
        choices=record.choices,
        inputs=tuple(picture.data for picture in record.input_images),
        reference_image=record.output_images[0].data if gives_image else None,
        output_image=image,
        answer=record.answer,
        response=prediction.text if prediction is not None else None,
        saw_sheet=saw if isinstance(saw, bool) else None,
    )


def judge_digests(sample: Sample) -> tuple[str, str]:
    """Digests of what is judged, and of all that it is judged against."""
    from medgen_metrics.judge.intake import sample_digests

    record, prediction = sample
    candidate, reference = sample_digests(judge_sample(record, prediction))
    reasons = None if prediction is None else [prediction.image_reason, prediction.text_reason]
    return digest([candidate, reasons]), reference
