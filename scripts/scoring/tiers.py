"""What each tier needs of a record and a prediction: which configs it serves, what is scored, and its digests."""

import logging
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from typing import Protocol

from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row
from medgen_metrics.signature import digest

from ..errors import Failure
from ..errors import UsageError
from ..image_source import as_input
from ..image_source import sha256_of
from ..prediction import Prediction
from ..records import Record
from . import judge_options
from .judging import JudgeWork
from .judging import judge_digests
from .options import ScoreOptions
from .work import Sample
from .work import Work

logger = logging.getLogger(__name__)

RESOLUTION_TASK = "resolution-editing"
FEATURES = "feature-cache"  # in OUT: the references' embeddings
UNRESIZED = "unresized_resolution"  # flag of an output of that task that is left at the input's size


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


class Scorer(Protocol):
    """What `medgen_metrics` offers for a tier."""

    @property
    def specs(self) -> tuple[MetricSpec, ...]: ...

    @property
    def signature(self) -> str: ...

    @property
    def definition(self) -> Mapping[str, Any]: ...

    @property
    def unavailable(self) -> Mapping[str, str]: ...


class Tier(Protocol):
    """A tier as `score` drives it; `Work` has the rest of it, and what it means.

    Attributes:
        scorer: the metrics.
        options: keywords that rebuild the metric specs.
    """

    @property
    def scorer(self) -> Scorer: ...

    @property
    def options(self) -> dict[str, Any]: ...

    @property
    def batch(self) -> int: ...

    @property
    def budget(self) -> int | None: ...

    @property
    def is_by_record(self) -> bool: ...

    @property
    def is_batch_invariant(self) -> bool: ...

    @property
    def needs_images(self) -> bool: ...

    def cost(self, answer: str | None, prediction: Prediction | None) -> int:
        """What the batch plan sorts by."""
        ...

    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""
        ...

    def score_systems(self, systems: Sequence[Sequence[Sample]]) -> list[list[Row]]:
        """Each system's rows for the same records."""
        ...


def text_digests(sample: Sample) -> tuple[str, str]:
    """Digests of the answer, and of the reference text with all that its scoring depends on."""
    record, prediction = sample
    text = prediction.text if prediction is not None else None
    candidate = digest([_text_reason(prediction)] if text is None else text)
    return candidate, digest([record.answer, list(record.choices), record.task])


def image_digests(sample: Sample) -> tuple[str, str]:
    """SHA-256 of the candidate's image bytes, or a reason where there are none; of the reference's with the input's."""
    record, prediction = sample
    candidate = _image_reason(prediction)
    if prediction is not None and prediction.image is not None:
        try:
            candidate = sha256_of(prediction.image)
        except OSError as error:
            candidate = f"unreadable: {error.strerror}"
    return candidate, digest([picture.digest for picture in (*record.output_images[:1], *record.input_images[:1])])


def _text_reason(prediction: Prediction | None) -> str:
    return (prediction.text_reason if prediction is not None else None) or "missing"


def _image_reason(prediction: Prediction | None) -> str:
    return (prediction.image_reason if prediction is not None else None) or "missing"


def _choices(record: Record) -> list[str]:
    """A record's options; none where they can't be told apart: a fault of the data, for which EM has a reason."""
    from medgen_metrics.options import read_options

    try:
        read_options(record.choices)
    except ValueError as error:
        logger.warning("%s: its options can't be used, so that EM leaves it unscored: %s", record.id, error)
        return []
    return list(record.choices)


def _name_failures(rows: Sequence[Row], reasons: Sequence[str]) -> list[Row]:
    # A scorer sees only that nothing came; the prediction says why.
    return [
        Row(
            row.values,
            {metric: said if found == "missing" else found for metric, found in row.reasons.items()},
            row.flags,
        )
        for row, said in zip(rows, reasons, strict=True)
    ]


def _flag_unresized(row: Row, task: str) -> Row:
    """Names the failure to change the resolution: scored all the same, since the size step does the system's work."""
    if task != RESOLUTION_TASK or not {"candidate_width", "input_width", "reference_width"} <= row.values.keys():
        return row
    sides = ("candidate", "input", "reference")
    candidate, source, reference = ((row.values[f"{side}_width"], row.values[f"{side}_height"]) for side in sides)
    if candidate != source or source == reference:
        return row
    return Row(row.values, row.reasons, (*row.flags, UNRESIZED))


def _outputs(systems: Sequence[Sequence[Sample]]) -> list[list[Any]]:
    """Each system's images, as the metrics take them."""
    return [
        [as_input(prediction.image) if prediction is not None else None for _, prediction in samples]
        for samples in systems
    ]


