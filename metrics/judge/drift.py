"""Whether a judge still gives the scores that it gave: a model served under a name may be another one tomorrow.

`judge-check --save` asks for a few probes several times past the cache and keeps samples and scores. A later run asks
for each once more. If nothing has changed, the new scores of a sample are one more draw beside the repeats, and any of
them might as well have been the new one; a stratified permutation test over the samples tells noise from drift.

Source of the test: P. Good, Permutation, Parametric and Bootstrap Tests of Hypotheses, 3rd ed. 2005, chapter 3; its
false-alarm level holds whatever the scores' distribution.
"""

import json
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from typing import Protocol

import numpy as np

from ..rows import Row
from ..rows import mean
from ..signature import digest
from .drift_file import FORMAT
from .drift_file import pack
from .drift_file import read
from .prompt import JudgeSample
from .specs import dimension
from .specs import holistic

SENTINELS = 12
"""Samples that are kept to be judged again. Of a judge without noise three changed ones raise the alarm, since
(1/5)^3 < 0.01."""
REPEATS = 4
FALSE_ALARM = 0.01
"""Probability that a run warns of drift although nothing has changed."""

_DRAWS = 100_000
_ROUNDING = 1e-9

Scores = Mapping[str, float]


class Tier(Protocol):
    """What of `tier.JudgeTier` is used here."""

    @property
    def views(self) -> Sequence[str]: ...

    @property
    def definition(self) -> Mapping[str, Any]: ...

    @property
    def signature(self) -> str: ...

    @property
    def fingerprints(self) -> Mapping[str, Iterable[str]]: ...

    def fresh(self, samples: Sequence[JudgeSample]) -> list[Row]:
        """One row a sample, each verdict asked for past the cache."""
        ...


@dataclass(frozen=True, slots=True)
class Drift:
    """What the permutation test found.

    Attributes:
        samples: how many were compared.
        before, after: means of the compared scores over the repeats, and now.
        noise: mean absolute difference of a repeat from the mean of the other repeats.
        change: the same of the new scores from the mean of the repeats.
        p: how often chance alone would change the scores as much.
    """

    samples: int
    before: float
    after: float
    noise: float
    change: float
    p: float

    @property
    def is_alarm(self) -> bool:
        """Whether the change is more than noise, at the stated false-alarm level."""
        return self.p < FALSE_ALARM


def compare(repeats: Sequence[Sequence[Scores]], now: Sequence[Scores], draws: int = _DRAWS) -> Drift | None:
    """Test whether new scores are one more repeat of the old ones.

    The statistic is the sum over samples and metrics of |new - mean of the repeats|. Under the null hypothesis each of
    a sample's R + 1 score vectors is equally likely to be the new one, so the statistic is drawn anew with one of them
    chosen at random in each sample; p = (1 + draws at least as large) / (1 + draws).

    Args:
        repeats: [samples][R] score vectors, metric -> score.
        now: [samples] score vectors.
        draws: random choices; seeded.

    Returns:
        None where no sample has a metric that all its vectors share.
    """
    distances, before, after = [], [], []
    for old, new in zip(repeats, now, strict=True):
        shared = sorted(set(new).intersection(*old)) if old else []
        if not shared:
            continue
        table = np.array([[scores[metric] for metric in shared] for scores in (*old, new)], float)
        others = (table.sum(axis=0) - table) / len(old)
        distances.append(np.abs(table - others).mean(axis=1))
        before.append(float(table[:-1].mean()))
        after.append(float(table[-1].mean()))
    if not distances:
        return None
    widths = {len(each) for each in distances}
    if len(widths) > 1:
        raise ValueError(f"repeats: expected as many of each sample; got {sorted(width - 1 for width in widths)}")
    made = np.array(distances)
    chosen = np.random.default_rng(0).integers(0, made.shape[1], size=(draws, len(made)))
    drawn = made[np.arange(len(made)), chosen].sum(axis=1)
    seen = made[:, -1].sum()
    return Drift(
        samples=len(made),
        before=float(np.mean(before)),
        after=float(np.mean(after)),
        noise=float(_leave_one_out(repeats)),
        change=float(made[:, -1].mean()),
        p=float((1 + (drawn >= seen - _ROUNDING).sum()) / (1 + draws)),
    )


def _leave_one_out(repeats: Sequence[Sequence[Scores]]) -> float:
    found = []
    for old in repeats:
        shared = sorted(set(old[0]).intersection(*old)) if len(old) > 1 else []
        if shared:
            table = np.array([[scores[metric] for metric in shared] for scores in old], float)
            others = (table.sum(axis=0) - table) / (len(old) - 1)
            found.append(np.abs(table - others).mean())
    return float(np.mean(found)) if found else 0.0


# --- keeping --------------------------------------------------------------------------------------------------------


