"""The values made last, as many as a number of bytes holds, each made once however many threads ask for it."""

from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Hashable
from concurrent.futures import Future
from threading import Lock
from typing import Generic
from typing import TypeVar

Value = TypeVar("Value")


class Kept(Generic[Value]):
    """A least-recently-used cache bounded by bytes, for threads.

    Args:
        limit: bytes to hold at most; a single value above it is made and not kept.
        size: bytes of a value.
    """

    def __init__(self, limit: int, size: Callable[[Value], int]) -> None:
        self.limit = limit
        self.bytes = 0
        self._size = size
        self._lock = Lock()
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._pending: dict[Hashable, Future[Value]] = {}

    def get(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """The value of `key`; made if it isn't here, waited for if another thread is making it.

        Raises:
            Exception: what `make` raises, in every thread that waited; nothing is kept then.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            future = self._pending.get(key)
            is_ours = future is None
            if future is None:
                future = self._pending[key] = Future()
        if not is_ours:
            return future.result()
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            future.set_exception(error)
            raise
        with self._lock:
            del self._pending[key]
            self._keep(key, value)
        future.set_result(value)
        return value

    def _keep(self, key: Hashable, value: Value) -> None:
        self._values[key] = value
        self.bytes += self._size(value)
        while self.bytes > self.limit:
            _, dropped = self._values.popitem(last=False)
            self.bytes -= self._size(dropped)

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            self._values.clear()
            self.bytes = 0
