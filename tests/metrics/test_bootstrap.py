import tracemalloc
from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from medgen_metrics import bootstrap
from medgen_metrics.bleu import STATISTICS
from medgen_metrics.bleu import corpus_bleu
from medgen_metrics.bleu import corpus_bleu_of_sums
from medgen_metrics.bleu import statistics
from medgen_metrics.bootstrap import interval
from medgen_metrics.bootstrap import mean_interval
from medgen_metrics.bootstrap import sums_interval
from medgen_metrics.bootstrap import wilson
from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row
from medgen_metrics.text_specs import specs


def clustered(seed: int, groups: int) -> tuple[list[float], list[int]]:
    """Values that are alike within groups of uneven size."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, groups)
    levels = rng.normal(0.5, 0.2, groups)
    names = np.repeat(np.arange(groups), sizes)
    return list(levels[names] + rng.normal(0, 0.05, len(names))), names.tolist()


def by_scipy(values: Sequence[float], groups: Sequence[int], resamples: int) -> tuple[float, float]:
    """The same interval by scipy: it draws pairs of a group's sum and size."""
    names = sorted(set(groups))
    sums = [sum(value for value, group in zip(values, groups, strict=True) if group == name) for name in names]
    sizes = [groups.count(name) for name in names]
    made = stats.bootstrap(
        (sums, sizes),
        lambda total, size, axis: total.sum(axis=axis) / size.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=resamples,
        method="percentile",
        rng=np.random.default_rng(7),
    )
    return made.confidence_interval.low, made.confidence_interval.high


@pytest.mark.parametrize("seed", [0, 1])
def test_agrees_with_scipy_over_groups(seed: int) -> None:
    values, groups = clustered(seed, 40)
    made = mean_interval(values, groups, resamples=20_000)
    low, high = by_scipy(values, groups, 20_000)
    # 20,000 resamples place a 2.5 % quantile to about 2 % of the interval's width.
    assert made.low == pytest.approx(low, abs=0.03 * (high - low))
    assert made.high == pytest.approx(high, abs=0.03 * (high - low))
    assert made.groups == 40
    assert made.largest == max(groups.count(name) for name in groups)


def test_records_of_one_group_are_no_independent_draws() -> None:
    # Each value four times over: as records of their own they would halve the interval.
    values = list(np.random.default_rng(0).random(50))
    groups = list(range(50))
    alone = mean_interval(values, groups)
    together = mean_interval(values * 4, groups * 4)
    apart = mean_interval(values * 4, range(200))
    assert together[:2] == pytest.approx(alone[:2])
    assert alone.low is not None
    assert alone.high is not None
    assert apart.low is not None
    assert apart.high is not None
    assert apart.high - apart.low == pytest.approx((alone.high - alone.low) / 2, rel=0.1)


def test_literal_case_of_two_groups() -> None:
    # Drawn twice out of {0, 1}: means 0, 1/2, 1 with chances 1/4, 1/2, 1/4.
    assert mean_interval([0.0, 1.0], ["a", "b"]) == (0.0, 1.0, 2, 1)
    # Equal means a group leave nothing to vary, whatever is inside.
    assert mean_interval([0.0, 1.0, 0.0, 1.0], ["a", "a", "b", "b"]) == (0.5, 0.5, 2, 2)


def test_larger_groups_weigh_more() -> None:
    # All of a: 0; all of b: 1; one of each: 3 of 4 records are b's.
    made = mean_interval([0.0, 1.0, 1.0, 1.0], ["a", "b", "b", "b"], resamples=4000)
    assert (made.low, made.high) == (0.0, 1.0)
    drawn = sums_interval(
        np.array([[0.0, 1], [1.0, 1], [1.0, 1], [1.0, 1]]),
        ["a", "b", "b", "b"],
        lambda sums: np.array([np.isclose(sums[:, 0] / sums[:, 1], 0.75).mean()] * len(sums)),
        resamples=4000,
    )
    assert drawn.low == pytest.approx(0.5, abs=0.03)


def test_seed_fixes_the_interval() -> None:
    values, groups = clustered(3, 30)
    assert mean_interval(values, groups) == mean_interval(values, groups)
    assert mean_interval(values, groups) != mean_interval(values, groups, seed=43)


@pytest.mark.parametrize(("at_once", "kept"), [(1, 0), (700, 0), (700, 2**25), (2**21, 2**25)])
def test_shares_of_the_draws_change_nothing(monkeypatch: pytest.MonkeyPatch, at_once: int, kept: int) -> None:
    values, groups = clustered(3, 301)
    drawn = np.random.default_rng(bootstrap.SEED).integers(0, 301, (bootstrap.RESAMPLES, 301))
    sums = np.bincount(groups, values)[drawn].sum(1) / np.bincount(groups)[drawn].sum(1)
    bootstrap._kept_counts.cache_clear()
    monkeypatch.setattr(bootstrap, "_AT_ONCE", at_once)
    monkeypatch.setattr(bootstrap, "_KEPT", kept)
    found = mean_interval(values, groups)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(sums, [0.025, 0.975])), rel=1e-12)


