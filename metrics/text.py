"""The text tier: BLEU, BERTScore and exact match of answers against reference answers, under both protocols."""

from collections.abc import Mapping
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import bleu
from .answer_text import is_blank
from .bertscore import LAYERS
from .bertscore import LIMIT
from .bertscore import Encoder
from .bertscore import Score
from .bertscore import baseline
from .bertscore import bert_scores
from .bertscore import find_encoder
from .bertscore import short_name
from .failures import is_refusal
from .rows import Row
from .sentence import sentence_name
from .signature import signature
from .text_em import add_em
from .text_extras import Extras
from .text_extras import Pair
from .text_samples import CLOSED
from .text_samples import Sample
from .text_samples import normalise
from .text_samples import read_samples
from .text_specs import EXTRAS
from .text_specs import METRICS
from .text_specs import bleu_statistics
from .text_specs import in_section
from .text_specs import specs
from .weights import PUBMEDBERT
from .weights import WeightsUnavailable

__all__ = ["METRICS", "TextTier", "specs"]

_BERT = ("bertscore", "bertscore_rescaled")
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
        extras: some of `radgraph`, `sentence`, `negation`, `sections` (`text_extras`); default none.
        sentence_model: the text encoder of `sentence`: a Hub id, a folder, or `NAME=FOLDER`.

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
        extras: Sequence[str] = (),
        sentence_model: str | None = None,
    ) -> None:
        if baseline_path is not None and protocol != "standard":
            raise ValueError(f"baseline_path: the {protocol} protocol doesn't rescale; use protocol='standard'")
        self.options: dict[str, Any] = {
            "protocol": protocol,
            "metrics": [name for name in METRICS if name in metrics],
            "model": short_name(model),
            "rescaled": baseline_path is not None,
        }
        self.specs = specs(protocol, tuple(metrics), model, baseline_path is not None, extras, sentence_model)
        if extras:
            self.options["extras"] = [name for name in EXTRAS if name in extras]
            self.options["sentence_model"] = sentence_name(sentence_model) if sentence_model else None
        self.protocol = protocol
        self.device = device
        self.metrics = dict.fromkeys(spec.name for spec in self.specs)
        self._bert_names = [name for name in self.metrics if name.partition("[")[0] in _BERT]
        self.unavailable: dict[str, str] = {}
        self._encoder: Encoder | None = None
        if self._bert_names:
            try:
                self._encoder = find_encoder(model, num_layers, offline)
            except WeightsUnavailable as error:
                lacking = (name for name in self.metrics if name.startswith("bertscore"))
                self.unavailable = dict.fromkeys(lacking, str(error))
        self._extras = Extras(self.options.get("extras", ()), sentence_model, device, offline)
        self.unavailable |= self._extras.unavailable
        self._baseline = None
        if baseline_path is not None and self._encoder is not None:
            self._baseline = baseline(Path(baseline_path), self._encoder.layers)
        self.definition = self._definition()
        self.signature = self._signature()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all floats that a row may hold."""
        more = [column for spec in self.specs for column in spec.statistics]
        chance = ("em_chance",) if "em" in self.metrics else ()
        return (*(spec.name for spec in self.specs), *more, *chance, *self._extras.columns)

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
        parts |= self._extras.definition()
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
        return signature("medgen_text", {**parts, **self._extras.signature(), "rev": REVISION})

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
        views = {"": {index: self._compared(sample) for index, sample in enumerate(samples)}}
        for section, pairs in self._extras.section_pairs(samples).items():
            views[section] = {index: self._normalised(samples[index], pair) for index, pair in pairs.items()}
        values: list[dict[str, float]] = [{} for _ in samples]
        reasons: list[dict[str, str]] = [{} for _ in samples]
        flags: list[list[str]] = [[] for _ in samples]
        berts = self._bert(samples, views)
        for section, compared in views.items():
            for index, pair in compared.items():
                sample, bert = samples[index], berts.get((section, index))
                self._add_bleu(in_section("bleu", section), sample, pair, values[index], reasons[index])
                self._add_bert(section, sample, bert, values[index], reasons[index])
                if not section:
                    if "em" in self.metrics and sample.task in CLOSED:
                        add_em(sample, values[index], reasons[index])
                    flags[index] += _flags(sample, bert)
        self._extras.add(samples, views, values, reasons, flags)
        return [Row(*row) for row in zip(values, reasons, map(tuple, flags), strict=True)]

    def _compared(self, sample: Sample) -> Pair:
        """Candidate and reference as BLEU and BERTScore see them."""
        return self._normalised(sample, (sample.text, sample.reference))

    def _normalised(self, sample: Sample, pair: Pair) -> Pair:
        if self.protocol == "standard":
            return pair
        candidate, reference = (normalise(text, sample.task, sample.options) for text in pair)
        return candidate, reference

    def _bert(self, samples: Sequence[Sample], views: Mapping[str, Mapping[int, Pair]]) -> dict[tuple[str, int], Score]:
        """(section, index) -> score, of those that have two texts."""
        scores: dict[tuple[str, int], Score] = {}
        # Whole texts by themselves: beside sections they would be in other batches, which can move their last bits.
        for sections in ({""}, set(views) - {""}):
            seen = {
                (section, index): pair
                for section in sorted(sections)
                for index, pair in views[section].items()
                if not samples[index].reason and not is_blank(pair[0])
            }
            if self._encoder is not None:
                pairs = seen.values()
                found = bert_scores(
                    [pair[0] for pair in pairs], [pair[1] for pair in pairs], self._encoder, self.device
                )
                scores |= dict(zip(seen, found, strict=True))
        return scores

    def _add_bert(
        self, section: str, sample: Sample, bert: Score | None, values: dict[str, float], reasons: dict[str, str]
    ) -> None:
        for plain in self._bert_names:
            name = in_section(plain, section)
            if name not in self.metrics:
                continue  # rescaled scores are of whole texts
            if plain in self.unavailable:
                reasons[name] = "weights_missing"
            elif sample.reason:
                reasons[name] = sample.reason
            else:
                f1 = bert.f1 if bert is not None else 0.0
                values[name] = self._rescaled(f1) if plain.startswith("bertscore_rescaled") else f1

    def _rescaled(self, f1: float) -> float:
        low = self._baseline or 0.0
        return (f1 - low) / (1 - low)

    def _add_bleu(
        self, name: str, sample: Sample, pair: Pair, values: dict[str, float], reasons: dict[str, str]
    ) -> None:
        if name not in self.metrics:
            return
        candidate, reference = ("" if is_blank(pair[0]) else pair[0]), pair[1]
        if self._is_corpus and sample.reason != "reference_missing":
            found = bleu.statistics(candidate, reference)
            values[name] = found["bleu"]
            columns = zip(bleu.STATISTICS, bleu_statistics(name), strict=True)
            values |= {own: found[plain] for plain, own in columns}
        elif not sample.reason:
            values[name] = bleu.sentence_bleu(candidate, reference) if candidate else 0.0
        if sample.reason:
            values.pop(name, None)
            reasons[name] = sample.reason


def _flags(sample: Sample, bert: Score | None) -> list[str]:
    flags = []
    if not sample.reason and sample.is_blank:
        flags.append("empty")
    if not sample.reason and is_refusal(sample.text):
        flags.append("refused")
    if bert is not None and bert.truncated:
        flags.append("truncated")
    return flags
