"""The text tier's extras: RadGraph F1, sentence similarity, agreement on closed findings, scores by section.

Which records an extra applies to depends on the reference alone, so that no answer can step aside by being short. A
record is a report where its task is `report-generation` or, where no task is given, its reference has a section
FINDINGS or IMPRESSION.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

from . import closed_findings
from . import radgraph_f1
from . import sentence
from .answer_text import is_blank
from .sections import SECTIONS
from .sections import sections
from .text_samples import CLOSED
from .text_samples import REPORT
from .text_samples import Sample
from .text_specs import NEGATION
from .text_specs import RADGRAPH
from .text_specs import in_section
from .text_specs import sentence_metric
from .weights import WeightsUnavailable

REVISION = 3  # of what the extras' numbers mean; a change makes runs with extras score again

Pair = tuple[str, str]  # candidate, reference


class Value(NamedTuple):
    """A metric's value for one pair, or why it has none; both None where it doesn't apply. A flag, or ""."""

    value: float | None
    reason: str | None = None
    flag: str = ""


def is_report(sample: Sample) -> bool:
    """Whether a sample's reference is a report."""
    return sample.task == REPORT or (not sample.task and bool(sections(sample.reference)))


class Extras:
    """The extras that the user chose.

    Args:
        chosen: some of `text_specs.EXTRAS`.
        sentence_model: the text encoder of `sentence`.
        device: torch's name.
        offline: don't try the network.

    Attributes:
        chosen: in the order of `EXTRAS`.
        unavailable: metric -> why it can't be scored here.

    Raises:
        ValueError: `sentence_model` is no encoder.
    """

    def __init__(
        self, chosen: Sequence[str], sentence_model: str | None, device: str | None, offline: bool | None
    ) -> None:
        self.chosen = tuple(chosen)
        self.unavailable: dict[str, str] = {}
        self._device = device
        self._files: radgraph_f1.RadGraphFiles | None = None
        self._graphs: radgraph_f1.Graphs | None = None
        self._encoder: sentence.Encoder | None = None
        self._sentence_name = sentence.sentence_name(sentence_model) if sentence_model else ""
        self._sentence = sentence_metric(sentence_model) if sentence_model else ""
        if "radgraph" in self.chosen:
            try:
                self._files = radgraph_f1.find_radgraph(offline)
                self._graphs = radgraph_f1.Graphs(self._files, device)
            except WeightsUnavailable as error:
                self._lack(RADGRAPH, error)
        if "sentence" in self.chosen and sentence_model is not None:
            try:
                self._encoder = sentence.find_sentence_encoder(sentence_model, offline)
            except WeightsUnavailable as error:
                self._lack(self._sentence, error)

    def _lack(self, metric: str, error: WeightsUnavailable) -> None:
        self.unavailable |= {in_section(metric, section): str(error) for section in self._sections}

    @property
    def _sections(self) -> tuple[str, ...]:
        return ("", *SECTIONS) if "sections" in self.chosen else ("",)

    @property
    def columns(self) -> tuple[str, ...]:
        """Floats of a row beside the metrics' own values."""
        return closed_findings.COLUMNS if "negation" in self.chosen else ()

    def definition(self) -> dict[str, Any]:
        """What determines the extras' scores; {} without any."""
        parts: dict[str, Any] = {}
        if "radgraph" in self.chosen:
            weights = self._files.digest if self._files is not None else None
            parts["radgraph"] = {"weights": weights, "level": radgraph_f1.LEVEL, "words": radgraph_f1.WORDS}
        if "sentence" in self.chosen:
            encoder = self._encoder
            parts["sentence"] = {
                "encoder": encoder.digest if encoder is not None else None,
                "tokens": sentence.limit_of(encoder.folder) if encoder is not None else None,
                "pooling": "mean",
            }
        if "negation" in self.chosen:
            parts["negation"] = closed_findings.definition()
        if "sections" in self.chosen:
            parts["sections"] = list(SECTIONS)
        return {**parts, "extras": REVISION} if parts else {}

    def signature(self) -> dict[str, str]:
        """The parts of the tier's signature that belong to the extras."""
        parts = {}
        if "radgraph" in self.chosen:
            files = self._files
            told = f"{files.digest}-lib-{files.version}" if files is not None else "missing"
            parts["radgraph"] = f"rg_er-{radgraph_f1.MODEL}-{told}-rev{REVISION}"
        if "sentence" in self.chosen:
            encoder = self._encoder
            told = f"{sentence.limit_of(encoder.folder)}tok-{encoder.digest}" if encoder is not None else "missing"
            parts["sentence"] = f"{self._sentence_name}-mean-cosine-{told}-rev{REVISION}"
        if "negation" in self.chosen:
            count = len(closed_findings.findings())
            parts["negation"] = f"{count}findings-{closed_findings.definition()}-rev{REVISION}"
        if "sections" in self.chosen:
            parts["sections"] = f"{'+'.join(SECTIONS)}-rev{REVISION}"
        return parts

    def section_pairs(self, samples: Sequence[Sample]) -> dict[str, dict[int, Pair]]:
        """Section -> index of a report whose reference has it -> the answer's section, "" where it lacks it, and that.

        {} where sections aren't chosen.
        """
        if "sections" not in self.chosen:
            return {}
        found: dict[str, dict[int, Pair]] = {section: {} for section in SECTIONS}
        for index, sample in enumerate(samples):
            if is_report(sample):
                own = sections(sample.text)
                for section, expected in sections(sample.reference).items():
                    found[section][index] = (own.get(section, ""), expected)
        return found

    def add(
        self,
        samples: Sequence[Sample],
        views: Mapping[str, Mapping[int, Pair]],
        values: Sequence[dict[str, float]],
        reasons: Sequence[dict[str, str]],
        flags: Sequence[list[str]],
    ) -> None:
        """Score the extras into each sample's values, reasons and flags.

        Args:
            samples: the batch.
            views: section ("" for the whole text) -> index -> the texts to compare.
            values: one a sample, added to.
            reasons: likewise.
            flags: likewise.
        """
        for section in SECTIONS:
            for index, (candidate, _) in views.get(section, {}).items():
                if is_blank(candidate) and not samples[index].reason:
                    flags[index].append(f"no_{section}")
        metrics = ([RADGRAPH] if "radgraph" in self.chosen else []) + ([self._sentence] if self._sentence else [])
        for metric in metrics:
            reports_only = metric == RADGRAPH
            places = [
                (section, index)
                for section, pairs in views.items()
                for index in pairs
                if samples[index].reason != "reference_missing" and (not reports_only or is_report(samples[index]))
            ]
            pairs = [views[section][index] for section, index in places]
            found = self._radgraph(pairs) if reports_only else self._similar(pairs)
            for (section, index), value in zip(places, found, strict=True):
                name = in_section(metric, section)
                reason = value.reason or (samples[index].reason if value.value is not None else None)
                if reason:
                    reasons[index][name] = reason
                elif value.value is not None:
                    values[index][name] = value.value
                if value.flag and not reason and value.flag not in flags[index]:
                    flags[index].append(value.flag)
            if not reports_only:
                for index, sample in enumerate(samples):
                    if sample.reason == "reference_missing":
                        reasons[index][metric] = "weights_missing" if metric in self.unavailable else sample.reason
        if "negation" in self.chosen:
            for index, sample in enumerate(samples):
                _add_negation(sample, values[index], reasons[index])

    def _radgraph(self, pairs: Sequence[Pair]) -> list[Value]:
        if self._graphs is None:
            return [Value(None, "weights_missing")] * len(pairs)
        found = radgraph_f1.radgraph_scores([pair[0] for pair in pairs], [pair[1] for pair in pairs], self._graphs)
        return [
            Value(None, "unparsable")
            if score is None
            else Value(score.f1, flag="radgraph_truncated" if score.truncated else "")
            for score in found
        ]

    def _similar(self, pairs: Sequence[Pair]) -> list[Value]:
        if self._encoder is None:
            return [Value(None, "weights_missing")] * len(pairs)
        spoken = [pair for pair in pairs if not is_blank(pair[0])]
        found = sentence.similarities(
            [pair[0] for pair in spoken], [pair[1] for pair in spoken], self._encoder, self._device
        )
        scored = {
            pair: Value(one.cosine, flag="sentence_truncated" if one.truncated else "")
            for pair, one in zip(spoken, found, strict=True)
        }
        return [scored.get(pair, Value(0.0)) for pair in pairs]


def _add_negation(sample: Sample, values: dict[str, float], reasons: dict[str, str]) -> None:
    if sample.task in CLOSED:
        return  # of a closed question exact match says more
    counts = closed_findings.compare(closed_findings.statuses(sample.text), closed_findings.statuses(sample.reference))
    if not counts.asserted:
        return
    if sample.reason:
        reasons[NEGATION] = sample.reason
        return
    values |= {NEGATION: counts.agreed / counts.asserted}
    values |= dict(zip(closed_findings.COLUMNS, map(float, counts), strict=True))