def test_many_groups_take_little_memory() -> None:
    mean_interval([0.0, 1.0], [0, 1])  # imports and the like
    tracemalloc.start()
    try:
        mean_interval(np.linspace(0, 1, 40_000).tolist(), range(40_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # 1,000 resamples of them all as floats are 320 MB.
    assert peak < 100 * 2**20


def test_one_group_gives_no_interval() -> None:
    assert mean_interval([0.1, 0.9], ["a", "a"]) == (None, None, 1, 2)
    assert mean_interval([], []) == (None, None, 0, 0)


@pytest.mark.parametrize(
    ("all_pass", "sizes", "expected"),
    [
        # n / (n + z^2) with z = 1.959964
        (True, [1] * 10, (10 / 13.841459, 1.0)),
        (False, [1] * 10, (0.0, 3.841459 / 13.841459)),
        # 20 records in 10 equal groups count as 10; uneven ones as fewer: 20^2 / (11^2 + 9) = 3.07
        (True, [2] * 10, (10 / 13.841459, 1.0)),
        (True, [11, *[1] * 9], (3 / 6.841459, 1.0)),
    ],
)
def test_wilson_at_the_design_effect_number(all_pass: bool, sizes: list[int], expected: tuple[float, float]) -> None:
    assert wilson(all_pass, sizes) == pytest.approx(expected, abs=1e-6)


def test_a_rate_of_one_outcome_gets_wilsons_interval() -> None:
    groups = [number // 2 for number in range(20)]
    assert mean_interval([1.0] * 20, groups, is_rate=True) == (*wilson(True, [2] * 10), 10, 2)
    assert mean_interval([0.0] * 20, groups, is_rate=True) == (*wilson(False, [2] * 10), 10, 2)
    mixed = [1.0, 0.0] * 10
    assert mean_interval(mixed, groups, is_rate=True) == mean_interval(mixed, groups)
    with pytest.raises(ValueError, match="values of 0 and 1"):
        mean_interval([0.5], ["a"], is_rate=True)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="2 records, 1 groups"):
        mean_interval([0.1, 0.2], ["a"])


# --- of a metric ----------------------------------------------------------------------------------------------------


def test_only_rows_that_enter_the_mean_are_drawn() -> None:
    spec = MetricSpec("ssim", -1.0, 1.0)
    rows = [Row({"ssim": 0.1}), Row({}, {"ssim": "missing"}), Row({"ssim": 0.9}), Row()]
    assert interval(rows, ["a", "b", "c", "d"], spec) == mean_interval([0.1, 0.9], ["a", "c"])


def test_unparsable_answers_stay_out_of_the_papers_em() -> None:
    (paper,) = specs("paper", ["em"])
    (standard,) = specs("standard", ["em"])
    rows = [Row({"em": 1.0}), Row({"em": 0.0}, {"em": "unparsable"}), Row({"em": 0.0}, {"em": "missing"})]
    groups = ["a", "b", "c"]
    assert interval(rows, groups, paper) == mean_interval([1.0, 0.0], ["a", "c"])
    assert interval(rows, groups, standard) == mean_interval([1.0, 0.0, 0.0], groups)


def test_a_metric_that_can_not_be_resampled_has_no_interval() -> None:
    spec = MetricSpec("own", 0.0, 1.0, average=lambda rows: 0.5)
    assert interval([Row({"own": 0.1}), Row({"own": 0.2})], ["a", "b"], spec) == (None, None, 2, 1)


PAIRS = [
    ("a nodule in the left upper lobe", "a small nodule in the left upper lobe"),
    ("no effusion is seen today", "there is no effusion"),
    ("the heart is not enlarged at all", "the heart is enlarged"),
    ("fracture", "fracture of the distal radius"),
    ("", "normal"),
]


def test_corpus_bleu_of_sums_agrees_with_sacrebleu() -> None:
    rows = [statistics(*pair) for pair in PAIRS]
    subsets = [[0], [1], [2], [3], [4], [0, 1], [1, 2, 3], [0, 0, 4], [0, 1, 2, 3, 4]]
    sums = np.array([[sum(rows[place][name] for place in subset) for name in STATISTICS] for subset in subsets])
    expected = [corpus_bleu([rows[place] for place in subset]) for subset in subsets]
    assert len(set(expected)) > 5
    assert corpus_bleu_of_sums(sums) == pytest.approx(expected, abs=1e-12)


def test_corpus_bleu_is_resampled_by_its_statistics() -> None:
    (spec,) = specs("standard", ["bleu"])
    rows = [Row(statistics(*PAIRS[number % 4])) for number in range(40)]
    made = interval(rows, list(range(40)), spec)
    rng = np.random.default_rng(0)
    drawn = [corpus_bleu([rows[place].values for place in rng.integers(0, 40, 40)]) for _ in range(400)]
    low, high = np.quantile(np.array(drawn, float), [0.025, 0.975])
    assert made.low == pytest.approx(low, abs=0.15 * (high - low))
    assert made.high == pytest.approx(high, abs=0.15 * (high - low))
