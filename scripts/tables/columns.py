"""The table's columns: heads and order as in the paper, and how a metric's specs are had again without its weights."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from medgen_metrics import locality
from medgen_metrics.judge.rubric import VERSIONS
from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import rubric
from medgen_metrics.judge.specs import dimension
from medgen_metrics.rows import MetricSpec
from medgen_metrics.sections import SECTIONS
from medgen_metrics.text_specs import EXTRAS
from medgen_metrics.text_specs import in_section
from medgen_metrics.weights import REGISTRY

from ..errors import UsageError

# Metric -> head, in the paper's order. A metric that isn't here comes last, under its own name.
HEADS = {
    "ssim": "SSIM",
    "psnr": "PSNR",
    "lpips": "LPIPS",
    "mii": "MII",
    "cosine": "Cosine",
    "bleu": "BLEU",
    "bertscore": "PBScore",
    "bertscore_rescaled": "PBScore (rescaled)",
    "em": "EM",
    "holistic_with_reference": "w. GT*",
    "holistic_without_reference": "w.o. GT*",
    "dimensions_with_reference": "w. GT* dims",
    "dimensions_without_reference": "w.o. GT* dims",
    # Of mixed units, so that each says its own.
    "changed_share": "Changed (%)",
    "changed_mae": "Error in (grey)",
    "changed_gain": "Done in (%)",
    "kept_mae": "Error out (grey)",
    "psnr_gain": "PSNR gain (dB)",
    # The text tier's extras.
    "radgraph_f1": "RadGraph F1 (RG_ER)",
    "sentence": "Sentence cosine",
    "negation_agreement": "Negation agreement",
}
# Diagnostics of the pixel tier (`medgen_metrics.locality`), and the judge's single dimensions: shown on request, never
# ranked.
LOCALITY = tuple(spec.name for spec in locality.SPECS)
DIMENSIONS = tuple(
    dimension(name, view)
    for view in VIEWS
    for name in dict.fromkeys(name for version in VERSIONS for name in rubric(version).names)
)
DIAGNOSTICS = (*LOCALITY, *DIMENSIONS)
HEADS |= {
    dimension(name, view): f"{name.replace('_', ' ')} {mark}"
    for view, mark in zip(VIEWS, ("w.", "w.o."), strict=True)
    for name in dict.fromkeys(name for version in VERSIONS for name in rubric(version).names)
}
# PBScore is BERTScore on PubMedBERT alone; on another encoder it goes by the general name.
VARIANT_HEADS = {"bertscore": "BERTScore", "bertscore_rescaled": "BERTScore (rescaled)"}
# A report's sections, each metric of texts by itself.
OF_TEXTS = ("bleu", "bertscore", "radgraph_f1", "sentence")
HEADS |= {in_section(name, section): f"{HEADS[name]} {section}" for name in OF_TEXTS for section in SECTIONS}
VARIANT_HEADS |= {in_section("bertscore", section): f"BERTScore {section}" for section in SECTIONS}
UNITS = {"psnr": "dB", "psnr_gain": "dB", "changed_mae": "grey levels", "kept_mae": "grey levels"}
# Tier -> module whose `specs(**options)` gives the tier's metric specs.
MODULES = {
    "pixel": "medgen_metrics.pixel",
    "text": "medgen_metrics.text",
    "embedding": "medgen_metrics.embedding",
    "judge": "medgen_metrics.judge.specs",
}


@dataclass(frozen=True, slots=True)
class Column:
    """One metric's column.

    Attributes:
        metric, tier: whose values it holds.
        head: the metric's name in print; a stand-in model is part of it, `LPIPS[squeeze]`.
        unit: `%` (values are stored in 0-1 and printed times 100), `dB`, `grey levels`, or empty.
        higher_is_better: direction.
        ranked: whether best and second may be set.
        signatures: the distinct signatures of the tiers whose values it holds.
    """

    metric: str
    tier: str
    head: str
    unit: str
    higher_is_better: bool
    ranked: bool
    signatures: tuple[str, ...]

    @property
    def arrow(self) -> str:
        """The head's arrow: which way is better; none where neither is."""
        if self.metric == "changed_share":
            return ""
        return "↑" if self.higher_is_better else "↓"

    @property
    def has_own_shares(self) -> bool:
        """Whether cells say how many answers are right and parsed, instead of how many are scored: the paper's EM."""
        return self.metric == "em" and not self.ranked

    def printed(self, value: float) -> str:
        """A value as the paper prints it: two decimals, percentages times 100."""
        return f"{value * 100 if self.unit == '%' else value:.2f}"


