import anyio
import pytest

from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Malformed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.pool import Pool

from .standing_in import A
from .standing_in import B
from .standing_in import Service
from .standing_in import Status
from .standing_in import ask

# --- several endpoints ------------------------------------------------------------------------------------------------


def test_least_loaded_endpoint_is_asked() -> None:
    service = Service(behave=lambda url, number: 10.0 if url == A else 1.0)
    _, _, seconds = ask(Pool([A, B], limit=8), service, 400)
    assert service.most == 8
    assert service.asked[B] > 2 * service.asked[A]
    assert seconds < 400 / 8 * 5.5


def test_dead_endpoint_is_taken_out_and_tried_again_by_one_request() -> None:
    def behave(url: str, number: int) -> Exception | None:
        return ConnectionRefusedError("refused") if url == A and anyio.current_time() < 20 else None

    service = Service(1.0, behave)
    pool = Pool([A, B], limit=8, seed=0)
    replies, failures, seconds = ask(pool, service, 400)
    assert (len(replies), failures) == (400, [])
    assert service.asked[B] > 200
    # four at first, then one at a time after 1, 2, 4, 8, … seconds; from the first success on again its share
    assert service.asked[A] > 20
    assert not pool.endpoints[0].resting
    assert seconds < 70


def test_request_that_failed_goes_to_another_endpoint() -> None:
    service = Service(1.0, lambda url, number: Status(500) if url == A else None)
    replies, failures, _ = ask(Pool([A, B], attempts=2, limit=2), service, 20)
    assert (len(replies), failures) == (20, [])


def test_endpoint_that_refuses_us_is_left_for_good() -> None:
    service = Service(1.0, lambda url, number: Status(401, "bad key") if url == A else None)
    replies, failures, _ = ask(Pool([A, B], limit=8), service, 100)
    assert (len(replies), failures) == (100, [])
    assert service.asked[A] <= 8


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_run_ends_at_once_where_all_endpoints_refuse(status: int) -> None:
    service = Service(1.0, lambda url, number: Status(status, f"go away {number}"))
    pool = Pool([A, B], limit=8)
    _, failures, seconds = ask(pool, service, 300)
    assert [type(error) for error in failures] == [RunStopped] * 300
    # 8 under way, of which those that the first endpoint refused may ask the second
    assert len(service.times) <= 12
    assert seconds <= 2
    message = str(failures[-1])
    assert message.startswith("no endpoint serves us: http://a/v1: ")
    assert "http://b/v1: " in message
    assert f"HTTP {status}: go away" in message
    # later requests too, until somebody mended it
    assert isinstance(ask(pool, service, 1)[1][0], RunStopped)
    service.behave = lambda url, number: None
    pool.reopen()
    assert len(ask(pool, service, 1)[0]) == 1


@pytest.mark.parametrize("status", [403, 404])
def test_refusal_by_an_endpoint_that_served_is_about_the_request(status: int) -> None:
    service = Service(1.0, lambda url, number: Status(status, "flagged") if number == 5 else None)
    replies, failures, _ = ask(Pool([A], limit=1), service, 20)
    assert (len(replies), len(failures)) == (19, 1)
    assert isinstance(failures[0], CallFailed)


def test_no_credit_left_ends_the_run_though_its_status_is_429() -> None:
    service = Service(1.0, lambda url, number: Status(429, "You exceeded your current quota (insufficient_quota)"))
    _, failures, _ = ask(Pool([A], limit=4), service, 50)
    assert {type(error) for error in failures} == {RunStopped}
    assert len(service.times) == 4


# --- silence ----------------------------------------------------------------------------------------------------------


def test_outage_costs_no_record() -> None:
    def behave(url: str, number: int) -> Exception | None:
        return ConnectionRefusedError("refused") if 10 <= anyio.current_time() < 100 else None

    service = Service(1.0, behave)
    replies, failures, _ = ask(Pool([A], limit=16, seed=0), service, 400)
    assert (len(replies), failures) == (400, [])
    # the 16 under way, then one probe at a time
    assert sum(10 <= time < 100 for time in service.times) < 16 + 10


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), Status(500), Status(429), Malformed("login page")])
def test_endpoint_that_only_fails_is_not_asked_by_everybody(error: Exception) -> None:
    service = Service(1.0, lambda url, number: error if anyio.current_time() < 100 else None)
    replies, failures, _ = ask(Pool([A], limit=16, seed=0), service, 400)
    assert len(replies) + len(failures) == 400
    assert len(failures) <= 2
    assert sum(time < 100 for time in service.times) < 50


def test_run_ends_where_a_service_stays_silent() -> None:
    service = Service(1.0, lambda url, number: None if number < 32 else ConnectionRefusedError("refused"))
    replies, failures, seconds = ask(Pool([A, B], limit=16, patience=120, seed=0), service, 400)
    assert len(replies) == 32
    assert {type(error) for error in failures} == {RunStopped}
    assert "no endpoint has answered for 120 s: nothing answers at http://" in str(failures[-1])
    assert 120 <= seconds < 160


def test_mistyped_address_ends_the_run_within_seconds() -> None:
    service = Service(0.0, lambda url, number: ConnectionRefusedError("refused"))
    _, failures, seconds = ask(Pool([A], limit=16), service, 300)
    assert {type(error) for error in failures} == {RunStopped}
    assert seconds < 10
    assert len(service.times) < 30