class PixelWork(Work):
    """SSIM, PSNR and LPIPS of the output image against the reference image."""

    budget = 2**24  # bytes of encoded reference and input images: 16 pairs of 512x512 or so
    is_by_record = True
    is_batch_invariant = True

    def __init__(self, options: TierOptions) -> None:
        from medgen_metrics.pixel import PixelTier

        self.scorer = PixelTier(
            protocol=options.user.protocol,
            lpips_net=options.user.lpips_net,
            lpips_weights=options.user.lpips_weights,
            device=options.device,
            offline=options.offline,
        )
        if options.user.lpips_weights is not None:
            # A file that holds something else is told now, not at the first pair.
            self.scorer.load()
        self.options = {
            "protocol": options.user.protocol,
            "metrics": ["ssim", "psnr", "lpips"],
            "lpips_net": options.user.lpips_net,
        }

    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""
        return self.score_systems([samples])[0]

    def score_systems(self, systems: Sequence[Sequence[Sample]]) -> list[list[Row]]:
        """Each system's rows for the same records, whose images are read once."""
        records = [record for record, _ in systems[0]]
        found = self.scorer.score_systems(
            _outputs(systems),
            [record.output_images[0].data if record.output_images else None for record in records],
            inputs=[record.input_images[0].data if record.input_images else None for record in records],
            names=[record.id for record in records],
        )
        return [self._named(rows, samples) for rows, samples in zip(found, systems, strict=True)]

    def _named(self, rows: Sequence[Row], samples: Sequence[Sample]) -> list[Row]:
        rows = _name_failures(rows, [_image_reason(prediction) for _, prediction in samples])
        return [_flag_unresized(row, record.task) for row, (record, _) in zip(rows, samples, strict=True)]


class EmbeddingWork(Work):
    """Cosine of the output image's and the reference image's embeddings: the paper's MII."""

    budget = PixelWork.budget
    is_by_record = True
    is_batch_invariant = True

    def __init__(self, options: TierOptions) -> None:
        from medgen_metrics.embedding import EmbeddingTier

        self.scorer = EmbeddingTier(
            protocol=options.user.protocol,
            model=options.user.embedding_model,
            weights=options.user.embedding_weights,
            cache=options.user.embedding_cache or options.user.out / FEATURES,
            device=options.device,
            dtype=options.user.embedding_dtype,
            offline=options.offline,
        )
        if options.user.embedding_model is not None or options.user.embedding_weights is not None:
            # A file that holds something else is told now, not at the first pair.
            self.scorer.load()
        self.options = self.scorer.options

    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""
        return self.score_systems([samples])[0]

    def score_systems(self, systems: Sequence[Sequence[Sample]]) -> list[list[Row]]:
        """Each system's rows for the same records, whose references are encoded once."""
        from medgen_metrics.encoders.base import EncoderFault

        records = [record for record, _ in systems[0]]
        try:
            found = self.scorer.score_systems(
                _outputs(systems),
                [record.output_images[0].data if record.output_images else None for record in records],
                names=[record.id for record in records],
            )
        except EncoderFault as error:
            raise Failure(f"embedding: {error}") from error
        return [
            _name_failures(rows, [_image_reason(prediction) for _, prediction in samples])
            for rows, samples in zip(found, systems, strict=True)
        ]


class TextWork(Work):
    """BLEU, BERTScore and exact match of the answer against the reference answer."""

    batch = 64
    budget = 2**15  # characters
    needs_images = False

    def __init__(self, options: TierOptions) -> None:
        from medgen_metrics.text import TextTier

        self.scorer = TextTier(
            protocol=options.user.protocol,
            model=options.user.text_model,
            num_layers=options.user.text_layers,
            baseline_path=options.user.text_baseline,
            device=options.device,
            offline=options.offline,
            extras=options.user.text_extras,
            sentence_model=options.user.sentence_model,
        )
        self.options = self.scorer.options

    def cost(self, answer: str | None, prediction: Prediction | None) -> int:
        """Length in characters: an encoder pads a batch to its longest text."""
        return len(answer or "") + len((prediction.text if prediction is not None else None) or "")

    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""
        rows = self.scorer.score(
            predictions=[prediction.text if prediction is not None else None for _, prediction in samples],
            references=[record.answer for record, _ in samples],
            choices=[_choices(record) for record, _ in samples],
            tasks=[record.task for record, _ in samples],
        )
        return _name_failures(rows, [_text_reason(prediction) for _, prediction in samples])


def _judge(options: TierOptions) -> JudgeWork:
    return JudgeWork(
        judge_options.build(
            options.user.judge,
            protocol=options.user.protocol,
            out=options.user.out,
            device=options.device,
            offline=options.offline,
            processes=options.processes,
            dry_run=options.dry_run,
        ),
        has_budget=options.user.judge.max_requests is not None or options.user.judge.max_cost is not None,
    )


DIGESTS = {"pixel": image_digests, "text": text_digests, "embedding": image_digests, "judge": judge_digests}
TEXTS_ONLY = ("text",)
"""Tiers whose digests need no image."""
TIERS: dict[str, Callable[[TierOptions], Tier]] = {
    "pixel": PixelWork,
    "text": TextWork,
    "embedding": EmbeddingWork,
    "judge": _judge,
}
CONTENT_TIERS = {"vqa": ("text",), "edit": ("pixel",), "gen": ("pixel", "text")}
"""Config -> the tiers whose candidates are all that its predictions hold."""
CONFIG_TIERS = {
    config: (*names, *(["embedding"] if "pixel" in names else []), "judge") for config, names in CONTENT_TIERS.items()
}


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The tiers named, in the order of `TIERS`.

    Raises:
        UsageError: a name that is no tier, or none at all.
    """
    unknown = [name for name in names if name not in TIERS]
    if unknown or not names:
        raise UsageError(f"--tiers: expected some of {', '.join(TIERS)}, got {', '.join(unknown) or 'none'}")
    return tuple(name for name in TIERS if name in names)


def build(name: str, options: TierOptions) -> Tier:
    """Make a tier; its models are loaded once for all systems and configs.

    Raises:
        UsageError: options that the tier does not take.
    """
    try:
        return TIERS[name](options)
    except (ValueError, FileNotFoundError, ImportError) as error:
        raise UsageError(f"tier {name}: {error}") from error