def split_mark(name: str) -> tuple[str, str]:
    """A column's metric and, of a pass rate, its mark: `ssim>=0.7` -> (`ssim`, `>=0.7`)."""
    metric, sign, limit = re.match(r"(.*?)(?:([<>]=)(.*))?$", name).groups("")  # type: ignore[union-attr]  # fits all
    return metric, sign + limit


def metric_of(name: str) -> str:
    """The metric that a column is about."""
    return split_mark(name)[0]


def split_name(name: str) -> tuple[str, str]:
    """A column's metric without, and the stand-in model it runs on: `lpips[squeeze]` -> (`lpips`, `squeeze`)."""
    base, _, variant = metric_of(name).partition("[")
    return base, variant.removesuffix("]")


def head(metric: str, mark_unit: str = "") -> str:
    """A metric's name in print, of a pass rate with its mark in `mark_unit`, as the metric's means are printed.

    >>> head("bertscore"), head("bertscore[all-MiniLM-L6-v2]"), head("lpips[squeeze]")
    ('PBScore', 'BERTScore[all-MiniLM-L6-v2]', 'LPIPS[squeeze]')
    >>> head("ssim>=0.7", "%"), head("psnr>=28", "dB"), head("ssim>=0.7")
    ('SSIM≥70%', 'PSNR≥28 dB', 'SSIM≥0.7')
    """
    base, variant = split_name(metric)
    mark = split_mark(metric)[1].replace(">=", "≥").replace("<=", "≤")
    if mark and mark_unit == "%":
        mark = f"{mark[0]}{float(mark[1:]) * 100:g}%"
    elif mark and mark_unit:
        mark = f"{mark} {mark_unit}"
    if not variant:
        return HEADS.get(base, base) + mark
    return f"{VARIANT_HEADS.get(base, HEADS.get(base, base))}[{variant}]{mark}"


def unit(spec: MetricSpec) -> str:
    """How a metric is printed: a range that ends at 1 as percentages, LPIPS too (its range is open), as the paper."""
    base, _ = split_name(spec.name)
    if spec.is_rate:
        return "%"
    return UNITS.get(base, "%" if spec.high == 1.0 or base == "lpips" else "")


def order(metric: str) -> tuple[int, str]:
    """Sort key of the paper's order; a stand-in's column follows the real one's."""
    base, _ = split_name(metric)
    names = list(HEADS)
    return (names.index(base) if base in names else len(names), metric)


def column_signature(signature: str, metric: str) -> str:
    """A tier's signature without the parts that belong to its other metrics: equal where the column's definition is.

    A part belongs to the metric it is called after, `sections` to metrics of one section; `weights` and `lib` belong to
    the metrics that have weights.
    """
    base = split_name(metric)[0]
    own = base.partition("_")[0]
    beside = "sections" if base.endswith(tuple(f"_{section}" for section in SECTIONS)) else ""
    have_weights = {*(weights.metric for weights in REGISTRY.values()), "cosine"}
    name, *parts = signature.split("|")
    keys = [part.partition(":")[0] for part in parts]
    kept = [
        part
        for part, key in zip(parts, keys, strict=True)
        if key in (own, beside)
        or (own in have_weights if key in ("weights", "lib") else key not in HEADS and key not in EXTRAS)
    ]
    return "|".join([name, *kept])


def weights_of(metric: str) -> str | None:
    """The name under which `medgen-bench weights fetch` gets a metric's weights; None where it has none to fetch."""
    base, variant = split_name(metric)
    names = [weights.name for weights in REGISTRY.values() if weights.metric == base]
    if variant:
        return f"{base}-{variant}" if f"{base}-{variant}" in names else None
    return names[0] if names else None


def tier_specs(path: Path, tier: str, options: Mapping[str, Any]) -> dict[str, MetricSpec]:
    """Metric -> spec of a tier that was scored under `options`.

    Raises:
        UsageError: this version doesn't know the tier or its options.
    """
    if tier not in MODULES:
        raise UsageError(
            f"{path}: expected tiers out of {', '.join(MODULES)}, got {tier!r}. "
            "It comes from another version: upgrade medgen-bench, or score again."
        )
    module = import_module(MODULES[tier])
    try:
        return {spec.name: spec for spec in module.specs(**options)}
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{path}: expected options of tier {tier} that this version knows, got {dict(options)!r:.200} ({error}). "
            "Run `medgen-bench score` again: it reuses every score whose definition is unchanged."
        ) from error
