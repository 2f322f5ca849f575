"""The text metrics' names, ranges and averages. Loads nothing, so that a table can be made from stored rows alone."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from . import bleu
from .bertscore import short_name
from .failures import is_system_failure
from .rows import MetricSpec
from .rows import Row
from .rows import mean

METRICS = ("bleu", "bertscore", "em")
PROTOCOLS = ("paper", "standard")


def specs(
    protocol: str = "paper", metrics: Sequence[str] = METRICS, model: str | None = None, rescaled: bool = False
) -> tuple[MetricSpec, ...]:
    """The metrics' names, ranges and averages; loads nothing.

    Args:
        protocol: `paper` or `standard`.
        metrics: some of `METRICS`.
        model: as `TextTier`; another encoder's score is named after it, `bertscore[all-MiniLM-L6-v2]`.
        rescaled: with the rescaled BERTScore, `bertscore_rescaled`.

    Raises:
        ValueError: an unknown protocol or metric.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol: expected one of {', '.join(PROTOCOLS)}, got {protocol!r}")
    unknown = [name for name in metrics if name not in METRICS]
    if unknown or not metrics:
        raise ValueError(
            f"metrics: expected some of {', '.join(METRICS)}, got {', '.join(map(repr, unknown)) or 'none'}"
        )
    encoder = short_name(model)
    suffix = f"[{encoder}]" if encoder is not None else ""
    found = {
        "bleu": [_bleu_spec(protocol)],
        "bertscore": [MetricSpec(f"bertscore{suffix}", -1.0, 1.0)],
        "em": [_em_spec(protocol)],
    }
    if rescaled:
        # The baseline's own score is 0; there is no lower end that a failure could be set to.
        found["bertscore"].append(MetricSpec(f"bertscore_rescaled{suffix}", None, 1.0))
    return tuple(spec for name in METRICS if name in metrics for spec in found[name])


def _bleu_spec(protocol: str) -> MetricSpec:
    if protocol == "paper":
        return MetricSpec("bleu", 0.0, 1.0)
    return MetricSpec(
        "bleu",
        0.0,
        1.0,
        average=_corpus_bleu,
        average_worst=_corpus_bleu_worst,
        statistics=bleu.STATISTICS,
        of_sums=bleu.corpus_bleu_of_sums,
    )


def _corpus_bleu(rows: Sequence[Row]) -> float | None:
    return bleu.corpus_bleu([row.values for row in rows if "bleu" in row.values])


def _corpus_bleu_worst(rows: Sequence[Row]) -> float | None:
    """A system's failure counts as an empty text: it adds the reference's length and no match."""
    return bleu.corpus_bleu(
        [row.values for row in rows if "bleu" in row.values or is_system_failure(row.reasons.get("bleu", ""))]
    )


def _em_spec(protocol: str) -> MetricSpec:
    # Published means leave unparsable answers out; every other failure is wrong.
    left_out = ("unparsable",) if protocol == "paper" else ()
    return MetricSpec("em", 0.0, 1.0, extras=_em_extras, left_out=left_out, is_rate=True)


def _em_extras(rows: Sequence[Row]) -> Mapping[str, Any]:
    closed = [row for row in rows if "em" in row.values]
    return {
        "right": sum(row.values["em"] == 1.0 for row in closed),
        "parsed": sum("em" not in row.reasons for row in closed),
        "closed": len(closed),
        "chance": mean([row.values["em_chance"] for row in closed if "em_chance" in row.values]),
    }
