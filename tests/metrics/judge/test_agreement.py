import numpy as np
import pytest

from medgen_metrics.judge.agreement import agreement
from medgen_metrics.judge.agreement import alpha
from medgen_metrics.judge.agreement import weighted_kappa


def test_weighted_kappa_by_its_definition() -> None:
    # Kappa = 1 - mean squared difference / mean squared difference of independent draws with the same margins.
    first = [1.0, 2, 3, 4, 5, 5, 3, 1]
    second = [1.0, 3, 3, 5, 4, 5, 2, 1]
    seen = np.mean((np.array(first) - second) ** 2)
    expected = np.mean((np.array(first)[:, None] - np.array(second)) ** 2)
    assert weighted_kappa(first, second) == pytest.approx(1 - seen / expected)


def test_scores_between_levels_keep_their_distance() -> None:
    first, second = [1.0, 1.5, 5.0, 4.5], [1.5, 1.0, 5.0, 5.0]
    seen = np.mean((np.array(first) - second) ** 2)
    expected = np.mean((np.array(first)[:, None] - np.array(second)) ** 2)
    assert weighted_kappa(first, second) == pytest.approx(1 - seen / expected)


def test_alpha_of_the_published_example() -> None:
    # Hayes and Krippendorff 2007 / Krippendorff, Computing Krippendorff's Alpha-Reliability: 4 observers, 12 units
    ratings = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    assert alpha(ratings) == pytest.approx(0.849, abs=5e-4)


def test_missing_verdicts_are_left_out_pair_by_pair() -> None:
    found = agreement({"a": [1, 5, 3, None], "b": [1, 5, None, 2], "c": [None, 5, 3, 1]}, low=1, high=5)
    assert found["scored"] == {"a": 3, "b": 3, "c": 3}
    assert found["common"] == 1
    assert found["means"]["a"] == 3
    assert found["weighted_kappa"]["a ~ b"] == pytest.approx(1)
    assert set(found["weighted_kappa"]) == {"a ~ b", "a ~ c", "b ~ c"}
    assert found["weighted_kappa"]["b ~ c"] == pytest.approx(weighted_kappa([5.0, 2.0], [5.0, 1.0]))


@pytest.mark.parametrize(
    "ratings",
    [
        {"a": [3, 3, 3], "b": [3, 3, 3]},  # one category only
        {"a": [1, None], "b": [None, 2]},  # nothing in common
        {"a": [None, None], "b": [None, None]},
        {"a": [], "b": []},
    ],
)
def test_undefined_agreement_is_none(ratings: dict[str, list[float | None]]) -> None:
    found = agreement(ratings, low=1, high=5)
    assert found["alpha"] is None
    assert found["weighted_kappa"] == {"a ~ b": None}


def test_a_score_seen_by_one_judge_only_changes_no_alpha() -> None:
    assert alpha([[3, 3, 5], [3, 3, None]]) is None


@pytest.mark.parametrize(
    ("ratings", "message"),
    [
        ({"a": [1]}, "two judges"),
        ({"a": [1], "b": [1, 2]}, "one score a record"),
        ({"a": [1, 7], "b": [0, 2]}, r"a\[1\]: 7; b\[0\]: 0"),
    ],
)
def test_bad_ratings_are_all_named(ratings: dict[str, list[float | None]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        agreement(ratings, low=1, high=5)