def choose(samples: Sequence[JudgeSample], rows: Sequence[Row], views: Sequence[str], middle: float) -> list[int]:
    """Positions of the samples that are best kept: scored near the middle of the scale, where a change can show.

    Args:
        samples: judged samples.
        rows: their rows.
        views: the judge's views; only samples scored in all of them are taken.
        middle: of the scale.
    """
    ranked = sorted(
        (mean([abs(row.values[holistic(view)] - middle) for view in views]) or 0.0, digest([sample.id]), position)
        for position, (sample, row) in enumerate(zip(samples, rows, strict=True))
        if all(holistic(view) in row.values for view in views)
    )
    return [position for _, _, position in ranked[:SENTINELS]]


def keep(samples: Sequence[JudgeSample], tier: Tier, names: Sequence[str]) -> dict[str, Any]:
    """Ask for samples `REPEATS` times past the cache, for the file that `sentinel` reads.

    Args:
        samples: what to judge again later.
        tier: the judge.
        names: the rubric's dimensions.

    Returns:
        JSON-able: the judge's `definition`, `signature` and `fingerprints`, the samples with their repeats, and the
        images that they show.
    """
    rounds = [tier.fresh(samples) for _ in range(REPEATS)]
    images: dict[str, str] = {}
    kept = [
        {
            "sample": pack(sample, images),
            "repeats": [_scores(rows[position], tier.views, names) for rows in rounds],
        }
        for position, sample in enumerate(samples)
    ]
    return {
        "format": FORMAT,
        "definition": dict(tier.definition),
        "signature": tier.signature,
        "fingerprints": _listed(tier.fingerprints),
        "dimensions": list(names),
        "sentinels": kept,
        "images": images,
    }


def _listed(fingerprints: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    return {judge: sorted(found) for judge, found in sorted(fingerprints.items())}


def _scores(row: Row, views: Sequence[str], names: Sequence[str]) -> dict[str, float]:
    wanted = [metric for view in views for metric in (holistic(view), *(dimension(name, view) for name in names))]
    return {metric: row.values[metric] for metric in wanted if metric in row.values}


# --- looking again --------------------------------------------------------------------------------------------------


def sentinel(path: str | PathLike[str], tier: Tier) -> list[str]:
    """Judge the kept samples again, past the cache, and say what has changed.

    Args:
        path: a file that `judge-check --save` wrote.
        tier: the judge of the present run.

    Returns:
        Texts for the user: that scores have drifted, that usable verdicts stay away, that the server gives another
        fingerprint, or that the file is of another judge or rubric, so that nothing was compared. Empty where all is
        as it was.

    Raises:
        ValueError: the file can't be read or is none of these.
        serving.faults.CallFailed: as `JudgeTier.score`.
    """
    saved, kept = read(Path(path))
    differing = _differences(saved["definition"], tier.definition)
    views = [view for view in saved["definition"]["views"] if view in tier.views]
    if differing or not views:
        which = "; ".join(differing) or f"views {', '.join(saved['definition']['views'])}"
        return [f"{path}: kept of another judge, rubric or sampling, so that no drift can be told: {which}"]
    rows = tier.fresh([sample for sample, _ in kept])
    names = saved["dimensions"]
    wanted = {metric for view in views for metric in (holistic(view), *(dimension(name, view) for name in names))}
    before = [
        [{metric: score for metric, score in scores.items() if metric in wanted} for scores in repeats]
        for _, repeats in kept
    ]
    now = [_scores(row, views, names) for row in rows]
    told = _of_fingerprints(saved["fingerprints"], _listed(tier.fingerprints), path)
    lost = sum(any(set(old) - set(new) for old in repeats) for repeats, new in zip(before, now, strict=True))
    if lost:
        told.append(f"{path}: {lost} of {len(kept)} kept samples lack a usable verdict now, which they had when kept")
    found = compare(before, now)
    judges = ", ".join(judge["model"] for judge in saved["definition"]["judges"])
    if found is not None and found.is_alarm:
        told.append(
            f"judge {judges} gives other scores than when {path} was kept: mean {found.before:.2f} then, "
            f"{found.after:.2f} now over {found.samples} samples; a score changed by {found.change:.2f}, where repeats "
            f"differed by {found.noise:.2f} (permutation test, p = {found.p:.2g}; false alarms {FALSE_ALARM:.0%}). "
            f"Scores from before and after aren't comparable; run judge-check again"
        )
    return told


def _differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    plain = json.loads(json.dumps(now))  # tuples as lists, as the file has them
    names = [name for name in dict.fromkeys((*saved, *plain)) if name != "views"]
    found = [(name, saved.get(name), plain.get(name)) for name in names]
    return [f"{name} {then!r} then, {now!r} now" for name, then, now in found if then != now]


def _of_fingerprints(saved: Mapping[str, list[str]], now: Mapping[str, list[str]], path: Any) -> list[str]:
    return [
        f"judge {judge}: its server gives the fingerprint {', '.join(given)}, when {path} was kept "
        f"{', '.join(saved[judge])}"
        for judge, given in now.items()
        if saved.get(judge) and given and not set(given) & set(saved[judge])
    ]
