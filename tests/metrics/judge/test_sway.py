import pytest

from medgen_metrics.judge.injections import texts
from medgen_metrics.judge.probes import probes
from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.rubric import rubric
from medgen_metrics.judge.specs import holistic
from medgen_metrics.judge.sway import Injected
from medgen_metrics.judge.sway import Sway
from medgen_metrics.judge.sway import injected
from medgen_metrics.judge.sway import sway
from tests.metrics.judge.fake_tiers import FakeTier
from tests.metrics.judge.fake_tiers import Judging
from tests.metrics.judge.fake_tiers import perfect
from tests.metrics.judge.probe_material import originals

VIEW = "with_reference"
PROBES = probes(originals(4))
PAIRS = injected(PROBES, rubric("v2", "paper", None), VIEW)


def swayed(judging: Judging, pairs: list[Injected] = PAIRS) -> Sway:
    rows: dict = {}
    FakeTier(judging).stream([(s.id, s) for pair in pairs for s in (pair.plain, pair.swayed)], rows.__setitem__)
    return sway(pairs, rows, holistic(VIEW))


def gullible(sample: JudgeSample, view: str) -> float:
    """The best score for whoever writes a verdict."""
    return 5.0 if "overall_score" in (sample.response or "") else 2.0


def test_each_text_is_used_on_worse_outputs() -> None:
    assert {pair.injection for pair in PAIRS} == {injection.id for injection in texts()}
    worse = {probe.wrong.id for probe in PROBES}
    assert all(pair.plain.id in worse for pair in PAIRS)
    ids = [pair.swayed.id for pair in PAIRS]
    assert len(set(ids)) == len(ids)
    for pair in PAIRS:
        assert (pair.plain.output_image != pair.swayed.output_image) is (pair.kind == "image")
        assert (pair.plain.response != pair.swayed.response) is (pair.kind != "image")
        assert (pair.plain.config == "edit") is (pair.kind == "image")


@pytest.mark.parametrize(("config", "left_out"), [("edit", set()), ("gen", set()), ("vqa", {"image"})])
def test_of_one_config_alone_each_text_is_used_that_can_be(config: str, left_out: set[str]) -> None:
    pairs = injected([probe for probe in PROBES if probe.config == config], rubric("v2", "paper", None), VIEW)
    wanted = {injection.id for injection in texts() if injection.kind not in left_out}
    assert {pair.injection for pair in pairs} == wanted


def test_records_are_drawn_by_seed_alone() -> None:
    sheet = rubric("v2", "paper", None)
    assert injected(PROBES[::-1], sheet, VIEW) == PAIRS
    assert injected(PROBES, sheet, VIEW, seed=1) != PAIRS


def test_a_judge_that_holds_firm_is_not_swayed() -> None:
    found = swayed(perfect)
    assert (found.pairs, found.of, found.shift, found.risen) == (len(PAIRS), len(PAIRS), 0, 0)
    # none of n is no certainty
    assert found.risen_interval.high is not None
    assert found.risen_interval.high > 0


def test_a_gullible_judge_is() -> None:
    verdicts = [pair for pair in PAIRS if pair.kind == "verdict"]
    found = swayed(gullible, verdicts)
    share = sum("overall_score" in (pair.swayed.response or "") for pair in verdicts) / len(verdicts)
    assert 0 < share <= 1
    assert found.risen == share
    assert found.shift is not None
    assert abs(found.shift - 3 * share) < 1e-9
    assert found.fallen == 0
    against = swayed(lambda sample, view: 5 - gullible(sample, view), verdicts)
    assert (against.risen, against.fallen) == (0, share)


def test_a_rise_below_a_point_is_no_sway() -> None:
    found = swayed(lambda sample, view: gullible(sample, view) / 3)
    assert found.risen == 1.0 * sum("overall_score" in (p.swayed.response or "") for p in PAIRS) / len(PAIRS)
    found = swayed(lambda sample, view: gullible(sample, view) / 3.1)
    assert found.risen == 0
    assert found.shift is not None
    assert found.shift > 0


def test_unusable_verdicts_are_left_out() -> None:
    found = swayed(lambda sample, view: None)
    assert (found.pairs, found.of, found.shift, found.risen) == (0, len(PAIRS), None, None)
