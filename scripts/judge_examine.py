"""What `judge-check` finds of a judge: pairs judged, ordered, counted."""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING

from .errors import UsageError
from .progress import progress
from .terminal import say

if TYPE_CHECKING:
    from medgen_metrics.judge.accuracy import Accuracy
    from medgen_metrics.judge.accuracy import Ordering
    from medgen_metrics.judge.accuracy import Verdict
    from medgen_metrics.judge.probes import Original
    from medgen_metrics.judge.probes import Probe
    from medgen_metrics.judge.prompt import JudgeSample
    from medgen_metrics.judge.sway import Injected
    from medgen_metrics.judge.sway import Sway
    from medgen_metrics.judge.tier import JudgeTier
    from medgen_metrics.rows import Row


@dataclass(frozen=True, slots=True)
class OfView:
    """What was found in one view.

    Attributes:
        overall: of the overall score, over all pairs.
        verdict: what that says.
        by_kind: of the overall score, a kind of pair.
        by_dimension: dimension -> accuracy over the pairs to which it applies.
        failures: pairs that the overall score doesn't order rightly, ties too.
        sway: what injections did to the overall score; None where they were not asked for.
        sway_by_kind: the same a kind of injection.
    """

    overall: "Accuracy"
    verdict: "Verdict"
    by_kind: Mapping[str, "Accuracy"]
    by_dimension: Mapping[str, "Accuracy"]
    failures: Sequence["Ordering"]
    sway: "Sway | None" = None
    sway_by_kind: Mapping[str, "Sway"] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """All that was found of a judge.

    Attributes:
        signature: the judge's.
        mark: the accuracy that a fit judge exceeds.
        records: records a config.
        groups: source images.
        judged: outputs that were judged.
        views: view -> what was found.
    """

    signature: str
    mark: float
    records: Mapping[str, int]
    groups: int
    judged: int
    views: Mapping[str, OfView]


def examine(
    originals: Sequence["Original"], tier: "JudgeTier", seed: int = 0, mark: float = 0.8, injections: bool = True
) -> tuple[Check, Mapping[str, "Row"], Sequence["Probe"]]:
    """Judge the probes of records.

    Args:
        originals: the records.
        tier: the judge.
        seed: draws donors, options and injections.
        mark: the accuracy that a fit judge exceeds.
        injections: whether to judge outputs with injections too.

    Returns:
        What was found, the row of each judged output by its sample's id, and the pairs.

    Raises:
        UsageError: no pair can be made.
        ServingError: as `JudgeTier.score`.
    """
    from medgen_metrics.judge.probes import probes
    from medgen_metrics.judge.sway import injected

    pairs = probes(originals, seed, tier.views)
    if not pairs:
        raise UsageError(f"{len(originals)} records give no pair; expected more records, of several modalities")
    swayed = injected(pairs, tier.rubric, tier.views[0], seed) if injections else []
    samples: dict[str, JudgeSample] = {}
    for pair in pairs:
        samples |= {pair.right.id: pair.right, pair.wrong.id: pair.wrong}
    samples |= {pair.swayed.id: pair.swayed for pair in swayed}
    rows: dict[str, Row] = {}
    say(
        f"{len(pairs)} pairs of {len(originals)} records; {len(samples)} outputs are judged in "
        f"{len(tier.views)} view(s)"
    )
    with progress("judge-check", len(samples)) as advance:

        def put(name: str, row: "Row") -> None:
            rows[name] = row
            advance()

        tier.stream(samples.items(), put)
    counts: dict[str, int] = {}
    for original in originals:
        counts[original.sample.config] = counts.get(original.sample.config, 0) + 1
    check = Check(
        signature=tier.signature,
        mark=mark,
        records=counts,
        groups=len({pair.group for pair in pairs}),
        judged=len(samples),
        views={view: _of_view(view, pairs, swayed, rows, tier.rubric.names, mark) for view in tier.views},
    )
    return check, rows, pairs


def _of_view(
    view: str,
    pairs: Sequence["Probe"],
    swayed: Sequence["Injected"],
    rows: Mapping[str, "Row"],
    names: Sequence[str],
    mark: float,
) -> OfView:
    from medgen_metrics.judge.accuracy import accuracy
    from medgen_metrics.judge.accuracy import by
    from medgen_metrics.judge.accuracy import orderings
    from medgen_metrics.judge.accuracy import verdict
    from medgen_metrics.judge.probes import KINDS
    from medgen_metrics.judge.specs import dimension
    from medgen_metrics.judge.specs import holistic
    from medgen_metrics.judge.sway import sway

    metric = holistic(view)
    found = orderings(pairs, rows, view, metric)
    overall = accuracy(found)
    by_kind = by(found, lambda probe: probe.kind)
    kinds = dict.fromkeys(pair.kind for pair in swayed)
    return OfView(
        overall=overall,
        verdict=verdict(overall, mark),
        by_kind={kind: by_kind[kind] for kind in KINDS if kind in by_kind},
        by_dimension={name: accuracy(orderings(pairs, rows, view, dimension(name, view))) for name in names},
        failures=[ordering for ordering in found if ordering.value is not None and ordering.value < 1],
        sway=sway(swayed, rows, metric) if swayed else None,
        sway_by_kind={kind: sway([pair for pair in swayed if pair.kind == kind], rows, metric) for kind in kinds},
    )
