"""A server of a test, in a thread of its own while it is open as a context manager."""

import asyncio
import threading
from abc import ABC
from abc import abstractmethod
from typing import TypeVar

from aiohttp import web

S = TypeVar("S", bound="Threaded")


class Threaded(ABC):
    """Attributes:
    port: 0 until it serves, for any free one.
    """

    port: int = 0

    @abstractmethod
    def app(self) -> web.Application:
        """What is served; made in the server's loop."""

    def __enter__(self: S) -> S:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._start(), self._loop).result()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result()
        self._stop()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self) -> None:
        # a client that goes frees its slot, as with vLLM
        self._runner = web.AppRunner(self.app(), handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]
