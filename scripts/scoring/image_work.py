"""The tiers of output images: pixels and embeddings."""

from collections.abc import Sequence
from typing import Any

from medgen_metrics.rows import Row
from medgen_metrics.signature import digest

from ..errors import Failure
from ..image_source import as_input
from ..image_source import sha256_of
from ..prediction import Prediction
from .work import Sample
from .work import TierOptions
from .work import Work
from .work import name_failures

RESOLUTION_TASK = "resolution-editing"
FEATURES = "feature-cache"  # in OUT: the references' embeddings
UNRESIZED = "unresized_resolution"  # flag of an output of that task that is left at the input's size


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


def _image_reason(prediction: Prediction | None) -> str:
    return (prediction.image_reason if prediction is not None else None) or "missing"


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


class _ImageWork(Work):
    budget = 2**24  # bytes of encoded reference and input images: 16 pairs of 512x512 or so
    is_by_record = True
    is_batch_invariant = True

    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""
        return self.score_systems([samples])[0]


class PixelWork(_ImageWork):
    """SSIM, PSNR and LPIPS of the output image against the reference image."""

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
        rows = name_failures(rows, [_image_reason(prediction) for _, prediction in samples])
        return [_flag_unresized(row, record.task) for row, (record, _) in zip(rows, samples, strict=True)]


class EmbeddingWork(_ImageWork):
    """Cosine of the output image's and the reference image's embeddings: the paper's MII."""

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
            name_failures(rows, [_image_reason(prediction) for _, prediction in samples])
            for rows, samples in zip(found, systems, strict=True)
        ]
