import math
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Malformed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.pool import Pool
from medgen_metrics.serving.usage import Usage

from . import virtual_time
from .standing_in import A
from .standing_in import B
from .standing_in import Service
from .standing_in import Status
from .standing_in import ask
from .standing_in import first

# --- how many at a time -----------------------------------------------------------------------------------------------


def test_slots_are_never_idle() -> None:
    service = Service(2.0)
    replies, failures, seconds = ask(Pool([A], limit=16), service, 400)
    assert sorted(replies) == list(range(400))
    assert not failures
    assert service.most == 16
    assert seconds == pytest.approx(400 / 16 * 2)


def test_window_doubles_from_the_start() -> None:
    service = Service(1.0)
    ask(Pool([A], limit=128), service, 400)
    sent = [service.times.count(float(second)) for second in range(4)]
    assert sent == [16, 32, 64, 128]


def test_congestion_halves_the_window_once_for_all_requests_under_way() -> None:
    pool = Pool([A], limit=16, seed=0)
    replies, failures, _ = ask(pool, Service(1.0, first(16, lambda: Status(429))), 16)
    assert len(replies) == 16
    assert not failures
    assert 8 <= pool.endpoints[0].window < 11


def test_each_window_in_congestion_halves_it_again_down_to_one_at_a_time() -> None:
    service = Service(1.0, lambda url, number: Status(503) if anyio.current_time() < 60 else None)
    pool = Pool([A], limit=16, attempts=30, deadline=None, seed=0)
    replies, _, _ = ask(pool, service, 16)
    assert len(replies) == 16
    late = [sum(1 for time in service.times if second <= time < second + 1) for second in range(30, 60)]
    assert max(late) == 1


def test_window_grows_by_one_a_window_after_congestion() -> None:
    pool = Pool([A], limit=64, start=64, seed=0)
    ask(pool, Service(1.0, first(64, lambda: Status(429))), 64 + 32 + 33 + 34)
    assert 34 <= pool.endpoints[0].window < 36


def test_server_error_is_no_congestion() -> None:
    pool = Pool([A], limit=16, seed=0)
    ask(pool, Service(1.0, first(4, lambda: Status(500))), 40)
    assert pool.endpoints[0].window == 16


# --- again, and when --------------------------------------------------------------------------------------------------


def test_backoff_doubles_with_jitter() -> None:
    waits = []
    for seed in range(5):
        service = Service(0.0, lambda url, number: Status(500))
        _, failures, _ = ask(Pool([A], attempts=5, backoff=1.0, seed=seed), service, 1)
        assert isinstance(failures[0], CallFailed)
        assert (failures[0].kind, failures[0].attempts, failures[0].status) == ("server", 5, 500)
        waits.append([after - before for before, after in zip(service.times, service.times[1:], strict=False)])
    for step, longest in enumerate((1, 2, 4, 8)):
        assert all(longest / 2 <= wait[step] <= longest for wait in waits)
        assert len({wait[step] for wait in waits}) == 5


@pytest.mark.parametrize("header", [{"retry_after": "7"}, {"retry_after_ms": "7000"}])
def test_retry_after_pauses_the_endpoint_for_all_requests(header: dict[str, str]) -> None:
    service = Service(1.0, first(1, lambda: Status(429, **header)))
    replies, _, _ = ask(Pool([A], limit=1), service, 3)
    assert len(replies) == 3
    assert service.times[:2] == pytest.approx([0.0, 8.0])


def test_retry_after_pauses_one_endpoint_only() -> None:
    service = Service(1.0, lambda url, number: Status(429, retry_after="50") if url == A else None)
    replies, _, seconds = ask(Pool([A, B], limit=2), service, 10)
    assert len(replies) == 10
    assert seconds < 50
    assert service.asked[A] == 1


def test_pause_beyond_the_deadline_ends_the_run() -> None:
    service = Service(1.0, lambda url, number: Status(429, "daily limit", retry_after="7200"))
    _, failures, seconds = ask(Pool([A], limit=1, deadline=600), service, 5)
    assert [type(error) for error in failures] == [RunStopped] * 5
    assert "daily limit" in str(failures[0])
    assert len(service.times) == 1
    assert seconds == 1.0


@pytest.mark.parametrize(
    ("status", "kind"), [(400, "rejected"), (413, "rejected"), (422, "rejected"), (409, "rejected")]
)
def test_request_at_fault_is_not_sent_again(status: int, kind: str) -> None:
    service = Service(1.0, first(1, lambda: Status(status, "too big")))
    replies, failures, _ = ask(Pool([A], limit=1), service, 3)
    assert (len(replies), len(service.times)) == (2, 3)
    assert isinstance(failures[0], CallFailed)
    assert (failures[0].kind, failures[0].attempts, failures[0].status) == ("rejected", 1, status)
    assert str(failures[0]) == f"rejected: {A}: HTTP {status}: too big"


@pytest.mark.parametrize("error", [Status(408), Status(429), Status(500), Status(502), Status(503), Status(529)])
def test_passing_faults_are_tried_again(error: Exception) -> None:
    replies, failures, _ = ask(Pool([A]), Service(1.0, first(2, lambda: error)), 1)
    assert (len(replies), failures) == (1, [])


def test_deadline_counts_from_the_first_sending_and_cuts_a_request_off() -> None:
    service = Service(1.0, lambda url, number: 1000.0)
    _, failures, seconds = ask(Pool([A], limit=1, deadline=30), service, 2)
    assert [str(error) for error in failures] == [f"timeout: {A}: no reply within the deadline of 30 s"] * 2
    assert seconds == pytest.approx(60)


