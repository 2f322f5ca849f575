"""A program that answers lines of JSON with lines of JSON, in a process group of its own."""

import asyncio
import json
import os
import signal
from collections import deque
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import anyio

LINE = 1 << 26  # bytes of a reply at most
PATIENCE = 5.0  # seconds to end after its input was closed, and again after SIGTERM
_TAIL = 20  # lines of what it last said


class Ended(Exception):
    """The program ended with requests open, or was ended because it was silent for too long.

    Attributes:
        alone: whether the request itself is to blame, as far as can be told: the only open one, or the silent one.
        silent: whether this request's time was over.
    """

    def __init__(self, message: str, *, alone: bool, silent: bool = False) -> None:
        super().__init__(message)
        self.alone = alone
        self.silent = silent


class Program:
    """A running program; belongs to the event loop that started it.

    Attributes:
        replies: how many it gave.
    """

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._open: dict[str, asyncio.Future[Mapping[str, Any]]] = {}
        self._tail: deque[str] = deque(maxlen=_TAIL)
        self._tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._listen())]
        self._is_over = self._is_blamed = self._is_killed = False
        self.replies = 0

    @classmethod
    async def start(cls, command: Sequence[str]) -> "Program":
        """Start it.

        Raises:
            OSError: it isn't there, or can't be run.
        """
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, limit=LINE, start_new_session=True
        )
        return cls(process)

    @property
    def is_alive(self) -> bool:
        """Whether it takes requests."""
        return not self._is_over

    @property
    def told(self) -> str:
        """How it ended, and the last that it said beside replies."""
        code = self._process.returncode
        how = "it runs" if code is None else f"exit status {code}" if code >= 0 else f"killed by signal {-code}"
        return f"{how}; it said: {' | '.join(self._tail) or 'nothing'}"[:2000]

    async def ask(self, key: str, request: Mapping[str, Any], timeout: float) -> Mapping[str, Any]:
        """Send a request and wait for the reply with its `id`.

        Args:
            key: the request's id; no other open one has it.
            request: what is sent.
            timeout: seconds; afterwards the program is ended.

        Raises:
            Ended: no reply came.
        """
        future: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[key] = future
        if self._is_over:
            # it ended before it could be told so
            self._fail_open()
        try:
            with anyio.fail_after(timeout):
                # a program that has ended is told of by `_read`
                with suppress(ConnectionError):
                    self._input.write(json.dumps(request).encode() + b"\n")
                    await self._input.drain()
                return await future
        except TimeoutError:
            self._open.pop(key, None)
            # Those that run out of time with it may only have waited behind it: the oldest is the one that hangs.
            is_first, self._is_blamed = not self._is_blamed, True
            await self._kill()
            said = f"no reply within {timeout:g} s; the program was ended. {self.told}"
            raise Ended(said, alone=is_first, silent=True) from None
        finally:
            self._open.pop(key, None)

    @property
    def _input(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None
        return self._process.stdin

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while line := await self._process.stdout.readline():
                self._take(line)
        except ValueError:
            self._tail.append(f"a line of more than {LINE} bytes")
        # a program that closes its output but runs on would never answer
        await self._kill()
        await self._process.wait()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._tasks[1]), 1.0)
        self._is_over = True
        self._fail_open()

    def _take(self, line: bytes) -> None:
        try:
            reply = json.loads(line)
        except ValueError:
            reply = None
        if not isinstance(reply, dict) or "id" not in reply:
            # libraries print; that is its log
            self._log(line)
            return
        self.replies += 1
        future = self._open.pop(str(reply["id"]), None)
        if future is not None and not future.done():
            future.set_result(reply)

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        with suppress(ValueError):
            while line := await self._process.stderr.readline():
                self._log(line)

    def _log(self, line: bytes) -> None:
        if text := line.decode("utf-8", "replace").strip():
            self._tail.append(text[:500])

    def _fail_open(self) -> None:
        # one that ends of itself after a reply hasn't read what came meanwhile
        is_done = self._process.returncode == 0 and self.replies > 0
        alone = len(self._open) == 1 and not self._is_blamed and not is_done
        for future in self._open.values():
            if not future.done():
                future.set_exception(Ended(f"the program ended before its reply: {self.told}", alone=alone))
        self._open.clear()

    async def _kill(self) -> None:
        """End it and what it has started, gently at first."""
        if self._is_killed:
            await self._process.wait()
            return
        self._is_killed = True
        self._signal(signal.SIGTERM)
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait(), PATIENCE)
        # also where it has ended itself: what it has started may not have
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    async def aclose(self) -> None:
        """End it: its input is closed first, so that a program that reads to the end of it ends by itself."""
        with suppress(ConnectionError, RuntimeError):
            self._input.close()
        if self._process.returncode is None:
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), PATIENCE)
        await self._kill()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._is_over = True
        self._fail_open()
