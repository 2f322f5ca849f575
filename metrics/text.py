"""The text tier: BLEU, BERTScore and exact match of answers against reference answers, under both protocols."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import bleu
from .bertscore import LAYERS
from .bertscore import LIMIT
from .bertscore import Encoder
from .bertscore import Score
from .bertscore import baseline
from .bertscore import bert_scores
from .bertscore import find_encoder
from .bertscore import short_name
from .blank import normal_filling
from .blank import parse_blank
from .exact_match import parse_choice
from .failures import is_refusal
from .options import whole_option
from .rows import Row
from .signature import signature
from .text_samples import BLANK
from .text_samples import CHOICE
from .text_samples import CLOSED
from .text_samples import Sample
from .text_samples import normalise
from .text_samples import read_samples
from .text_specs import METRICS
from .text_specs import specs
from .weights import PUBMEDBERT
from .weights import WeightsUnavailable

__all__ = ["METRICS", "TextTier", "specs"]

REVISION = 1  # of what the numbers mean; a change makes journals score again


class TextTier:
    """Scores answers.

    Args:
        protocol: `paper` or `standard` (DESIGN section 5).
        metrics: some of `bleu`, `bertscore`, `em`.
        model: BERTScore's encoder: None for PubMedBERT, else a Hub id, a folder, or `NAME=FOLDER`.
        num_layers: the layer that BERTScore compares; default 12 for PubMedBERT, else the last.
        baseline_path: a baseline file of bert-score's format (LAYER,P,R,F): adds `bertscore_rescaled`; `standard` only.
        device: torch's name; default CUDA where there is some.
        offline: don't try to download weights.

    Attributes:
        specs, columns, signature: as `module.Tier`.
        definition: what determines a score, without package versions.
        unavailable: metric -> why it can't be scored here; its rows say `weights_missing`.
        options: keywords of `specs` that give these specs again.

    Raises:
        ValueError: a wrong option.
    """

    name = "text"

    def __init__(
        self,
        protocol: str = "paper",
        metrics: Sequence[str] = METRICS,
        model: str | None = None,
        num_layers: int | None = None,
        baseline_path: str | Path | None = None,
        device: str | None = None,
        offline: bool | None = None,
    ) -> None:
        if baseline_path is not None and protocol != "standard":
            raise ValueError(f"baseline_path: the {protocol} protocol doesn't rescale; use protocol='standard'")
        self.options: dict[str, Any] = {
            "protocol": protocol,
            "metrics": [name for name in METRICS if name in metrics],
            "model": short_name(model),
            "rescaled": baseline_path is not None,
        }
        self.specs = specs(protocol, tuple(metrics), model, baseline_path is not None)
        self.protocol = protocol
        self.device = device
        self.metrics = {spec.name for spec in self.specs}
        self._bert_names = [spec.name for spec in self.specs if spec.name.startswith("bertscore")]
        self.unavailable: dict[str, str] = {}
        self._encoder: Encoder | None = None
        if self._bert_names:
            try:
                self._encoder = find_encoder(model, num_layers, offline)
            except WeightsUnavailable as error:
                self.unavailable = dict.fromkeys(self._bert_names, str(error))
        self._baseline = None
        if baseline_path is not None and self._encoder is not None:
            self._baseline = baseline(Path(baseline_path), self._encoder.layers)
        self.definition = self._definition()
        self.signature = self._signature()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all floats that a row may hold."""
        more = (*bleu.STATISTICS,) if self._is_corpus else ()
        return (*(spec.name for spec in self.specs), *more, *(("em_chance",) if "em" in self.metrics else ()))

    @property
    def _is_corpus(self) -> bool:
        return self.protocol == "standard" and "bleu" in self.metrics

    def _definition(self) -> dict[str, Any]:
        parts: dict[str, Any] = {}
        if "bleu" in self.metrics:
            parts["bleu"] = "sacrebleu corpus, raw text, 13a, exp" if self._is_corpus else "sentence-4, method1 0.1"
        if self._bert_names:
            encoder = self._encoder
            parts["bertscore"] = {
                "encoder": encoder.digest if encoder is not None else None,
                "layer": encoder.layers if encoder is not None else None,
                "tokens": LIMIT,
                "baseline": self._baseline,
            }
        if "em" in self.metrics:
            parts["em"] = "option or blank parsed"
        return {"tier": self.name, "revision": REVISION, "protocol": self.protocol, "metrics": parts}

    def _signature(self) -> str:
        encoder = self._encoder
        name = self.options["model"] or PUBMEDBERT.partition("/")[2]
        parts: dict[str, Any] = {"protocol": self.protocol}
        if "bleu" in self.metrics:
            parts["bleu"] = bleu.sacrebleu_signature() if self._is_corpus else "sentence4-method1-eps0.1-whitespace"
        if self._bert_names:
            rescaled = "" if self._baseline is None else "-rescaled"
            parts["bertscore"] = f"{name}-L{encoder.layers if encoder else LAYERS}-{LIMIT}tok-f1{rescaled}"
            parts["weights"] = encoder.digest if encoder else "missing"
            parts["lib"] = f"bert-score-{version('bert-score')}"
        if "em" in self.metrics:
            parts["em"] = f"option-or-blank-{'parsed-only' if self.protocol == 'paper' else 'all-closed'}"
        return signature("medgen_text", {**parts, "rev": REVISION})

    def score(
        self,
        predictions: Sequence[str | None],
        references: Sequence[str | None],
        choices: Sequence[Sequence[str] | None] | None = None,
        tasks: Sequence[str | None] | None = None,
    ) -> list[Row]:
        """One row a sample, in order.

        Args:
            predictions: answers; None is a missing one.
            references: reference answers; None or blank is a missing one.
            choices: each sample's options (`A. left lung`, or bare bodies, which are lettered in order); `[]` for none.
            tasks: each sample's task; `multiple-choice` and `blank-filling` are closed (case, `_` and spaces don't
                matter), all else is open. Where it is not given, a sample with options is multiple choice and any
                other open.

        Raises:
            TypeError: a value of a wrong type, with its position.
            ValueError: inputs of unequal length; options that can't be read; a task that is nearly a closed one's name.

        Warns:
            UserWarning: options of an open task, which nothing uses.
        """
        samples = read_samples(predictions, references, choices, tasks)
        berts = self._bert(samples)
        return [self._row(sample, bert) for sample, bert in zip(samples, berts, strict=True)]

    def _compared(self, sample: Sample) -> tuple[str, str]:
        """Candidate and reference as BLEU and BERTScore see them."""
        if self.protocol == "standard":
            return sample.text, sample.reference
        return (
            normalise(sample.text, sample.task, sample.options),
            normalise(sample.reference, sample.task, sample.options),
        )

    def _bert(self, samples: Sequence[Sample]) -> list[Score | None]:
        scores: list[Score | None] = [None] * len(samples)
        if self._encoder is None:
            return scores
        seen = [index for index, sample in enumerate(samples) if not sample.reason and not sample.is_blank]
        pairs = [self._compared(samples[index]) for index in seen]
        found = bert_scores([pair[0] for pair in pairs], [pair[1] for pair in pairs], self._encoder, self.device)
        for index, score in zip(seen, found, strict=True):
            scores[index] = score
        return scores

    def _row(self, sample: Sample, bert: Score | None) -> Row:
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        flags = []
        if "bleu" in self.metrics:
            self._add_bleu(sample, values, reasons)
        for name in self._bert_names:
            if name in self.unavailable:
                reasons[name] = "weights_missing"
            elif sample.reason:
                reasons[name] = sample.reason
            else:
                f1 = bert.f1 if bert is not None else 0.0
                values[name] = self._rescaled(f1) if name.startswith("bertscore_rescaled") else f1
        if "em" in self.metrics and sample.task in CLOSED:
            _add_em(sample, values, reasons)
        if not sample.reason and sample.is_blank:
            flags.append("empty")
        if not sample.reason and is_refusal(sample.text):
            flags.append("refused")
        if bert is not None and bert.truncated:
            flags.append("truncated")
        return Row(values, reasons, tuple(flags))

    def _rescaled(self, f1: float) -> float:
        low = self._baseline or 0.0
        return (f1 - low) / (1 - low)

    def _add_bleu(self, sample: Sample, values: dict[str, float], reasons: dict[str, str]) -> None:
        candidate, reference = self._compared(sample)
        if self._is_corpus and sample.reason != "reference_missing":
            values.update(bleu.statistics("" if sample.is_blank else candidate, reference))
        elif not sample.reason:
            values["bleu"] = 0.0 if sample.is_blank else bleu.sentence_bleu(candidate, reference)
        if sample.reason:
            values.pop("bleu", None)
            reasons["bleu"] = sample.reason


def _add_em(sample: Sample, values: dict[str, float], reasons: dict[str, str]) -> None:
    expected: str | None
    if sample.task == CHOICE:
        option = whole_option(sample.reference, sample.options)
        expected = option.letter if option is not None else None
    else:
        expected = normal_filling(sample.reference) or None
    if expected is None:
        # Without options, or with an answer that is none of them, nothing can be right.
        reasons["em"] = "reference_missing"
        return
    if sample.task == CHOICE:
        values["em_chance"] = 1 / len(sample.options)
    if sample.reason:
        values["em"], reasons["em"] = 0.0, sample.reason
        return
    if sample.task == CHOICE:
        parsed = parse_choice(sample.text, sample.options)
        right = parsed.answer == expected
    else:
        parsed = parse_blank(sample.text)
        # A reference of several lines is never a last line.
        right = parsed.answer == expected or normal_filling(sample.text) == expected
    values["em"] = float(right)
    if not right and is_refusal(sample.text) and (parsed.answer is None or sample.task == BLANK):
        reasons["em"] = "refused"
    elif not right and parsed.answer is None:
        reasons["em"] = parsed.status
