"""Requests that wait at the same time, answered together: for models in this process, which do one batch at a time.

A thread of its own works through the batches, so that the event loop goes on meanwhile.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import InvalidStateError
from typing import Generic
from typing import TypeVar

from .faults import REJECTED
from .faults import CallFailed

LINGER = 0.05  # seconds that a batch waits for more requests; a reply takes longer by far

Asked = TypeVar("Asked")
Given = TypeVar("Given")

logger = logging.getLogger(__name__)


class _Waiting(Generic[Asked, Given]):
    """A request that waits for its reply."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.future: Future[Given] = Future()


class Batches(Generic[Asked, Given]):
    """Collects requests into batches and has them answered.

    A request that the model can't take fails alone: a batch that fails is tried again one by one. Where the memory of
    the device is too small the batch is halved, for good.

    Args:
        answer: a batch and a function that tells, by place, whether nobody waits for a request any more -> replies in
            the batch's order. Called in the thread.
        size: most requests of a batch.
        name: of the model, for messages, and the thread.
        alike: requests of one batch have the same; None: any may share a batch.

    Attributes:
        size: most requests of a batch, as it is now.
        sizes: of the batches so far.
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Asked], Callable[[int], bool]], Sequence[Given]],
        *,
        size: int,
        name: str,
        alike: Callable[[Asked], Hashable] | None = None,
    ) -> None:
        if size < 1:
            raise ValueError(f"batch size: expected 1 or more, got {size}")
        self.size = size
        self.sizes: list[int] = []
        self._answer = answer
        self._name = name
        self._alike = alike
        self._queue: queue.SimpleQueue[_Waiting[Asked, Given] | None] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()

    @property
    def idle(self) -> bool:
        """Whether no request waits for a batch."""
        return self._queue.empty()

    async def ask(self, asked: Asked) -> Given:
        """One reply.

        Raises:
            CallFailed: the request doesn't fit the model or the memory.
            Exception: whatever loading the model raises.
        """
        waiting = _Waiting[Asked, Given](asked)
        with self._lock:
            if self._worker is None:
                # A daemon: a caller that never closes must not keep the interpreter from ending.
                self._worker = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._worker.start()
        self._queue.put(waiting)
        return await asyncio.wrap_future(waiting.future)

    async def aclose(self) -> None:
        """End the thread once it has answered what waits; a later request starts it again."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is not None:
                self._queue.put(None)
        if worker is not None:
            await asyncio.to_thread(worker.join)

    # --- the thread -------------------------------------------------------------------------------------------------

    def _work(self) -> None:
        ended = False
        while not ended:
            collected, ended = self._collect()
            waiting = [item for item in collected if not item.future.cancelled()]
            for batch in self._alike_ones(waiting):
                self._try(batch)

    def _collect(self) -> tuple[list[_Waiting[Asked, Given]], bool]:
        """The next batch, and whether no other follows it."""
        batch: list[_Waiting[Asked, Given]] = []
        while len(batch) < self.size:
            try:
                item = self._queue.get(timeout=LINGER if batch else None)
            except queue.Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _alike_ones(self, items: list[_Waiting[Asked, Given]]) -> list[list[_Waiting[Asked, Given]]]:
        if self._alike is None:
            return [items] if items else []
        groups: dict[Hashable, list[_Waiting[Asked, Given]]] = {}
        for item in items:
            groups.setdefault(self._alike(item.asked), []).append(item)
        return list(groups.values())

    def _try(self, batch: list[_Waiting[Asked, Given]]) -> None:
        """Answer; what goes wrong is told to those of this batch alone."""
        try:
            self._answered(batch)
        except BaseException as error:  # whoever waits must hear of it, and the thread serves the next
            for item in batch:
                _settle(item, error)

    def _answered(self, batch: list[_Waiting[Asked, Given]]) -> None:
        try:
            given = self._answer([item.asked for item in batch], lambda row: batch[row].future.cancelled())
            if len(given) != len(batch):
                raise ValueError(f"expected {len(batch)} replies to {len(batch)} requests, got {len(given)}")
        except Unready as error:
            raise error.reason from error.reason.__cause__
        except Exception as error:
            if _is_memory(error):
                self._halve(batch, error)
                return
            if len(batch) == 1:
                if isinstance(error, CallFailed):
                    raise
                raise CallFailed(REJECTED, f"{type(error).__name__}: {error}") from error
            # One request that the model can't take must not fail its company.
            for item in batch:
                self._try([item])
            return
        self.sizes.append(len(batch))
        for item, reply in zip(batch, given, strict=True):
            _settle(item, reply)

    def _halve(self, batch: list[_Waiting[Asked, Given]], error: Exception) -> None:
        import torch

        torch.cuda.empty_cache()
        if len(batch) == 1:
            raise CallFailed(REJECTED, f"the memory of the device is too small for one request: {error}") from error
        self.size = (len(batch) + 1) // 2
        logger.warning(
            "%s: too little memory for %d requests at once; %d from here on", self._name, len(batch), self.size
        )
        for half in (batch[: self.size], batch[self.size :]):
            self._try(half)


class Unready(Exception):
    """No request can be answered, since the model can't be loaded; whoever waits is given the reason itself."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


def _is_memory(error: Exception) -> bool:
    # by name: a model that needs no torch doesn't load it for this
    return any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)


def _settle(item: _Waiting[Asked, Given], outcome: Given | BaseException) -> None:
    try:
        if isinstance(outcome, BaseException):
            item.future.set_exception(outcome)
        else:
            item.future.set_result(outcome)
    except InvalidStateError:  # cancelled meanwhile, or answered before its company failed
        pass
