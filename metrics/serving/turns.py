"""Who may send when: a queue for places at several endpoints."""

import math
from collections import deque
from collections.abc import Sequence

import anyio

from .endpoints import Endpoint
from .faults import RunStopped


class _Waiter:
    """A request that waits for its turn."""

    def __init__(self, avoid: Endpoint | None) -> None:
        self.avoid = avoid
        self.endpoint: Endpoint | None = None
        self.event = anyio.Event()


class Turns:
    """Gives places at the least loaded endpoint with room, first come first served.

    Without a task of its own: whoever changes something hands out what became free, and the first in the queue watches
    the clock for endpoints that may be asked again.

    Args:
        endpoints: all of them.
        limit: requests under way at most, over all endpoints.
    """

    def __init__(self, endpoints: Sequence[Endpoint], limit: int) -> None:
        self._endpoints = endpoints
        self._limit = limit
        self._queue: deque[_Waiter] = deque()
        self._watcher: tuple[_Waiter, float] | None = None
        self._stopped: tuple[str, str] | None = None

    async def take(self, failed_at: Endpoint | None, until: float) -> Endpoint | None:
        """Wait for a place; its request counts as under way from then on.

        Args:
            failed_at: where this request failed before; another endpoint is preferred.
            until: time at which waiting ends.

        Returns:
            None when `until` came first.

        Raises:
            RunStopped: after `stop`.
        """
        self.check()
        waiter = _Waiter(failed_at)
        # A request that was sent before goes first, since its deadline runs; not to an endpoint that seems dead, for
        # which each waiting request should be the probe in turn.
        if failed_at is None or failed_at.resting:
            self._queue.append(waiter)
        else:
            self._queue.appendleft(waiter)
        taken = False
        try:
            self._dispatch()
            with anyio.move_on_after(until - anyio.current_time()):
                while waiter.endpoint is None:
                    self.check()
                    await self._wait(waiter)
            taken = waiter.endpoint is not None
            return waiter.endpoint
        finally:
            # Cancelled, perhaps in the very moment that a place was given.
            if not taken:
                if waiter.endpoint is not None:
                    waiter.endpoint.flying -= 1
                else:
                    self._queue.remove(waiter)
                self._dispatch()

    def give_back(self, endpoint: Endpoint) -> None:
        """A request has ended."""
        endpoint.flying -= 1
        self._dispatch()

    def stop(self, kind: str, message: str) -> None:
        """End all waiting, now and later, with `RunStopped`."""
        self._stopped = (kind, message)
        for waiter in self._queue:
            waiter.event.set()

    def reopen(self) -> None:
        """Undo `stop`."""
        self._stopped = None

    def earliest(self) -> float:
        """Time from which an endpoint may be asked, though all its places may be taken."""
        return min((one.resume for one in self._endpoints if one.refused is None), default=math.inf)

    def check(self) -> None:
        """Raise `RunStopped` after `stop`."""
        if self._stopped is not None:
            # one exception a request: a shared one would collect all their tracebacks
            raise RunStopped(*self._stopped)

    async def _wait(self, waiter: _Waiter) -> None:
        until = math.inf
        if self._queue[0] is waiter:
            until = self._next_time()
            self._watcher = (waiter, until)
        with anyio.move_on_after(until - anyio.current_time()):
            await waiter.event.wait()
        waiter.event = anyio.Event()
        if waiter.endpoint is None:
            self._dispatch()

    def _next_time(self) -> float:
        """When the next endpoint may be asked again."""
        now = anyio.current_time()
        times = [one.resume for one in self._endpoints if one.refused is None and one.resume > now]
        return min(times, default=math.inf)

    def _dispatch(self) -> None:
        now = anyio.current_time()
        room = self._limit - sum(endpoint.flying for endpoint in self._endpoints)
        while self._queue and room > 0:
            free = [endpoint for endpoint in self._endpoints if endpoint.has_room(now)]
            if not free:
                break
            waiter = self._queue.popleft()
            elsewhere = [endpoint for endpoint in free if endpoint is not waiter.avoid]
            endpoint = min(elsewhere or free, key=lambda one: (one.load, one.sent))
            endpoint.flying += 1
            endpoint.sent += 1
            waiter.endpoint = endpoint
            waiter.event.set()
            room -= 1
        if self._queue:
            first = self._queue[0]
            if self._watcher is None or self._watcher[0] is not first or self._next_time() < self._watcher[1]:
                first.event.set()
