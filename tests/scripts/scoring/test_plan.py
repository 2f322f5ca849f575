from hypothesis import given
from hypothesis import strategies as st

from medgen_scripts.scoring.plan import plan
from medgen_scripts.scoring.plan import share


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 7), st.integers(1, 5))
def test_every_position_is_in_exactly_one_batch_of_one_process(costs: list[int], size: int, processes: int) -> None:
    batches = plan(costs, size)
    shares = [batch for rank in range(processes) for batch in share(batches, rank, processes)]
    assert sorted(position for batch in shares for position in batch) == list(range(len(costs)))
    assert all(0 < len(batch) <= size for batch in batches)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.integers(1, 7))
def test_batches_hold_similar_costs(costs: list[int], size: int) -> None:
    ordered = [costs[position] for batch in plan(costs, size) for position in batch]
    assert ordered == sorted(costs)


def test_equal_costs_keep_their_order() -> None:
    assert plan([0] * 5, 2) == [[0, 1], [2, 3], [4]]
