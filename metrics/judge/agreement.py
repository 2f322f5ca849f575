"""How far several judges agree: their means, weighted kappa of each two, Krippendorff's alpha of all.

Kappa's quadratic weights and alpha's interval level both count a difference by its square, so the two speak of the same
thing, and both take scores between the levels, which a mean of several verdicts is.

Sources: J. Cohen, Psychological Bulletin 70 (1968), weighted kappa; A. F. Hayes and K. Krippendorff, Communication
Methods and Measures 1 (2007), alpha. The libraries are statsmodels and krippendorff.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from ..rows import mean

Ratings = Mapping[str, Sequence[float | None]]


def agreement(ratings: Ratings, *, low: float, high: float) -> dict[str, Any]:
    """Agreement of judges over the same records.

    Args:
        ratings: judge -> its score of each record, None where it gave no usable verdict.
        low: the scale's lower end.
        high: its upper end.

    Returns:
        `means`: judge -> mean over the records that it scored, None of none; `scored`: judge -> how many;
        `common`: records that all judges scored; `weighted_kappa`: `"a ~ b"` -> quadratic weighted kappa over the
        records that both scored; `alpha`: Krippendorff's, interval level, over records that two judges or more scored.
        Kappa and alpha are None where they are undefined: nothing in common, or one and the same score throughout,
        where chance alone would agree as well.

    Raises:
        ValueError: fewer than two judges, unequal numbers of records, or a score outside the scale.
    """
    _check(ratings, low, high)
    columns = list(zip(*ratings.values(), strict=True))
    return {
        "means": {judge: mean([score for score in scores if score is not None]) for judge, scores in ratings.items()},
        "scored": {judge: sum(score is not None for score in scores) for judge, scores in ratings.items()},
        "common": sum(None not in column for column in columns),
        "weighted_kappa": {
            f"{first} ~ {second}": weighted_kappa(ratings[first], ratings[second])
            for first, second in combinations(ratings, 2)
        },
        "alpha": alpha(list(ratings.values())),
    }


def weighted_kappa(first: Sequence[float | None], second: Sequence[float | None]) -> float | None:
    """Cohen's kappa with quadratic weights over the records that both judges scored.

    Args:
        first: scores, one a record; None where there is none.
        second: the other judge's.

    Returns:
        At most 1; 0 is what chance gives. None where it is undefined.

    Raises:
        ValueError: unequal numbers of records.
    """
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa

    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    levels = sorted({score for pair in both for score in pair})
    if len(levels) < 2:
        return None
    table = np.zeros((len(levels), len(levels)))
    for a, b in both:
        table[levels.index(a), levels.index(b)] += 1
    # The levels themselves are the weights' scores: distances are those of the scale, whichever levels occur.
    return float(cohens_kappa(table, weights=levels, wt="quadratic", return_results=False))


def alpha(ratings: Sequence[Sequence[float | None]]) -> float | None:
    """Krippendorff's alpha at the interval level.

    Args:
        ratings: [judges][records]; None where there is no score.

    Returns:
        At most 1; 0 is what chance gives. None where it is undefined.
    """
    import krippendorff
    import numpy as np

    scores = np.array(ratings, dtype=float)  # None becomes NaN, the library's missing value
    paired = scores[:, (~np.isnan(scores)).sum(axis=0) > 1]
    if len(np.unique(paired[~np.isnan(paired)])) < 2:
        return None
    return float(krippendorff.alpha(reliability_data=paired, level_of_measurement="interval"))


def _check(ratings: Ratings, low: float, high: float) -> None:
    lengths = {judge: len(scores) for judge, scores in ratings.items()}
    if len(ratings) < 2:
        raise ValueError(f"agreement: expected two judges or more; got {', '.join(ratings) or 'none'}")
    if len(set(lengths.values())) > 1:
        raise ValueError(f"agreement: expected one score a record from each judge; got {lengths}")
    outside = [
        f"{judge}[{position}]: {score}"
        for judge, scores in ratings.items()
        for position, score in enumerate(scores)
        if score is not None and not low <= score <= high
    ]
    if outside:
        raise ValueError(f"agreement: expected scores from {low} to {high}; got {'; '.join(outside[:20])}")
