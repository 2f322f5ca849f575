"""What a table says of the judge: its heading, and the foot that says how far its scores may be trusted."""

from collections.abc import Iterable
from collections.abc import Mapping

from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.specs import holistic
from medgen_metrics.judge.specs import layout_of
from medgen_metrics.judge.specs import specs

from ..result_file import Tier
from .columns import head
from .columns import metric_of
from .model import Table

TIER = "judge"
_OVERALL = ("holistic_", "dimensions_")
# Of the views shown: what they are called, and what the judge sees in each layout.
_CALLED = {VIEWS: "with and without", VIEWS[:1]: "with", VIEWS[1:]: "without"}
_SHOWN = {
    (VIEWS, "paper"): "the pictures that the public judge shows (with the reference: no input), every dimension asked",
    (VIEWS[:1], "paper"): "the pictures that the public judge shows (no input), every dimension asked",
    (VIEWS[1:], "paper"): "the pictures that the public judge shows, every dimension asked",
    (VIEWS, "standard"): "input, output and, with the reference, the reference image; only dimensions that apply",
    (VIEWS[:1], "standard"): "input, output and the reference image; only dimensions that apply",
    (VIEWS[1:], "standard"): "input and output; only dimensions that apply",
}


def heading(tier: Tier, name: str) -> str:
    """What a judge's column adds to its head: nothing for the paper's layout of a real judge."""
    if name != TIER:
        return ""
    marks = [_layout(tier)] if _layout(tier) != "paper" else []
    marks += ["stub"] if _is_stub(tier) else []
    return f" [{', '.join(marks)}]" if marks else ""


def _is_stub(tier: Tier) -> bool:
    """Whether a server that only plays a judge gave the scores; it says so in its fingerprint."""
    return "@stub" in tier.signature


def _layout(tier: Tier) -> str:
    return layout_of(tier.options.get("protocol", "paper"), tier.options.get("layout"))


def notes(table: Table, tiers: Mapping[str, Mapping[str, Tier]]) -> Iterable[str]:
    """The foot of a table with a judge's columns.

    Args:
        table: without notes.
        tiers: system -> tier -> its result.
    """
    judged = {system: made[TIER] for system, made in tiers.items() if TIER in made}
    shown = [metric_of(column.metric) for column in table.columns if column.tier == TIER]
    if not shown:
        return
    views = tuple(view for view in VIEWS if any(metric.endswith(f"_{view}") for metric in shown))
    heads = ", ".join(head(holistic(view)) for view in views)
    for layout in dict.fromkeys(_layout(tier) for tier in judged.values()):
        first = next(tier for tier in judged.values() if _layout(tier) == layout)
        sheet = specs(**first.options)[0]
        yield (
            f"{heads}: a judge's overall score, {sheet.low:g} to {sheet.high:g}, {_CALLED[views]} the "
            f"reference; the judge sees {_SHOWN[views, layout]}. Its prompt is this project's own, since the published "
            "one isn't public: not comparable with published Holistic scores."
        )
    if any(not metric.startswith(_OVERALL) for metric in shown):
        # of the single dimensions some aren't asked of a config: layout standard
        unasked = [name for tier in judged.values() for name, figures in tier.metrics.items() if not figures.n]
        if unasked:
            yield f"{', '.join(map(head, dict.fromkeys(unasked)))}: not applicable to these records, and not asked."
    if any(_is_stub(tier) for tier in judged.values()):
        yield "[stub]: a stub of a server made up these scores; they mean nothing."
    for system, tier in judged.items():
        for name, figures in tier.metrics.items():
            agreed = (figures.model_extra or {}).get("agreement")
            if agreed:
                kappas = "; ".join(f"{pair} {_two(kappa)}" for pair, kappa in agreed["weighted_kappa"].items())
                yield (
                    f"Agreement of the judges on {system}, {head(name)}, over {agreed['common']} records: "
                    f"Krippendorff's alpha {_two(agreed['alpha'])} (interval level); quadratic weighted kappa {kappas}."
                )
    warned: dict[str, list[str]] = {}
    for system, tier in judged.items():
        for warning in tier.warnings:
            metric, colon, said = warning.partition(": ")
            text = f"{head(metric)}{colon}{said}" if metric in tier.metrics else warning
            warned.setdefault(text, []).append(system)
    for warning, systems in warned.items():
        where = "" if len(systems) == len(judged) else f" ({', '.join(systems)})"
        yield f"Warning: {warning}{where}."


def _two(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"
