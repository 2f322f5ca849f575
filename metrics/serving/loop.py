"""An event loop in a thread of its own, for callers that aren't asynchronous or have a loop already (a notebook)."""

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Coroutine
from typing import Any
from typing import TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines on one loop, so that connections outlive a call; started at the first one.

    The thread ends with `close`, or when nobody holds this object any more. After a fork the child starts its own.

    Args:
        name: the thread's.
        last: awaited on the loop before it ends (connections that are to be closed); must not hold this object.
    """

    def __init__(self, name: str, last: Callable[[], Awaitable[None]] | None = None) -> None:
        self._name = name
        self._last = last
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self._end: Callable[[], Any] | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end and give the result, or raise what it raised.

        Interrupted (Ctrl-C), the coroutine is cancelled and has ended before the interrupt goes on.

        Raises:
            RuntimeError: called from a coroutine on this loop, which would wait for itself.
        """
        loop = self._started()
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError(f"{self._name}: a coroutine on this loop can't wait for another one; await it")
        ended = threading.Event()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            tasks.append(loop.create_task(work))
            tasks[0].add_done_callback(lambda _: ended.set())

        loop.call_soon_threadsafe(start)
        try:
            ended.wait()
        except BaseException:
            # in the loop's order: after `start`
            loop.call_soon_threadsafe(lambda: tasks[0].cancel())
            ended.wait()
            raise
        return tasks[0].result()

    def close(self) -> None:
        """End the loop; a later `run` starts another."""
        thread = self._thread
        if self._end is None or thread is None or self._process != os.getpid():
            return
        self._end()
        thread.join()
        self._loop = self._thread = self._end = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._process != os.getpid():
            self._process = os.getpid()
            self._loop = asyncio.new_event_loop()
            # A daemon: a caller that never closes must not keep the interpreter from ending.
            self._thread = threading.Thread(target=_serve, args=(self._loop,), name=self._name, daemon=True)
            self._thread.start()
            finalizer = weakref.finalize(self, _finish, self._loop, self._last, self._process)
            # The interpreter's end closes the sockets, and doesn't wait for a server that is slow to say goodbye.
            finalizer.atexit = False
            self._end = finalizer
        return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()


def _finish(loop: asyncio.AbstractEventLoop, last: Callable[[], Awaitable[None]] | None, process: int) -> None:
    """Let a loop come to its end, without waiting: this runs wherever garbage is collected."""
    if process != os.getpid() or loop.is_closed():
        return

    async def end() -> None:
        try:
            if last is not None:
                await last()
            await loop.shutdown_default_executor()
        except RuntimeError as error:
            # Python is ending and starts no thread any more; what is left ends with it.
            if "interpreter shutdown" not in str(error):
                raise
        finally:
            loop.stop()

    def begin() -> None:
        task = loop.create_task(end())
        _held.add(task)
        task.add_done_callback(_held.discard)

    loop.call_soon_threadsafe(begin)


_held: set[Any] = set()
"""Tasks that nothing else holds: a loop knows its tasks only weakly."""
