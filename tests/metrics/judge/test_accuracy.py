from collections.abc import Callable
from random import Random

import pytest
from scipy.stats import binomtest

from medgen_metrics.judge.accuracy import Accuracy
from medgen_metrics.judge.accuracy import Ordering
from medgen_metrics.judge.accuracy import accuracy
from medgen_metrics.judge.accuracy import by
from medgen_metrics.judge.accuracy import orderings
from medgen_metrics.judge.accuracy import pairs_needed
from medgen_metrics.judge.accuracy import verdict
from medgen_metrics.judge.probes import Probe
from medgen_metrics.judge.probes import probes
from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.specs import holistic
from tests.metrics.judge import fake_tiers
from tests.metrics.judge.probe_material import original
from tests.metrics.judge.probe_material import originals

VIEW = "with_reference"


def probe(number: int, group: str) -> Probe:
    sample = JudgeSample(f"r-{number}", "vqa", "question-answering", "")
    return Probe("blank", sample.id, "vqa", sample.task, group, (VIEW,), sample, sample)


def ordered(*scores: tuple[float | None, float | None], groups: int = 10**6) -> list[Ordering]:
    return [Ordering(probe(number, f"g{number % groups}"), *pair) for number, pair in enumerate(scores)]


RIGHT, TIE, WRONG, UNJUDGED = (5.0, 1.0), (3.0, 3.0), (1.0, 5.0), (None, 3.0)


def judged(judging: fake_tiers.Judging, each: int = 8) -> list[Ordering]:
    found = probes(originals(each))
    rows: dict = {}
    tier = fake_tiers.FakeTier(judging)
    tier.stream([(s.id, s) for p in found for s in (p.right, p.wrong)], rows.__setitem__)
    return orderings(found, rows, VIEW, holistic(VIEW))


def test_ties_count_half_and_missing_scores_not_at_all() -> None:
    found = accuracy(ordered(RIGHT, RIGHT, TIE, WRONG, UNJUDGED))
    assert (found.pairs, found.judged, found.ties, found.groups) == (5, 4, 1, 4)
    assert found.value == 2.5 / 4


def test_pairs_of_one_source_image_are_no_independent_draws() -> None:
    scores = [RIGHT if Random(number // 10).random() < 0.7 else WRONG for number in range(200)]
    alone = accuracy([Ordering(probe(n, f"g{n}"), *pair) for n, pair in enumerate(scores)])
    grouped = accuracy([Ordering(probe(n, f"g{n // 10}"), *pair) for n, pair in enumerate(scores)])
    assert alone.value == grouped.value
    assert None not in (alone.low, alone.high, grouped.low, grouped.high)
    # wholly alike within groups of ten: sqrt(10) times as wide
    assert (grouped.high - grouped.low) / (alone.high - alone.low) == pytest.approx(10**0.5, rel=0.15)  # type: ignore[operator]


@pytest.mark.parametrize(("scores", "count"), [(RIGHT, 20.0), (WRONG, 0.0)])
def test_all_alike_is_no_certainty(scores: tuple[float, float], count: float) -> None:
    found = accuracy(ordered(*[scores] * 20))
    ends = binomtest(int(count), 20).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))


def test_nothing_but_ties_is_no_certainty_either() -> None:
    found = accuracy(ordered(*[TIE] * 20))
    ends = binomtest(10, 20).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))


def test_a_perfect_judge_is_fit_and_a_coin_is_not() -> None:
    perfect = accuracy(judged(fake_tiers.perfect))
    assert (perfect.value, perfect.ties, verdict(perfect).word) == (1, 0, "fit")
    coin = accuracy(judged(fake_tiers.coin(), each=20))
    assert coin.value == pytest.approx(0.5, abs=0.1)
    assert verdict(coin).word == "not fit"
    assert verdict(accuracy(judged(fake_tiers.constant))).word == "not fit"


def test_a_judge_by_length_is_seen_through_by_kind() -> None:
    found = judged(fake_tiers.by_length)
    kinds = by(found, lambda probe: probe.kind)
    assert kinds["laterality"].value < 0.5  # "right" is longer than "left"  # type: ignore[operator]
    assert kinds["blank"].value == kinds["copied_input"].value == 0.5  # all ties
    assert verdict(accuracy(found)).word == "not fit"


