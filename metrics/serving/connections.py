"""Connections to servers, which outlive a request and belong to one event loop."""

import importlib
from collections.abc import Awaitable
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING
from typing import Generic
from typing import TypeVar

import anyio
import anyio.lowlevel

from .addresses import Address

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
CONNECT_SECONDS = 10.0


class Connections(Generic[T]):
    """Clients by URL, made when they are first needed in an event loop.

    Args:
        connect: makes one for a URL.
        close: ends one.
    """

    def __init__(self, connect: Callable[[str], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._connect = connect
        self._close = close
        self._clients: dict[str, T] = {}
        self._loop: object = None

    def of(self, url: str) -> T:
        """The client of a URL."""
        loop = anyio.lowlevel.current_token()
        if loop != self._loop:
            # of a loop that is gone: nothing of it can be awaited any more
            self._clients, self._loop = {}, loop
        if url not in self._clients:
            self._clients[url] = self._connect(url)
        return self._clients[url]

    async def aclose(self) -> None:
        """End all; `of` makes others afterwards."""
        clients, self._clients = self._clients, {}
        if self._loop == anyio.lowlevel.current_token():
            # also where this is part of a cancelled task
            with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                for client in clients.values():
                    await self._close(client)
        self._loop = None


def http_library() -> ModuleType:
    """The HTTP library beneath `openai`: `httpx` up to openai 2, `httpx2` since; their objects can't be mixed."""
    import openai

    return importlib.import_module(openai.DefaultAsyncHttpxClient.__mro__[1].__module__.partition(".")[0])


def openai_client(address: Address, *, key: str, limit: int, timeout: float) -> "AsyncOpenAI":
    """An `openai` client that leaves retries to its caller.

    Args:
        address: of the server.
        key: bearer token.
        limit: connections.
        timeout: seconds that the server may be silent.
    """
    import openai

    limits = http_library().Limits(max_connections=limit, max_keepalive_connections=limit)
    return openai.AsyncOpenAI(
        api_key=key,
        base_url=address.base,
        default_headers=address.headers,
        default_query=address.query,
        max_retries=0,
        timeout=openai.Timeout(timeout, connect=min(CONNECT_SECONDS, timeout)),
        http_client=openai.DefaultAsyncHttpxClient(limits=limits),
    )
