import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.budget import Prices
from medgen_metrics.serving.usage import Usage

from . import virtual_time

TABLE = {"m": {"input": 2.0, "output": 8.0, "image": 0.04, "image_input": 0.001, "request": 0.01}}


def test_price_of_every_part() -> None:
    usage = Usage(requests=2, prompt_tokens=500_000, completion_tokens=250_000, images=3, produced=5)
    cost = Budget(prices=TABLE).price(usage, "m").cost
    assert cost == pytest.approx(2 * 0.01 + 0.5 * 2 + 0.25 * 8 + 3 * 0.001 + 5 * 0.04)


@pytest.mark.parametrize(("name", "text"), [("p.json", json.dumps(TABLE)), ("p.yaml", "m:\n  input: 2\n  output: 8\n")])
def test_price_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    budget = Budget(max_cost=1, prices=tmp_path / name)
    usage = budget.price(Usage(prompt_tokens=1_000_000), "m")
    assert usage.cost == 2.0


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"a": {"inptu": 1}, "b": {"input": -1}, "c": 3}, ["a.inptu", "b.input: expected dollars", "c: expected"]),
        ({"a": {"input": True}}, ["a.input: expected dollars, 0 or more, got True"]),
        ({"a": {"input": float("nan")}}, ["got nan"]),
        ({"a": {}}, ["a: expected input, output"]),
        ([1], ["expected model -> prices, got [1]"]),
    ],
)
def test_every_fault_of_a_price_table_is_named(table: Any, said: list[str]) -> None:
    with pytest.raises(ValueError) as failure:
        Prices(table, "prices.yaml")
    assert str(failure.value).startswith("prices.yaml: ")
    for part in said:
        assert part in str(failure.value)


@pytest.mark.parametrize("name", ["p.yaml", "p.json"])
@pytest.mark.parametrize("data", [b"a: [", b"\xff\xfe\xfa"])
def test_file_that_is_no_yaml(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ValueError, match=r"p\.(yaml|json): expected YAML or JSON"):
        Prices.read(tmp_path / name)


def test_unknown_model_names_near_ones() -> None:
    with pytest.raises(ValueError, match="no price of model 'gpt-4o-mini'; it holds gpt-4o"):
        Prices({"gpt-4o": {"input": 1}}).of("gpt-4o-mini")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"max_cost": 1}, "max_cost: expected a price table"),
        ({"max_cost": -1, "prices": TABLE}, "max_cost: expected 0 or more"),
        ({"max_requests": -1}, "max_requests: expected 0 or more"),
        ({"max_cost": float("nan"), "prices": TABLE}, "max_cost: expected 0 or more"),
    ],
)
def test_bad_limits(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Budget(**given)


def test_request_that_may_exceed_waits_for_cheaper_ones_under_way() -> None:
    budget = Budget(max_cost=1.0, prices={"m": {"request": 0.6}})

    async def work() -> float:
        first = await budget.reserve(Usage(requests=1), "m")

        async def settle() -> None:
            await anyio.sleep(5)
            budget.settle(first, Usage(requests=0))

        async with anyio.create_task_group() as group:
            group.start_soon(settle)
            await budget.reserve(Usage(requests=1), "m")
        return anyio.current_time()

    assert virtual_time.run(work) == 5


def test_exhausted_says_what_to_do() -> None:
    async def work() -> None:
        budget = Budget(max_cost=0.5, prices={"m": {"request": 0.6}})
        with pytest.raises(BudgetExhausted, match=r"--max-cost 0\.5: \$0\.0000 is spent .* \$0\.6000; .*higher limit"):
            await budget.reserve(Usage(requests=1), "m")
        with pytest.raises(BudgetExhausted, match="--max-requests 0: reached"):
            await Budget(max_requests=0).reserve(Usage(requests=1), "m")

    virtual_time.run(work)


@pytest.mark.parametrize(
    ("usage", "billed", "cost"),
    [
        (Usage(requests=1, prompt_tokens=10), False, 20e-6 + 0.01),
        # a refused request costs nothing, one that was cut off what it may have cost
        (None, False, 0.0),
        (None, True, 2e-3 + 8e-3 + 0.01),
        # a server that says nothing of tokens
        (Usage(requests=1, unreported=1), False, 2e-3 + 8e-3 + 0.01),
    ],
)
def test_what_is_booked(usage: Usage | None, billed: bool, cost: float) -> None:
    budget = Budget(prices=TABLE)

    async def work() -> None:
        estimate = Usage(requests=1, prompt_tokens=1000, completion_tokens=1000)
        budget.settle(await budget.reserve(estimate, "m"), usage, billed=billed)

    virtual_time.run(work)
    assert budget.used.cost == pytest.approx(cost)
    assert budget.used.requests == 1


def test_tokens_that_cost_nothing_need_not_be_told() -> None:
    budget = Budget(prices={"m": {"image": 0.04, "request": 0.01}})
    assert budget.price(Usage(requests=1, produced=2, unreported=1), "m").cost == pytest.approx(0.09)
    assert Budget(prices=TABLE).price(Usage(requests=1, unreported=1), "m").cost is None


def test_without_prices_the_cost_is_unknown_not_nothing() -> None:
    budget = Budget()

    async def work() -> None:
        budget.settle(await budget.reserve(Usage(requests=1), "m"), Usage(requests=1, prompt_tokens=5))

    virtual_time.run(work)
    assert budget.used == Usage(requests=1, prompt_tokens=5, cost=None)