def test_no_verdict_of_few_source_images() -> None:
    found = verdict(accuracy(ordered(*[RIGHT] * 90, groups=9)))
    assert found.word == "undetermined"
    assert found.needed is not None
    assert found.needed >= 100
    assert verdict(accuracy(ordered(*[RIGHT] * 90, groups=1))).word == "undetermined"
    assert verdict(accuracy([])).word == "undetermined"


def test_a_judge_that_often_fails_is_never_fit() -> None:
    found = verdict(accuracy(ordered(*[RIGHT] * 94, *[UNJUDGED] * 6)))
    assert found.word == "undetermined"
    assert "94 of 100" in found.why
    assert verdict(accuracy(ordered(*[RIGHT] * 95, *[UNJUDGED] * 5))).word == "fit"
    assert verdict(accuracy(ordered(*[WRONG] * 50, *[UNJUDGED] * 50))).word == "not fit"


def test_pairs_that_would_settle_it() -> None:
    # (1.96 + 0.8416)^2 x .85 x .15 / .05^2 = 400.3 independent pairs, whatever number was seen
    figure = Accuracy(100, 100, 0, 0.85, 0.85 - 1.959964 * 0.0357071, 0.85 + 1.959964 * 0.0357071, 100)
    assert pairs_needed(figure, 0.8) == 401
    assert verdict(figure, 0.8) == ("undetermined", "0.850 [0.780, 0.920] holds 0.8", 401)
    assert pairs_needed(figure, 0.85) is None


def test_the_number_of_pairs_that_is_named_settles_it_as_often_as_is_said() -> None:
    random = Random(3)

    def draw(count: int) -> Accuracy:
        return accuracy(ordered(*[RIGHT if random.random() < 0.9 else WRONG for _ in range(count)]))

    needed = pairs_needed(Accuracy(100, 100, 0, 0.9, 0.9 - 0.0588, 0.9 + 0.0588, 100), 0.8)
    assert needed == 71
    settled = sum(verdict(draw(needed)).word == "fit" for _ in range(150))
    # 80 %, with room for 150 draws and for an accuracy near 1, whose interval isn't symmetric
    assert 0.68 < settled / 150 < 0.92


@pytest.mark.parametrize(("truth", "most"), [(0.8, 0.08), (0.7, 0.01)])
def test_a_judge_at_the_mark_is_rarely_called_fit(truth: float, most: float) -> None:
    random = Random(5)
    called = [
        verdict(accuracy(ordered(*[RIGHT if random.random() < truth else WRONG for _ in range(120)]))).word
        for _ in range(150)
    ]
    assert called.count("fit") / 150 <= most


def test_dimensions_that_do_not_apply_are_left_out() -> None:
    found = probes([original("edit", "style-transfer", number) for number in range(3)])

    class Without(fake_tiers.FakeTier):
        def _row(self, sample: JudgeSample) -> fake_tiers.Row:
            row = super()._row(sample)
            kept = {name: value for name, value in row.values.items() if "cross_modal" not in name}
            return fake_tiers.Row(kept, row.reasons)

    rows: dict = {}
    tier: Callable = Without(fake_tiers.perfect).stream
    tier([(s.id, s) for p in found for s in (p.right, p.wrong)], rows.__setitem__)
    assert orderings(found, rows, VIEW, f"cross_modal_consistency_{VIEW}") == []
    assert len(orderings(found, rows, VIEW, f"anatomical_accuracy_{VIEW}")) == len(found)


def test_few_source_images_widen_the_interval() -> None:
    from medgen_metrics.bootstrap import mean_interval

    values = [1.0, 0.5, 0.0, 1.0, 1.0]
    found = accuracy(ordered(*[{1.0: RIGHT, 0.5: TIE, 0.0: WRONG}[value] for value in values]))
    percentile = mean_interval(values, range(5))
    assert percentile.low is not None
    # Student's t of 4 degrees of freedom, 2.776, and sqrt(5 / 4)
    assert found.low == pytest.approx(max(0.0, 0.7 - (0.7 - percentile.low) * 2.7764 / 1.95996 * 1.25**0.5), abs=1e-4)
    assert found.high == 1
