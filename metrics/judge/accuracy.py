"""How often a judge orders pairs rightly, and what that says of it.

Pairs of one source image are no independent draws, so intervals resample source images (`bootstrap`). The normal
approximation by which the number of pairs that would settle a verdict is found keeps the clustering, since it scales
the interval that was seen.
"""

from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from statistics import NormalDist
from typing import NamedTuple

from ..bootstrap import LEVEL
from ..bootstrap import mean_interval
from ..rows import Row
from ..rows import mean
from .probes import Probe

MARK = 0.8
"""Default mark of pairwise accuracy: a judge below it misorders every fifth pair that nobody should misorder."""
MIN_GROUPS = 10
"""Source images below which no verdict is given: of few clusters a bootstrap's intervals are too narrow (A. C. Cameron,
J. B. Gelbach and D. L. Miller, Review of Economics and Statistics 90, 2008)."""
MIN_JUDGED = 0.95
"""Share of pairs with a verdict on both sides below which a judge can't be called fit."""
POWER = 0.8


@dataclass(frozen=True, slots=True)
class Ordering:
    """What a judge made of one pair.

    Attributes:
        probe: the pair.
        right, wrong: the two scores; None where there is no usable verdict.
    """

    probe: Probe
    right: float | None
    wrong: float | None

    @property
    def value(self) -> float | None:
        """1 ordered rightly, 0.5 a tie, 0 wrongly; None where either score is missing."""
        if self.right is None or self.wrong is None:
            return None
        return 0.5 if self.right == self.wrong else float(self.right > self.wrong)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Pairwise accuracy over some pairs.

    Attributes:
        pairs: how many there are.
        judged: of these with both scores.
        ties: of these with equal scores, which count half.
        value: the accuracy; None where nothing is judged.
        low, high: its 95 % interval; None where fewer than two source images leave nothing to draw.
        groups: source images with a judged pair.
    """

    pairs: int
    judged: int
    ties: int
    value: float | None
    low: float | None
    high: float | None
    groups: int


class Verdict(NamedTuple):
    """What an accuracy says of a judge.

    Attributes:
        word: `fit`, `not fit` or `undetermined`.
        why: in words.
        needed: pairs that would settle it, where more pairs would; else None.
    """

    word: str
    why: str
    needed: int | None


def orderings(probes: Sequence[Probe], scores: Mapping[str, Row], view: str, metric: str) -> list[Ordering]:
    """The orderings of the pairs that hold in a view.

    Args:
        probes: the pairs.
        scores: sample id -> row.
        view: a view of the judge.
        metric: a column of the rows. Pairs of tasks to which it doesn't apply are left out.
    """
    found = []
    for probe in probes:
        sides = [scores[probe.right.id], scores[probe.wrong.id]]
        if view in probe.views and any(metric in row.values or metric in row.reasons for row in sides):
            found.append(Ordering(probe, sides[0].values.get(metric), sides[1].values.get(metric)))
    return found


def accuracy(found: Sequence[Ordering]) -> Accuracy:
    """Pairwise accuracy with an interval that is clustered by source image."""
    judged = [(value, ordering.probe.group) for ordering in found if (value := ordering.value) is not None]
    values = [value for value, _ in judged]
    groups = [group for _, group in judged]
    low, high = _interval(values, groups)
    return Accuracy(
        pairs=len(found),
        judged=len(judged),
        ties=values.count(0.5),
        value=mean(values),
        low=low,
        high=high,
        groups=len(set(groups)),
    )


def by(found: Sequence[Ordering], key: Callable[[Probe], str]) -> dict[str, Accuracy]:
    """Accuracies a group of pairs, e.g. a kind; in the order in which the groups come first."""
    parts: dict[str, list[Ordering]] = {}
    for ordering in found:
        parts.setdefault(key(ordering.probe), []).append(ordering)
    return {name: accuracy(part) for name, part in parts.items()}


def _interval(values: Sequence[float], groups: Sequence[str]) -> tuple[float | None, float | None]:
    """The clustered interval, widened for the number of clusters; Wilson's where all values are alike."""
    made = mean_interval(values, groups, is_rate=not set(values) - {0.0, 1.0})
    if made.groups < 2:
        return None, None
    if set(values) == {0.5}:
        # Nothing but ties: every resample is alike, which says nothing of the uncertainty; as `bootstrap.wilson` does.
        from statsmodels.stats.proportion import proportion_confint

        sizes = [groups.count(group) for group in set(groups)]
        effective = max(1, int(sum(sizes) ** 2 / sum(size**2 for size in sizes) + 1e-9))
        low, high = proportion_confint(effective / 2, effective, alpha=1 - LEVEL, method="wilson")
        return float(low), float(high)
    middle = mean(values)
    if len(set(values)) == 1 or middle is None or made.low is None or made.high is None:
        return made.low, made.high
    # A percentile interval is too narrow by sqrt((G - 1) / G) and takes the normal's quantile for Student's (T. C.
    # Hesterberg, The American Statistician 69, 2015, section 5.3, "expanded percentile interval").
    from scipy.stats import t

    upper = (1 + LEVEL) / 2
    factor = (made.groups / (made.groups - 1)) ** 0.5 * t.ppf(upper, made.groups - 1) / NormalDist().inv_cdf(upper)
    return max(0.0, middle - factor * (middle - made.low)), min(1.0, middle + factor * (made.high - middle))


