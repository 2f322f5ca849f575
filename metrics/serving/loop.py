"""An event loop in a thread of its own, for callers that aren't asynchronous or have a loop already (a notebook)."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any
from typing import TypeVar

T = TypeVar("T")


class LoopThread:
    """Runs coroutines on one loop, so that connections outlive a call; started at the first one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run to the end and give the result, or raise what it raised.

        Interrupted (Ctrl-C), the coroutine is cancelled and has ended before the interrupt goes on.
        """
        loop = self._started()
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
        if self._loop is None or self._thread is None:
            return
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            # A daemon: a caller that never closes must not keep the interpreter from ending.
            self._thread = threading.Thread(target=self._loop.run_forever, name=self._name, daemon=True)
            self._thread.start()
        return self._loop
