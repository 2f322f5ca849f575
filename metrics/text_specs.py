"""The text metrics' names, ranges and averages. Loads nothing, so that a table can be made from stored rows alone."""

from collections.abc import Mapping
from collections.abc import Sequence

from . import bleu
from . import closed_findings
from .bertscore import short_name
from .failures import is_system_failure
from .rows import MetricSpec
from .rows import Row
from .rows import Summed
from .sections import SECTIONS
from .sentence import sentence_name

METRICS = ("bleu", "bertscore", "em")
EXTRAS = ("radgraph", "sentence", "negation", "sections")
PROTOCOLS = ("paper", "standard")
RADGRAPH, NEGATION = "radgraph_f1", "negation_agreement"


def in_section(metric: str, section: str) -> str:
    """A metric's name where it is of one section; "" is the whole text.

    >>> in_section("bertscore[biobert]", "findings"), in_section("bleu", "")
    ('bertscore_findings[biobert]', 'bleu')
    """
    base, bracket, rest = metric.partition("[")
    return f"{base}_{section}{bracket}{rest}" if section else metric


def sentence_metric(model: str) -> str:
    """What the similarity by a text encoder is called: `sentence[<name>]`."""
    return f"sentence[{sentence_name(model)}]"


def specs(
    protocol: str = "paper",
    metrics: Sequence[str] = METRICS,
    model: str | None = None,
    rescaled: bool = False,
    extras: Sequence[str] = (),
    sentence_model: str | None = None,
) -> tuple[MetricSpec, ...]:
    """The metrics' names, ranges and averages; loads nothing.

    Args:
        protocol: `paper` or `standard`.
        metrics: some of `METRICS`.
        model: as `TextTier`; another encoder's score is named after it, `bertscore[all-MiniLM-L6-v2]`.
        rescaled: with the rescaled BERTScore, `bertscore_rescaled`.
        extras: some of `EXTRAS`; `sections` adds each other metric of texts a section, `bleu_findings`.
        sentence_model: as `TextTier`; its similarity is named after it, `sentence[all-MiniLM-L6-v2]`.

    Raises:
        ValueError: an unknown protocol, metric or extra, or one that lacks what it needs.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    unknown = [name for name in metrics if name not in METRICS]
    if unknown or not metrics:
        raise ValueError(
            f"metrics: expected some of {', '.join(METRICS)}, got {', '.join(map(repr, unknown)) or 'none'}"
        )
    _check_extras(extras, metrics, sentence_model)
    encoder = short_name(model)
    suffix = f"[{encoder}]" if encoder is not None else ""
    found = {
        "bleu": [_bleu_spec(protocol, "bleu")],
        "bertscore": [MetricSpec(f"bertscore{suffix}", -1.0, 1.0)],
        "em": [_em_spec(protocol)],
    }
    if rescaled:
        # The baseline's own score is 0; there is no lower end that a failure could be set to.
        found["bertscore"].append(MetricSpec(f"bertscore_rescaled{suffix}", None, 1.0))
    plain = [spec for name in METRICS if name in metrics for spec in found[name]]
    return (*plain, *_extra_specs(protocol, plain, extras, sentence_model))


def _check_extras(extras: Sequence[str], metrics: Sequence[str], sentence_model: str | None) -> None:
    unknown = [name for name in extras if name not in EXTRAS]
    if isinstance(extras, str) or unknown:
        raise ValueError(f"extras: expected a list of some of {', '.join(EXTRAS)}, got {extras!r}")
    if "sentence" in extras and not sentence_model:
        raise ValueError(
            "sentence_model: the extra `sentence` needs a text encoder (Hub id or folder), none is taken by default; "
            "e.g. sentence-transformers/all-MiniLM-L6-v2"
        )
    if sentence_model and "sentence" not in extras:
        raise ValueError("sentence_model: only the extra `sentence` uses it; name the extra, too")
    if "sections" in extras and not {"bleu", "bertscore", "radgraph", "sentence"} & {*metrics, *extras}:
        raise ValueError(
            "extras: `sections` needs a metric to score sections by: bleu, bertscore, radgraph or sentence"
        )


def _extra_specs(
    protocol: str, plain: Sequence[MetricSpec], extras: Sequence[str], sentence_model: str | None
) -> list[MetricSpec]:
    of_texts = [spec for spec in plain if spec.name.partition("[")[0] in ("bleu", "bertscore")]
    found = []
    if "radgraph" in extras:
        found.append(MetricSpec(RADGRAPH, 0.0, 1.0))
    if "sentence" in extras:
        found.append(MetricSpec(sentence_metric(str(sentence_model)), -1.0, 1.0))
    of_texts += found
    if "negation" in extras:
        found.append(MetricSpec(NEGATION, 0.0, 1.0, extras=_NEGATION_FIGURES))
    if "sections" in extras:
        found += [
            _bleu_spec(protocol, in_section("bleu", section))
            if spec.name == "bleu"
            else MetricSpec(in_section(spec.name, section), spec.low, spec.high)
            for spec in of_texts
            for section in SECTIONS
        ]
    return found


def bleu_statistics(name: str) -> tuple[str, ...]:
    """The columns of a corpus BLEU's sums: those of `bleu.STATISTICS` under the metric's own name."""
    return tuple(column.replace("bleu", name, 1) for column in bleu.STATISTICS)


def _bleu_spec(protocol: str, name: str) -> MetricSpec:
    if protocol == "paper":
        return MetricSpec(name, 0.0, 1.0)
    statistics = bleu_statistics(name)

    def average(rows: Sequence[Row]) -> float | None:
        return bleu.corpus_bleu([row.values for row in rows if name in row.values], statistics)

    def average_worst(rows: Sequence[Row]) -> float | None:
        """A system's failure counts as an empty text: it adds the reference's length and no match."""
        counted = [row.values for row in rows if name in row.values or is_system_failure(row.reasons.get(name, ""))]
        return bleu.corpus_bleu(counted, statistics)

    return MetricSpec(
        name,
        0.0,
        1.0,
        average=average,
        average_worst=average_worst,
        statistics=statistics,
        of_sums=bleu.corpus_bleu_of_sums,
    )


def _em_spec(protocol: str) -> MetricSpec:
    # Published means leave unparsable answers out; every other failure is wrong.
    left_out = ("unparsable",) if protocol == "paper" else ()
    return MetricSpec("em", 0.0, 1.0, extras=_EM_FIGURES, left_out=left_out, is_rate=True)


def _em_parts(row: Row) -> tuple[float, ...]:
    right, chance = row.values.get("em"), row.values.get("em_chance")
    if right is None:
        return (0.0,) * 5
    return (float(right == 1.0), float("em" not in row.reasons), 1.0, chance or 0.0, float(chance is not None))


def _em_figures(sums: Mapping[str, float]) -> dict[str, float | None]:
    counts = {name: int(sums[name]) for name in ("right", "parsed", "closed")}
    return {**counts, "chance": sums["chance"] / sums["choices"] if sums["choices"] else None}


_EM_FIGURES = Summed(("right", "parsed", "closed", "chance", "choices"), _em_parts, _em_figures)


def _negation_parts(row: Row) -> list[float]:
    return [row.values.get(column, 0.0) for column in closed_findings.COLUMNS]


def _negation_figures(sums: Mapping[str, float]) -> dict[str, float | None]:
    asserted, agreed, contradicted = (int(sums[column]) for column in closed_findings.COLUMNS)
    compared = agreed + contradicted
    return {
        "asserted": asserted,
        "compared": compared,
        "agreed": agreed,
        "contradicted": contradicted,
        "of_compared": agreed / compared if compared else None,
    }


_NEGATION_FIGURES = Summed(closed_findings.COLUMNS, _negation_parts, _negation_figures)
