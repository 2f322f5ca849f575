"""A service of several endpoints for tests of the pool: plain functions, no sockets."""

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import anyio

from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.pool import Pool

from . import virtual_time

A, B = "http://a/v1", "http://b/v1"


class Status(Exception):
    """An HTTP error as client libraries raise it."""

    def __init__(self, status: int, said: str = "no", **headers: str) -> None:
        super().__init__(said)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.response = SimpleNamespace(status_code=status, headers=named)


class Service:
    """Answers with the number of the request, after a time.

    Args:
        latency: seconds.
        behave: from an endpoint and the number of the request to an exception, None or seconds of latency.

    Attributes:
        times: when requests were sent.
        most: most requests under way at once.
    """

    def __init__(
        self, latency: float = 1.0, behave: Callable[[str, int], Exception | float | None] = lambda url, number: None
    ) -> None:
        self.latency, self.behave = latency, behave
        self.times: list[float] = []
        self.asked: Counter[str] = Counter()
        self.flying = self.most = 0

    async def send(self, url: str) -> int:
        number = len(self.times)
        self.times.append(anyio.current_time())
        self.asked[url] += 1
        self.flying += 1
        self.most = max(self.most, self.flying)
        try:
            how = self.behave(url, number)
            await anyio.sleep(how if isinstance(how, float) else self.latency)
            if isinstance(how, Exception):
                raise how
            return number
        finally:
            self.flying -= 1


def ask(pool: Pool, service: Service, requests: int, **given: Any) -> tuple[list[int], list[Exception], float]:
    """Replies, failures, and the seconds that all of it took."""
    replies: list[int] = []
    failures: list[Exception] = []

    async def one() -> None:
        try:
            replies.append(await pool.run(service.send, **given))
        except (CallFailed, RunStopped) as error:
            failures.append(error)

    async def work() -> float:
        async with anyio.create_task_group() as group:
            for _ in range(requests):
                group.start_soon(one)
        return anyio.current_time()

    seconds = virtual_time.run(work)
    assert all(endpoint.flying == 0 for endpoint in pool.endpoints)
    return replies, failures, seconds


def first(count: int, error: Callable[[], Exception]) -> Callable[[str, int], Exception | None]:
    return lambda url, number: error() if number < count else None
