"""The tier of texts."""

import logging
from collections.abc import Sequence

from medgen_metrics.rows import Row
from medgen_metrics.signature import digest

from ..prediction import Prediction
from ..records import Record
from .work import Sample
from .work import TierOptions
from .work import Work
from .work import name_failures

logger = logging.getLogger(__name__)


def text_digests(sample: Sample) -> tuple[str, str]:
    """Digests of the answer, and of the reference text with all that its scoring depends on."""
    record, prediction = sample
    text = prediction.text if prediction is not None else None
    candidate = digest([_text_reason(prediction)] if text is None else text)
    return candidate, digest([record.answer, list(record.choices), record.task])


def _text_reason(prediction: Prediction | None) -> str:
    return (prediction.text_reason if prediction is not None else None) or "missing"


def _choices(record: Record) -> list[str]:
    """A record's options; none where they can't be told apart: a fault of the data, for which EM has a reason."""
    from medgen_metrics.options import read_options

    try:
        read_options(record.choices)
    except ValueError as error:
        logger.warning("%s: its options can't be used, so that EM leaves it unscored: %s", record.id, error)
        return []
    return list(record.choices)


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
        return name_failures(rows, [_text_reason(prediction) for _, prediction in samples])
