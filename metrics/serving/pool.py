"""Requests to several endpoints of one service: bounded, adaptive, retried, within a budget.

A client library sends one request; what it lacks is here: which endpoint is asked, how many requests are under way, and
when a failed one is sent again.
"""

import math
import random
from collections.abc import AsyncIterator
from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import anyio

from .budget import Budget
from .endpoints import Endpoint
from .faults import CallFailed
from .faults import Fault
from .faults import fault_of
from .redact import Redactor
from .redact import secrets_of
from .turns import Turns
from .usage import Usage

T = TypeVar("T")
START = 16
# A service that was never heard is most likely a mistyped address: not worth the patience for one that fell silent.
FIRST_PATIENCE = 5.0
LONGEST_BACKOFF = 30.0
# A server that asks for a longer pause has no room for us today.
LONGEST_PAUSE = 3600.0
REMEDIES = {
    "auth": "Check the key.",
    "forbidden": "Check that the key may use this model.",
    "not_found": "Check the address (it mostly ends in /v1) and the model's name as the server knows it.",
    "quota": "Check the account; what was answered is kept, run again when it has credit.",
    "rate_limit": "What was answered is kept; run again after that pause.",
    "connection": "Check the address and the server; what was answered is kept, run again when it serves.",
}


class Pool:
    """Sends requests to the least loaded living endpoint; belongs to one event loop at a time.

    Args:
        endpoints: URLs; repeats are dropped.
        limit: requests under way at most, over all endpoints.
        attempts: how often a request is sent at most.
        deadline: seconds for a request with all its retries, from its first sending; None for no end.
        budget: what may be spent.
        model: name in the budget's price table.
        secrets: never to be shown in a message; credentials in URLs are masked anyhow.
        start: requests under way at an endpoint before its first reply.
        backoff: seconds before the first retry, about; they double.
        rest: seconds before a dead endpoint is first tried again; they double.
        patience: seconds without any living endpoint after which the run ends.
        seed: of the jitter.
        serving: how such a server is started, for messages where nothing answers.

    Raises:
        ValueError: no endpoint, or a limit that allows no request.
    """

    def __init__(
        self,
        endpoints: Sequence[str],
        *,
        limit: int = 16,
        attempts: int = 6,
        deadline: float | None = 600.0,
        budget: Budget | None = None,
        model: str = "",
        secrets: Sequence[str | None] = (),
        start: int = START,
        backoff: float = 0.5,
        rest: float = 1.0,
        patience: float = 120.0,
        seed: int | None = None,
        serving: str = "",
    ) -> None:
        if not endpoints:
            raise ValueError("endpoints: expected at least one URL, got none")
        for name, value in (("limit", limit), ("attempts", attempts), ("start", start)):
            if value < 1:
                raise ValueError(f"{name}: expected 1 or more, got {value}")
        if deadline is not None and not deadline > 0:
            raise ValueError(f"deadline: expected seconds, more than 0, got {deadline}")
        urls = list(dict.fromkeys(endpoints))
        self.redact = Redactor([*secrets, *(secret for url in urls for secret in secrets_of(url))])
        self.endpoints = tuple(Endpoint(url, limit, float(min(limit, start)), rest) for url in urls)
        self.limit = limit
        self._attempts = attempts
        self._deadline = math.inf if deadline is None else deadline
        self._budget = budget
        self._model = model
        self._backoff = backoff
        self._patience = patience
        self._is_it_up = f"is the server up? {serving}".strip()
        self._random = random.Random(seed)
        self._turns = Turns(self.endpoints, limit)
        self._silent_since: float | None = None

    def reopen(self) -> None:
        """Forget that endpoints refused or fell silent, and let requests be sent again."""
        for endpoint in self.endpoints:
            endpoint.refused = None
        self._silent_since = None
        self._turns.reopen()

    async def run(
        self,
        send: Callable[[str], Awaitable[T]],
        *,
        estimate: Usage | None = None,
        usage: Callable[[T], Usage] | None = None,
    ) -> T:
        """Send one request until it is answered.

        Args:
            send: takes an endpoint's URL; its exceptions are told apart by `faults.fault_of`.
            estimate: what the request may consume at most; needed for a budget of cost.
            usage: what a reply consumed.

        Returns:
            What `send` returned.

        Raises:
            CallFailed: it can't be answered, or not within the attempts and the deadline.
            RunStopped: no endpoint serves us, or none has lived for as long as there is patience.
            BudgetExhausted: it could exceed the budget.
        """
        began = math.inf
        attempts = 0
        failed_at: Endpoint | None = None
        fault: Fault | None = None
        while True:
            endpoint = await self._turns.take(failed_at, began + self._deadline)
            if endpoint is None:
                assert fault is not None
                assert failed_at is not None
                raise self._failure(failed_at, fault, attempts, "; the deadline came before another attempt")
            began = min(began, anyio.current_time())
            result = await self._attempt(endpoint, send, began, estimate, usage)
            if not isinstance(result, Fault):
                return result[0]
            fault = result
            self._turns.check()
            if endpoint.refused is not None:
                # nothing is wrong with the request: the other endpoints may take it
                failed_at = endpoint
                continue
            attempts += 1
            now, end = anyio.current_time(), began + self._deadline
            if not fault.passing or attempts >= self._attempts or now >= end:
                raise self._failure(endpoint, fault, attempts)
            failed_at = endpoint
            delay = 0.0 if fault.retry_after else self._jittered(attempts)
            if max(now + delay, self._turns.earliest()) >= end:
                raise self._failure(endpoint, fault, attempts, "; the deadline is nearer than the next attempt")
            await anyio.sleep(delay)

    async def _attempt(
        self,
        endpoint: Endpoint,
        send: Callable[[str], Awaitable[T]],
        began: float,
        estimate: Usage | None,
        usage: Callable[[T], Usage] | None,
    ) -> tuple[T] | Fault:
        """Send once, and book what came of it."""
        epoch = endpoint.epoch
        try:
            async with _booked(self._budget, self._model, estimate) as booking:
                result = await self._sent(endpoint, send, began)
                if isinstance(result, Fault):
                    # a request that was cut off may have been worked on
                    booking.billed = result.kind in ("timeout", "connection") and not result.unreachable
                else:
                    booking.usage = Usage(requests=1) if usage is None else usage(result[0])
            if isinstance(result, Fault):
                self._note(endpoint, result, epoch)
            else:
                endpoint.succeeded()
                self._silent_since = None
            return result
        finally:
            self._turns.give_back(endpoint)

    async def _sent(self, endpoint: Endpoint, send: Callable[[str], Awaitable[T]], began: float) -> tuple[T] | Fault:
        try:
            with anyio.move_on_after(began + self._deadline - anyio.current_time()):
                return (await send(endpoint.url),)
        except Exception as error:
            fault = fault_of(error)
            if fault is None:
                raise
            return fault
        return Fault("timeout", f"no reply within the deadline of {self._deadline:g} s")

    def _note(self, endpoint: Endpoint, fault: Fault, epoch: int) -> None:
        """Note a failed attempt, and end the run where no endpoint is left for it."""
        now = anyio.current_time()
        endpoint.failed(fault, epoch, now)
        # Of an endpoint that never served anything a refusal means all requests; of another, this one.
        lasting = fault.kind in ("auth", "quota") or (fault.refusal and not endpoint.served)
        if lasting or (fault.passing and (fault.retry_after or 0.0) > min(self._deadline, LONGEST_PAUSE)):
            endpoint.refused = fault
        left = [one for one in self.endpoints if one.refused is None]
        if not left:
            self._stop(fault.kind, "no endpoint serves us", [(one, one.refused or fault) for one in self.endpoints])
        elif all(one.resting for one in left):
            self._silent_since = now if self._silent_since is None else self._silent_since
            patience = self._patience if any(one.heard for one in left) else min(self._patience, FIRST_PATIENCE)
            others = sum(one.flying for one in left) > 1
            if now - self._silent_since >= patience and not others:
                self._stop(fault.kind, f"no endpoint has answered for {patience:g} s", [(endpoint, fault)])

    def _stop(self, kind: str, why: str, faults: Sequence[tuple[Endpoint, Fault]]) -> None:
        said = "; ".join(
            f"{one.name}: {fault.kind}: {self.redact(fault.text)}" if not fault.cause else self._silent(one, fault)
            for one, fault in faults
        )
        remedy = REMEDIES.get(kind, REMEDIES["connection"])
        if all(fault.cause for _, fault in faults):
            said = f"{said}; {self._is_it_up}"
        self._turns.stop(kind, f"{why}: {said}{'' if said.endswith('?') else '.'} {remedy}")

    def _silent(self, endpoint: Endpoint, fault: Fault) -> str:
        return f"nothing answers at {endpoint.name}: {self.redact(fault.cause)}"

    def _failure(self, endpoint: Endpoint, fault: Fault, attempts: int, more: str = "") -> CallFailed:
        if fault.cause:
            said = f"{self._silent(endpoint, fault)}; {self._is_it_up}"
        else:
            said = f"{endpoint.name}: {self.redact(fault.text)}{more}"
        return CallFailed(fault.kind, said, attempts, fault.status)

    def _jittered(self, attempts: int) -> float:
        longest = min(LONGEST_BACKOFF, self._backoff * 2 ** (attempts - 1))
        return self._random.uniform(longest / 2, longest)


@dataclass
class _Booking:
    """What is to be booked for a request: nothing came of it unless said otherwise."""

    usage: Usage | None = None
    billed: bool = True


@asynccontextmanager
async def _booked(budget: Budget | None, model: str, estimate: Usage | None) -> AsyncIterator[_Booking]:
    booking = _Booking()
    if budget is None:
        yield booking
        return
    reservation = await budget.reserve(estimate or Usage(requests=1), model)
    try:
        yield booking
    finally:
        budget.settle(reservation, booking.usage, billed=booking.billed)
