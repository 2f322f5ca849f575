import base64
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from medgen_metrics.judge import drift
from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.specs import holistic
from medgen_metrics.rows import Row
from tests.metrics.judge.fake_tiers import FakeTier
from tests.metrics.judge.fake_tiers import Judging
from tests.metrics.judge.fake_tiers import coin
from tests.metrics.judge.fake_tiers import noisy
from tests.metrics.judge.fake_tiers import perfect
from tests.metrics.judge.probe_material import originals

WITH = holistic("with_reference")
SAMPLES = [original.sample for original in originals(8)][:12]


def kept(path: Path, judging: Judging, samples: Sequence[JudgeSample] = SAMPLES, **changes: object) -> Path:
    tier = FakeTier(judging)
    path.write_text(json.dumps({**drift.keep(samples, tier, tier.rubric.names), **changes}))
    return path


def lower(judging: Judging, by: float, of: Sequence[str]) -> Judging:
    return lambda sample, view: float(judging(sample, view) or 0) - (by if sample.id in of else 0)


def test_samples_come_back_as_they_were(tmp_path: Path) -> None:
    samples = [original.sample for original in originals(8)]
    from medgen_metrics.judge.drift_file import read

    found = read(kept(tmp_path / "kept.json", perfect, samples))[1]
    assert [sample for sample, _ in found] == samples
    assert all(len(repeats) == drift.REPEATS for _, repeats in found)


def test_an_unchanged_judge_is_not_warned_of(tmp_path: Path) -> None:
    path = kept(tmp_path / "kept.json", coin())
    tier = FakeTier(coin())
    assert drift.sentinel(path, tier) == []
    assert tier.asked == [sample.id for sample in SAMPLES]


def test_another_judge_under_the_same_name_is(tmp_path: Path) -> None:
    told = drift.sentinel(kept(tmp_path / "kept.json", coin(0)), FakeTier(coin(1)))
    assert len(told) == 1
    assert "gives other scores than when" in told[0]
    assert "false alarms 1%" in told[0]


@pytest.mark.parametrize(("changed", "alarms"), [(0, 0), (1, 0), (2, 0), (4, 1), (12, 1)])
def test_of_a_judge_without_noise_a_few_changed_samples_tell(tmp_path: Path, changed: int, alarms: int) -> None:
    path = kept(tmp_path / "kept.json", coin())
    worse = lower(coin(), 1, [sample.id for sample in SAMPLES[:changed]])
    assert len(drift.sentinel(path, FakeTier(worse))) == alarms


def test_noise_is_told_apart_from_drift(tmp_path: Path) -> None:
    """Of a noisy judge the false-alarm level holds, and a shift beyond the noise is found."""
    random = Random(0)

    def repeated(shift: float) -> float:
        def draw(middle: float) -> dict[str, float]:
            return {"a": middle + random.gauss(0, 0.5), "b": middle + random.gauss(0, 0.5)}

        alarms = 0
        for _ in range(200):
            repeats = [[draw(3) for _ in range(drift.REPEATS)] for _ in range(drift.SENTINELS)]
            found = drift.compare(repeats, [draw(3 + shift) for _ in range(drift.SENTINELS)], draws=2000)
            assert found is not None
            alarms += found.is_alarm
        return alarms / 200

    assert repeated(0) <= 0.03  # 0.01, with room for 200 draws
    assert repeated(1.0) > 0.9
    assert drift.sentinel(kept(tmp_path / "kept.json", noisy(perfect, 1)), FakeTier(noisy(perfect, 2))) == []


def test_p_is_exact_where_it_can_be_counted() -> None:
    # two samples, one repeat each; in one the new score differs: the statistic is the same whichever is the new one
    found = drift.compare([[{"a": 1.0}], [{"a": 2.0}]], [{"a": 3.0}, {"a": 2.0}])
    assert found is not None
    assert found.p == 1
    # three repeats alike and a new one apart, in each of three samples: (1/4)^3
    found = drift.compare([[{"a": 1.0}] * 3] * 3, [{"a": 2.0}] * 3)
    assert found is not None
    assert found.p == pytest.approx(1 / 64, abs=0.002)
    assert (found.before, found.after, found.noise, found.change) == (1, 2, 0, 1)


def test_nothing_in_common_is_no_test() -> None:
    assert drift.compare([[{"a": 1.0}]], [{}]) is None
    assert drift.compare([], []) is None


def test_verdicts_that_stay_away_are_told(tmp_path: Path) -> None:
    path = kept(tmp_path / "kept.json", perfect)
    told = drift.sentinel(path, FakeTier(lambda sample, view: None))
    assert told == [f"{path}: 12 of 12 kept samples lack a usable verdict now, which they had when kept"]


def test_another_judge_is_not_compared(tmp_path: Path) -> None:
    path = kept(tmp_path / "kept.json", perfect)
    tier = FakeTier(coin(), model="other")
    told = drift.sentinel(path, tier)
    assert len(told) == 1
    assert "no drift can be told" in told[0]
    assert "'other'" in told[0]
    assert tier.asked == []


def test_views_that_both_have_are_compared(tmp_path: Path) -> None:
    path = kept(tmp_path / "kept.json", coin())
    assert drift.sentinel(path, FakeTier(coin(), views=["with_reference"])) == []
    assert len(drift.sentinel(path, FakeTier(coin(1), views=["with_reference"]))) == 1


def test_another_fingerprint_is_told(tmp_path: Path) -> None:
    path = kept(tmp_path / "kept.json", perfect)
    tier = FakeTier(perfect)
    tier.fingerprints = {"fake": frozenset({"two"})}
    assert drift.sentinel(path, tier) == [f"judge fake: its server gives the fingerprint two, when {path} was kept one"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "expected a file of kept probes"),
        ("[]", "got 'list'"),
        ('{"format": "x"}', "expected format"),
    ],
)
def test_a_bad_file_says_how_to_make_one(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "kept.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ValueError, match=f"{message}.*judge-check --save"):
        drift.sentinel(path, FakeTier(perfect))


@pytest.mark.parametrize("changes", [{"images": {}}, {"sentinels": [{}]}, {"definition": {}}, {"fingerprints": 3}])
def test_a_damaged_file_is_told(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"damaged: .*judge-check --save"):
        drift.sentinel(kept(tmp_path / "kept.json", perfect, **changes), FakeTier(perfect))


def test_a_changed_image_or_score_is_told(tmp_path: Path) -> None:
    path = kept(tmp_path / "kept.json", perfect)
    saved = json.loads(path.read_text())
    name = next(iter(saved["images"]))
    for change, said in (
        ({"images": {**saved["images"], name: base64.b64encode(b"another").decode()}}, "its content is another"),
        ({"sentinels": [{**saved["sentinels"][0], "repeats": [{WITH: "4"}]}]}, "expected numbers as scores, got '4'"),
    ):
        path.write_text(json.dumps({**saved, **change}))
        with pytest.raises(ValueError, match=said):
            drift.sentinel(path, FakeTier(perfect))


def test_samples_in_the_middle_of_the_scale_are_kept() -> None:
    views = ["with_reference"]
    rows = [Row({holistic("with_reference"): score}) for score in (1.0, 3.0, 5.0, 2.5)] + [Row()]
    assert drift.choose(SAMPLES[:5], rows, views, 3.0)[:2] == [1, 3]
    assert len(drift.choose(SAMPLES[:5], rows, views, 3.0)) == 4
