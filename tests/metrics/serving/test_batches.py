import asyncio
import threading
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import pytest

from medgen_metrics.serving.batches import Batches
from medgen_metrics.serving.batches import Unready
from medgen_metrics.serving.faults import CallFailed


def together(batches: Batches[Any, Any], *asked: Any) -> list[Any]:
    async def work() -> list[Any]:
        try:
            return await asyncio.gather(*map(batches.ask, asked), return_exceptions=True)
        finally:
            await batches.aclose()

    return asyncio.run(work())


def doubled(asked: Sequence[int], unwanted: Callable[[int], bool]) -> list[int]:
    return [2 * number for number in asked]


def test_what_waits_is_answered_together_in_order() -> None:
    batches = Batches(doubled, size=4, name="t")
    assert together(batches, *range(10)) == [2 * number for number in range(10)]
    assert batches.sizes == [4, 4, 2]
    assert together(batches, 1) == [2], "it can't be asked again once it was closed"


def test_only_alike_requests_share_a_batch() -> None:
    seen: list[list[int]] = []

    def answer(asked: Sequence[int], unwanted: Any) -> list[int]:
        seen.append(list(asked))
        return list(asked)

    batches = Batches(answer, size=6, name="t", alike=lambda number: number % 2)
    assert together(batches, 1, 2, 3, 4, 5) == [1, 2, 3, 4, 5]
    assert seen == [[1, 3, 5], [2, 4]]


def test_a_bad_request_fails_alone() -> None:
    def answer(asked: Sequence[int], unwanted: Any) -> list[float]:
        return [1 / number for number in asked]

    found = together(Batches(answer, size=4, name="t"), 1, 0, 2)
    assert (found[0], found[2]) == (1.0, 0.5)
    assert isinstance(found[1], CallFailed)
    assert "ZeroDivisionError" in str(found[1])


def test_too_few_replies_are_no_replies() -> None:
    found = together(Batches(lambda asked, unwanted: list(asked)[1:], size=4, name="t"), 1, 2)
    assert all("expected 1 replies to 1 requests, got 0" in str(error) for error in found)


def test_a_model_that_cannot_be_loaded_is_tried_once_a_batch() -> None:
    tries = []

    def answer(asked: Sequence[int], unwanted: Any) -> list[int]:
        tries.append(len(asked))
        raise Unready(FileNotFoundError("no weights"))

    found = together(Batches(answer, size=4, name="t"), 1, 2, 3)
    assert all(isinstance(error, FileNotFoundError) for error in found)
    assert tries == [3]


def test_whoever_is_cancelled_is_told_of() -> None:
    begun, told = threading.Event(), threading.Event()
    seen: list[bool] = []

    def answer(asked: Sequence[int], unwanted: Callable[[int], bool]) -> list[int]:
        begun.set()
        told.wait(10)
        seen.extend(unwanted(row) for row in range(len(asked)))
        return list(asked)

    batches = Batches(answer, size=2, name="t")

    async def work() -> None:
        first, second = (asyncio.ensure_future(batches.ask(number)) for number in (1, 2))
        await asyncio.to_thread(begun.wait)
        first.cancel()
        await asyncio.sleep(0)
        told.set()
        assert await second == 2
        await batches.aclose()

    asyncio.run(work())
    assert seen == [True, False]


def test_a_batch_has_a_size() -> None:
    with pytest.raises(ValueError, match="expected 1 or more, got 0"):
        Batches(doubled, size=0, name="t")