def verdict(figure: Accuracy, mark: float = MARK) -> Verdict:
    """`fit` or `not fit` only where the interval clears the mark.

    Args:
        figure: the accuracy of the overall score over all pairs.
        mark: the accuracy that a fit judge exceeds.
    """
    if figure.value is None or figure.low is None or figure.high is None:
        why = (
            f"usable verdicts of {figure.judged} of {figure.pairs} pairs, {figure.groups} source image(s): no interval"
        )
        return Verdict("undetermined", why, None)
    shown = f"{figure.value:.3f} [{figure.low:.3f}, {figure.high:.3f}]"
    if figure.groups < MIN_GROUPS:
        least = ceil(figure.judged * MIN_GROUPS / figure.groups)
        why = f"{shown}, but {figure.groups} source images are too few for an interval; {MIN_GROUPS} are the least"
        return Verdict("undetermined", why, max(least, pairs_needed(figure, mark) or 0))
    if figure.high < mark:
        return Verdict("not fit", f"{shown} lies below {mark:g}", None)
    if figure.judged < MIN_JUDGED * figure.pairs:
        why = f"{shown}, but only {figure.judged} of {figure.pairs} pairs have usable verdicts"
        return Verdict("undetermined", why, None)
    if figure.low > mark:
        return Verdict("fit", f"{shown} lies above {mark:g}", None)
    return Verdict("undetermined", f"{shown} holds {mark:g}", pairs_needed(figure, mark))


def pairs_needed(figure: Accuracy, mark: float) -> int | None:
    """About how many pairs let the interval clear the mark with 80 % power, if the accuracy is as it was seen.

    n = judged x ((z(.975) + z(.8)) x SE / |accuracy - mark|)^2, the normal approximation of a test of one mean (W. G.
    Cochran, Sampling Techniques, 3rd ed. 1977, chapter 4), with the standard error SE = (high - low) / (2 z(.975)) of
    the clustered interval, so that a pair counts for what it was worth here.

    Returns:
        None where the accuracy is at the mark, which no number of pairs would settle, or has no interval.
    """
    if figure.value is None or figure.low is None or figure.high is None or figure.value == mark:
        return None
    certain, power = NormalDist().inv_cdf((1 + LEVEL) / 2), NormalDist().inv_cdf(POWER)
    error = (figure.high - figure.low) / (2 * certain)
    return ceil(figure.judged * ((certain + power) * error / abs(figure.value - mark)) ** 2)
