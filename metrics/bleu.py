"""BLEU, twice: the paper's mean of sentence scores, and the field's corpus score from sufficient statistics.

Both are in 0-1; sacreBLEU prints the same numbers times 100.
"""

import math
from collections import Counter
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sacrebleu.metrics import BLEU

ORDER = 4
EPSILON = 0.1
STATISTICS = (
    "bleu_sys_len",
    "bleu_ref_len",
    *(f"bleu_match_{n}" for n in range(1, ORDER + 1)),
    *(f"bleu_total_{n}" for n in range(1, ORDER + 1)),
)


def sentence_bleu(candidate: str, reference: str) -> float:
    """Sentence BLEU-4 of white-space tokens, smoothed by method 1 of Chen and Cherry (2014) with epsilon 0.1.

    Equals `nltk.translate.bleu_score.sentence_bleu` with `SmoothingFunction().method1`, with its consequence that a
    right answer of one, two or three words gets 0.178, 0.316 or 0.562.

    Returns:
        0-1; 0 if no word is shared.
    """
    words, expected = candidate.split(), reference.split()
    log_precision = 0.0
    for n in range(1, ORDER + 1):
        counts = Counter(_ngrams(words, n))
        known = Counter(_ngrams(expected, n))
        matches = sum(min(count, known[ngram]) for ngram, count in counts.items())
        if n == 1 and matches == 0:
            return 0.0
        log_precision += math.log((matches or EPSILON) / max(1, counts.total())) / ORDER
    penalty = min(0.0, 1 - len(expected) / len(words))
    return math.exp(penalty + log_precision)


def _ngrams(words: Sequence[str], n: int) -> Iterable[tuple[str, ...]]:
    return zip(*(words[start:] for start in range(n)), strict=False)


def statistics(candidate: str, reference: str) -> dict[str, float]:
    """Sufficient statistics of sacreBLEU's corpus BLEU, and the sentence's own score as `bleu`.

    Args:
        candidate: raw text; blank text has lengths and matches of 0.
        reference: raw text.

    Returns:
        `STATISTICS`, and `bleu` in 0-1: sacreBLEU's sentence score (effective order).
    """
    score = _sacrebleu().sentence_score(candidate, [reference])
    # Rounding may carry a perfect score past 1.
    return {
        "bleu": min(1.0, score.score / 100),
        **dict(zip(STATISTICS, map(float, (score.sys_len, score.ref_len, *score.counts, *score.totals)), strict=True)),
    }


def corpus_bleu(rows: Sequence[Mapping[str, float]], names: Sequence[str] = STATISTICS) -> float | None:
    """sacreBLEU's corpus BLEU, 0-1, from rows of `statistics`, which are called `names` there; None of no rows."""
    if not rows:
        return None
    from sacrebleu.metrics import BLEU

    sums = [int(sum(row[name] for row in rows)) for name in names]
    score = BLEU.compute_bleu(
        correct=sums[2 : 2 + ORDER],
        total=sums[2 + ORDER :],
        sys_len=sums[0],
        ref_len=sums[1],
        smooth_method="exp",
        max_ngram_order=ORDER,
    )
    return min(1.0, score.score / 100)


def corpus_bleu_of_sums(sums: np.ndarray) -> np.ndarray:
    """`corpus_bleu` of many corpora at once, each given by its sums, for resampling.

    Args:
        sums: [corpora, statistics] in the order of `STATISTICS`.

    Returns:
        sacreBLEU's corpus BLEU (`exp` smoothing: the k-th order without a match counts as 1/2^k of one) in 0-1.
    """
    system, reference = sums[:, 0], sums[:, 1]
    matches, totals = sums[:, 2 : 2 + ORDER], sums[:, 2 + ORDER :]
    smoothed = np.where(matches == 0, 0.5 ** np.cumsum(matches == 0, axis=1), matches)
    usable = (totals > 0).all(axis=1) & (matches > 0).any(axis=1) & (system > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.exp(np.minimum(0, 1 - reference / system) + np.log(smoothed / totals).mean(axis=1))
    return np.minimum(1, np.where(usable, scores, 0))


@lru_cache(maxsize=1)
def sacrebleu_signature() -> str:
    """sacreBLEU's own signature of the corpus score: `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…`."""
    from sacrebleu.metrics import BLEU

    metric = BLEU()
    metric.corpus_score(["a"], [["a"]])  # it knows its number of references only after a score
    return str(metric.get_signature())


@lru_cache(maxsize=1)
def _sacrebleu() -> "BLEU":
    from sacrebleu.metrics import BLEU

    # The effective order changes only the sentence's own score, not its statistics.
    return BLEU(effective_order=True)