def test_deadline_over_all_attempts() -> None:
    service = Service(8.0, lambda url, number: Status(500))
    _, failures, seconds = ask(Pool([A], attempts=100, deadline=30), service, 1)
    assert isinstance(failures[0], CallFailed)
    assert failures[0].kind in ("server", "timeout")
    assert 20 < seconds <= 30


def test_mistake_in_a_program_is_passed_on() -> None:
    pool = Pool([A])

    async def send(url: str) -> int:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        virtual_time.run(lambda: pool.run(send))
    assert pool.endpoints[0].flying == 0


# --- the rest ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [0.0, 0.5, 1.0, 1.5, 2.0, 7.3])
def test_cancellation_leaves_no_place_taken(moment: float) -> None:
    service = Service(1.0, lambda url, number: Status(500) if number % 3 == 0 else None)
    pool = Pool([A, B], limit=4, seed=0)

    async def work() -> None:
        with anyio.move_on_after(moment):
            async with anyio.create_task_group() as group:
                for _ in range(100):
                    group.start_soon(pool.run, service.send)
        assert [endpoint.flying for endpoint in pool.endpoints] == [0, 0]
        assert service.flying == 0
        await pool.run(service.send)

    virtual_time.run(work)


def test_one_cancelled_request_gives_its_turn_to_the_next() -> None:
    service = Service(1.0)
    pool = Pool([A], limit=1)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run, service.send)
            await anyio.sleep(0.1)
            with anyio.move_on_after(0.1):
                await pool.run(service.send)
            await pool.run(service.send)
        assert anyio.current_time() == pytest.approx(2.0)

    virtual_time.run(work)


EVENTS: list[Callable[[], Exception | float | None]] = [
    lambda: None,
    lambda: 40.0,
    lambda: Status(500),
    lambda: Status(429),
    lambda: Status(503, retry_after="3"),
    lambda: Status(400),
    lambda: Status(404),
    lambda: ConnectionResetError("reset"),
    lambda: ConnectionRefusedError("refused"),
    lambda: TimeoutError(),
    lambda: Malformed("half"),
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(range(len(EVENTS))), max_size=60),
    st.dictionaries(st.integers(0, 29), st.floats(0, 60), max_size=6),
    st.integers(1, 6),
    st.sampled_from([(A,), (A, B), (A, B, "http://c/v1")]),
    st.sampled_from([None, 20.0]),
)
def test_every_request_ends_whatever_happens(
    events: list[int], cancelled: dict[int, float], limit: int, urls: tuple[str, ...], deadline: float | None
) -> None:
    # the virtual clock finds tasks that wait for each other
    service = Service(1.0, lambda url, number: EVENTS[events[number]]() if number < len(events) else None)
    pool = Pool(urls, limit=limit, deadline=deadline, seed=0)
    ended: list[int] = []
    replies: list[int] = []

    async def one(number: int) -> None:
        try:
            with anyio.move_on_after(cancelled.get(number, math.inf)):
                replies.append(await pool.run(service.send))
        except (CallFailed, RunStopped):
            pass
        ended.append(number)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for number in range(30):
                group.start_soon(one, number)

    virtual_time.run(work)
    assert sorted(ended) == list(range(30))
    assert len(set(replies)) == len(replies)
    assert service.most <= limit
    assert [endpoint.flying for endpoint in pool.endpoints] == [0] * len(urls)
    assert all(endpoint.window <= limit for endpoint in pool.endpoints)


def test_requests_of_the_budget_are_sent_and_no_more() -> None:
    service = Service(1.0, lambda url, number: Status(500) if number == 3 else None)
    budget = Budget(max_requests=20)
    replies, failures, _ = ask(Pool([A], limit=8, budget=budget, seed=0), service, 100)
    assert (len(service.times), len(replies)) == (20, 19)
    assert {type(error) for error in failures} == {BudgetExhausted}
    assert budget.used.requests == 20


def test_cost_of_the_budget_is_never_exceeded() -> None:
    # a reply costs half of what it could have cost: 0.02 $ set aside, 0.01 $ spent
    budget = Budget(max_cost=0.5, prices={"m": {"output": 10.0}})
    pool = Pool([A], limit=16, budget=budget, model="m")
    service = Service(1.0)
    estimate = Usage(requests=1, completion_tokens=2000)
    replies, failures, _ = ask(
        pool, service, 100, estimate=estimate, usage=lambda reply: Usage(requests=1, completion_tokens=1000)
    )
    assert len(replies) == 49
    assert {type(error) for error in failures} == {BudgetExhausted}
    assert budget.used.cost == pytest.approx(0.49)


def test_secrets_reach_no_message() -> None:
    error = Status(400, "Incorrect key sk-planted-1 for user:pass-word@a, token tok-en-99")
    service = Service(1.0, lambda url, number: error)
    pool = Pool(["http://user:pass-word@a/v1?sig=tok-en-99"], secrets=["sk-planted-1"])
    (failure,) = ask(pool, service, 1)[1]
    for secret in ("planted", "pass-word", "tok-en-99"):
        assert secret not in str(failure)
        assert secret not in repr(failure)
    assert failure.__context__ is None
    assert failure.__cause__ is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"endpoints": []}, "endpoints: expected at least one"),
        ({"endpoints": [A], "limit": 0}, "limit: expected 1 or more, got 0"),
        ({"endpoints": [A], "attempts": 0}, "attempts: expected 1 or more"),
        ({"endpoints": [A], "deadline": 0}, "deadline: expected seconds"),
    ],
)
def test_bad_arguments(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Pool(**given)
