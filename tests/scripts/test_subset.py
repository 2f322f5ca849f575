from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_scripts.cli import main
from medgen_scripts.errors import UsageError
from medgen_scripts.subset import Subset
from medgen_scripts.subset import choose
from medgen_scripts.subset import select

# Sizes of tasks and modalities as uneven as the data set's.
SIZES = {
    "style": {"CT": 500, "MRI": 300, "US": 100},
    "noise": {"CT": 90, "XR": 10},
    "edit": {"CT": 3},
    "rare": {"XR": 1},
}
STRATA = [(task, modality) for task, sizes in SIZES.items() for modality, n in sizes.items() for _ in range(n)]
IDS = [f"{task}-{number:012x}" for number, (task, _) in enumerate(STRATA)]
TASKS = [task for task, _ in STRATA]
MODALITIES = [modality for _, modality in STRATA]


def chosen(limit: int | None, seed: int = 0) -> Subset:
    return select(IDS, TASKS, MODALITIES, limit, seed)


def test_smaller_limits_are_subsets_of_larger_ones() -> None:
    order: set[int] = set()
    for limit in range(1, len(IDS) + 1, 7):
        positions = chosen(limit).positions
        assert len(positions) == limit
        assert list(positions) == sorted(positions)
        assert order <= set(positions)
        order = set(positions)


@pytest.mark.parametrize("limit", [20, 100, 333, 900])
def test_tasks_and_modalities_keep_their_shares(limit: int) -> None:
    picked = chosen(limit).positions
    tasks, strata = Counter(TASKS[i] for i in picked), Counter(STRATA[i] for i in picked)
    for task, sizes in SIZES.items():
        share = limit * sum(sizes.values()) / len(IDS)
        # One for the task's own offset, and its part of what the other tasks' offsets move.
        assert abs(tasks[task] - share) <= 1 + len(SIZES) * share / limit
        for modality, size in sizes.items():
            inside = tasks[task] * size / sum(sizes.values())
            assert abs(strata[task, modality] - inside) <= 1 + len(sizes) * size / sum(sizes.values())


def test_a_small_stratum_is_as_likely_as_any_other() -> None:
    seeds = range(300)
    rare = IDS.index(next(name for name in IDS if name.startswith("rare")))
    hits = sum(rare in chosen(100, seed).positions for seed in seeds)
    expected = len(seeds) * 100 / len(IDS)
    assert abs(hits - expected) < 4 * (expected * (1 - 100 / len(IDS))) ** 0.5


def test_no_limit_and_one_beyond_all_take_everything() -> None:
    everything = tuple(range(len(IDS)))
    assert chosen(None).positions == chosen(len(IDS)).positions == chosen(10**6).positions == everything
    assert chosen(None).digest == chosen(10**6).digest


def test_the_seed_changes_the_choice_and_the_digest_follows_the_ids() -> None:
    first, again, other = chosen(50), chosen(50), chosen(50, seed=1)
    assert first == again
    assert set(first.positions) != set(other.positions)
    assert first.digest != other.digest
    turned = select(IDS[::-1], TASKS[::-1], MODALITIES[::-1], 50)
    assert {IDS[::-1][i] for i in turned.positions} == {IDS[i] for i in first.positions}
    assert turned.digest == first.digest


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_below_one_is_bad_usage(limit: int) -> None:
    with pytest.raises(UsageError, match=f"--limit expects a whole number of 1 or more, got {limit}"):
        chosen(limit)


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=40),
    st.integers(1, 45),
    st.integers(0, 5),
)
def test_any_records_give_exactly_the_limit_once_each(strata: list[tuple[str, str]], limit: int, seed: int) -> None:
    ids = [f"id-{number}" for number in range(len(strata))]
    positions = select(ids, [task for task, _ in strata], [modality for _, modality in strata], limit, seed).positions
    assert len(set(positions)) == len(positions) == min(limit, len(ids))


# --- the fixed subset -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "count"), [("vqa", 100), ("edit", 200), ("gen", 100)])
def test_lite_is_the_same_whatever_the_seed_and_the_order(config: str, count: int) -> None:
    lite = choose(config, IDS, TASKS, MODALITIES, seed=0, name="lite")
    assert (len(lite.positions), lite.limit, lite.name) == (count, count, "lite")
    assert choose(config, IDS, TASKS, MODALITIES, seed=7, name="lite") == lite
    turned = choose(config, IDS[::-1], TASKS[::-1], MODALITIES[::-1], name="lite")
    assert turned.digest == lite.digest
    assert select(IDS, TASKS, MODALITIES, count, 0).digest != lite.digest


def test_lite_stays_what_it_was() -> None:
    # A change of the rule would silently make results of different versions incomparable.
    assert choose("gen", IDS, TASKS, MODALITIES, name="lite").digest == "ff55a9d3b9e519e5"


def test_an_edition_with_fewer_records_is_taken_whole() -> None:
    lite = choose("vqa", IDS[:30], TASKS[:30], MODALITIES[:30], name="lite")
    assert lite.positions == tuple(range(30))


def test_a_selection_that_takes_everything_says_so() -> None:
    strata = (IDS[:30], TASKS[:30], MODALITIES[:30])
    assert choose("vqa", *strata, name="lite").notice("vqa") == (
        "--subset lite (100 records) takes all 30 vqa records: this edition has no more"
    )
    assert choose("vqa", *strata, limit=31).notice("vqa") == (
        "--limit 31 takes all 30 vqa records: this edition has no more"
    )
    assert choose("vqa", *strata, limit=30).notice("vqa") is None
    assert choose("vqa", *strata).notice("vqa") is None
    assert choose("vqa", IDS, TASKS, MODALITIES, name="lite").notice("vqa") is None


@pytest.mark.parametrize("verb", ["run", "plan", "score"])
def test_a_fixed_subset_of_the_sample_is_told_to_be_all_of_it(
    verb: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    common = ["--edition", "sample", "--subset", "lite", "--out", str(tmp_path)]
    steps = {"run": ["copy-input", "vqa"], "score": [str(tmp_path / "predictions" / "copy-input"), "--offline"]}
    steps["plan"] = steps["score"]
    for step in dict.fromkeys(("run", verb)):
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([step, *steps[step], *common])
        assert ended.value.code == 0
    said = " ".join("".join(capfd.readouterr()).split())
    assert said.count("--subset lite (100 records) takes all 30 vqa records: this edition has no more") == 1


def test_without_a_name_it_is_the_selection_of_limit_and_seed() -> None:
    assert choose("vqa", IDS, TASKS, MODALITIES, limit=9, seed=3) == select(IDS, TASKS, MODALITIES, 9, 3)


def test_lite_and_a_limit_contradict_each_other() -> None:
    with pytest.raises(UsageError, match="--subset lite is a fixed selection: expected no --limit beside it, got 5"):
        choose("vqa", IDS, TASKS, MODALITIES, limit=5, name="lite")
    with pytest.raises(UsageError, match="--subset: expected one of lite, got 'heavy'"):
        choose("vqa", IDS, TASKS, MODALITIES, name="heavy")
