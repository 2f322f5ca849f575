"""Records through a system's models: each model as busy as its limit allows, none ahead of the next, no batches.

A record moves on as soon as it is answered. A model that is slower than the one before it holds that one up, so that
little is in memory and little was asked in vain when a run is killed.
"""

from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectReceiveStream
from anyio.streams.memory import MemoryObjectSendStream

from medgen_metrics.replies import Unusable
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.redact import Redactor

from .stages import Stage
from .work import Work

# What a reply that can't be read is called in a row's error (`medgen_metrics.failures.SYSTEM`).
_UNUSABLE = {"refusal": "refused", "empty": "empty"}
_KEEPERS = 4  # at a time; each decodes an image, and waits for the disk


@dataclass(frozen=True)
class Busy:
    """A stage, and how many records it may work on at a time."""

    stage: Stage
    limit: int


class Pipeline:
    """Works through records.

    Args:
        stages: in order.
        keep: takes each record once it is answered, has failed or was stopped; called in several tasks at a time.
        redact: masks the run's secrets in messages.

    Attributes:
        stopped: why the run ended before its records did; None while it hasn't.
    """

    def __init__(self, stages: Sequence[Busy], keep: Callable[[Work], Awaitable[None]], redact: Redactor) -> None:
        self._stages = stages
        self._keep = keep
        self._redact = redact
        self.stopped: RunStopped | None = None

    async def run(self, source: Iterator[Work]) -> None:
        """Work through `source`, which is drawn from in threads as there is room.

        Cancelled, it keeps what was answered and ends. After `RunStopped` nothing more is drawn; what is under way may
        still be answered.

        Raises:
            Exception: whatever `keep` or `source` raises.
        """
        try:
            await self._run(source)
        except Exception as error:
            raise _first(error) from None

    async def _run(self, source: Iterator[Work]) -> None:
        done, keepable = _stream(sum(busy.limit for busy in self._stages))
        async with anyio.create_task_group() as keepers:
            for _ in range(_KEEPERS):
                keepers.start_soon(self._keeper, keepable.clone())
            keepable.close()
            async with done, anyio.create_task_group() as workers:
                first, source_end = _stream(self._stages[0].limit)
                workers.start_soon(self._feed, source, first)
                incoming = source_end
                for number, busy in enumerate(self._stages):
                    is_last = number == len(self._stages) - 1
                    # no room between stages: a record waits in the hands of the model before
                    outgoing, following = (None, None) if is_last else _stream(0)
                    for _ in range(busy.limit):
                        onward = None if outgoing is None else outgoing.clone()
                        workers.start_soon(self._worker, busy.stage, incoming.clone(), onward, done.clone())
                    incoming.close()
                    if outgoing is not None and following is not None:
                        outgoing.close()
                        incoming = following

    async def _feed(self, source: Iterator[Work], outgoing: MemoryObjectSendStream[Work]) -> None:
        async with outgoing:
            while self.stopped is None:
                work = await anyio.to_thread.run_sync(next, source, None)
                if work is None:
                    return
                await outgoing.send(work)

    async def _worker(
        self,
        stage: Stage,
        incoming: MemoryObjectReceiveStream[Work],
        onward: MemoryObjectSendStream[Work] | None,
        done: MemoryObjectSendStream[Work],
    ) -> None:
        async with incoming, done, onward or nullcontext():
            async for work in incoming:
                try:
                    if work.open:
                        await self._turn(stage, work)
                    if work.open and onward is not None:
                        await onward.send(work)
                        continue
                except anyio.get_cancelled_exc_class():
                    # Ctrl-C: what a first model has written is kept
                    work.stopped = True
                    await _shielded(done, work)
                    raise
                await _shielded(done, work)

    async def _turn(self, stage: Stage, work: Work) -> None:
        if self.stopped is not None:
            work.stopped = True
            return
        try:
            await stage.run(work)
        except CallFailed as error:
            work.fail(error.kind, self._redact(error.message), error.attempts)
        except RunStopped as error:
            self.stopped = self.stopped or error
            work.stopped = True
        except Unusable as error:
            work.fail(_UNUSABLE.get(error.kind, "unparsable"), self._redact(str(error)))
        except Exception as error:
            # One record's failure is that record's row; the run goes on.
            work.fail(type(error).__name__, self._redact(str(error)))

    async def _keeper(self, incoming: MemoryObjectReceiveStream[Work]) -> None:
        # To the end even where the run is being cancelled: it has been paid for.
        with anyio.CancelScope(shield=True):
            async with incoming:
                async for work in incoming:
                    await self._keep(work)


def _first(error: Exception) -> Exception:
    """Of a group of exceptions, which task groups make of any, the one that the others follow from."""
    leaves = _leaves(error)
    streams = (anyio.BrokenResourceError, anyio.ClosedResourceError)
    return next((leaf for leaf in leaves if not isinstance(leaf, streams)), leaves[0])


def _leaves(error: Exception) -> list[Exception]:
    inner = [one for one in getattr(error, "exceptions", ()) if isinstance(one, Exception)]
    return [leaf for one in inner for leaf in _leaves(one)] or [error]


async def _shielded(done: MemoryObjectSendStream[Work], work: Work) -> None:
    """Hand on what must not be lost."""
    with anyio.CancelScope(shield=True):
        await done.send(work)


def _stream(room: int) -> tuple[MemoryObjectSendStream[Work], MemoryObjectReceiveStream[Work]]:
    return anyio.create_memory_object_stream(room)
