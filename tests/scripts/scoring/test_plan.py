import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_scripts.scoring.plan import alike
from medgen_scripts.scoring.plan import plan

COSTS = st.lists(st.integers(0, 50), max_size=60)


@given(COSTS, st.integers(1, 7), st.none() | st.integers(0, 120), st.booleans())
def test_every_position_is_in_exactly_one_batch(
    costs: list[int], size: int, budget: int | None, is_sorted: bool
) -> None:
    batches = plan(costs, size, budget, is_sorted=is_sorted)
    assert sorted(position for batch in batches for position in batch) == list(range(len(costs)))
    assert all(0 < len(batch) <= size for batch in batches)
    if budget is not None:
        assert all(len(batch) == 1 or sum(costs[position] for position in batch) <= budget for batch in batches)


@given(COSTS, st.integers(1, 7), st.none() | st.integers(0, 120))
def test_batches_hold_similar_costs_or_keep_the_order(costs: list[int], size: int, budget: int | None) -> None:
    ordered = [costs[position] for batch in plan(costs, size, budget) for position in batch]
    assert ordered == sorted(costs)
    kept = [position for batch in plan(costs, size, budget, is_sorted=False) for position in batch]
    assert kept == list(range(len(costs)))


@pytest.mark.parametrize("is_sorted", [True, False])
def test_batches_are_filled(is_sorted: bool) -> None:
    assert plan([0] * 5, 2, is_sorted=is_sorted) == [[0, 1], [2, 3], [4]]
    assert plan([3, 1, 1, 1, 9, 2], 3, 3, is_sorted=False) == [[0], [1, 2, 3], [4], [5]]


@given(st.lists(st.sampled_from("abc")))
def test_what_is_alike_stands_together(contents: list[str]) -> None:
    groups = alike(contents)
    assert sorted(position for group in groups for position in group) == list(range(len(contents)))
    assert [{contents[position] for position in group} for group in groups] == [
        {name} for name in dict.fromkeys(contents)
    ]
