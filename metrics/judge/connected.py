"""The judges of a tier as they are connected: back ends, what is known of their servers, the cache, the event loop."""

import os
import shutil
import tempfile
import weakref
from collections.abc import Coroutine
from collections.abc import Mapping
from collections.abc import MutableMapping
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any
from typing import TypeVar

from filelock import FileLock

from ..serving.budget import Budget
from ..serving.loop import LoopThread
from .backend import MODES
from .backend import Backend
from .cache import CacheError
from .cache import ReplyCache
from .entry import host
from .judges import Asking
from .judges import Judge

T = TypeVar("T")


class Connected:
    """Judges with their connections, made as they are needed.

    All that lives (connections, thread, temporary folder) goes with this object, whether it is closed or not. A copy in
    another process, by fork or pickle, makes its own.

    Args:
        judges: whom to ask.
        asking: how.
        folder: of the cache; None keeps the replies as long as this object.
        budget: what may be spent.
        dry_run: a server whose reply format isn't known is taken to know JSON schemas.
    """

    def __init__(
        self, judges: Sequence[Judge], asking: Asking, folder: Path | None, budget: Budget, *, dry_run: bool = False
    ) -> None:
        self.judges = judges
        self.asking = asking
        self.budget = budget
        self.dry_run = dry_run
        self._folder = folder
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._cache: ReplyCache | None = None
        self._making = Lock()
        self._backends: dict[str, Backend] = {}
        self._loop = LoopThread("medgen-judge", partial(_end, self._backends))

    def __getstate__(self) -> dict[str, Any]:
        kept = ("judges", "asking", "budget", "dry_run", "_folder")
        return {name: self.__dict__[name] for name in kept}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    @property
    def cache(self) -> ReplyCache:
        """The replies.

        Raises:
            cache.CacheError: they can't be read.
        """
        with self._making:
            if self._cache is None:
                folder = self._folder
                if folder is None:
                    folder = Path(tempfile.mkdtemp(prefix="medgen-judge-"))
                    weakref.finalize(self, _remove, folder, os.getpid())
                self._cache = ReplyCache(folder, "judge")
            return self._cache

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop of the connections."""
        return self._loop.run(work)

    def fact(self, judge: Judge) -> Mapping[str, Any] | None:
        """What is known of a judge's server without asking it: `mode`, `model`, `fingerprint`."""
        facts = self.cache.facts
        names = [self._fact_name(judge)]
        if self.asking.reply_format is not None:
            names.append(self._fact_name(judge, self.asking.reply_format))
        return next((known for name in names if isinstance(known := facts.get(name), Mapping)), None)

    def mode(self, judge: Judge) -> str:
        """How a judge is asked for JSON; a server is asked once which way it can, which the cache keeps.

        Raises:
            serving.faults.CallFailed: it can't be reached, or refuses this client.
            ValueError: options that don't go together, found out as the connection is made.
        """
        if not judge.served:
            return "text"
        chosen = self.asking.reply_format
        known = self.fact(judge)
        if known is None and self.dry_run:
            return chosen or MODES[0]
        if known is None:
            known = self._found_out(judge)
        return chosen or str(known["mode"])

    def _found_out(self, judge: Judge) -> Mapping[str, Any]:
        folder = self.cache.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Processes that begin together must agree: what two found out apart might differ by accident, and a score
            # under another reply format is another score.
            with FileLock(folder / ".reply-format.lock"):
                self.cache.refresh()
                if self.fact(judge) is None:
                    self.run(self._probe(judge))
        except OSError as error:
            raise CacheError(f"{folder}: expected a folder that can be written, got: {error.strerror}") from error
        known = self.fact(judge)
        assert known is not None
        return known

    async def _probe(self, judge: Judge) -> None:
        backend = self.backend(judge)
        # a format that the user chose is not looked for, but the server is met once, for what it says of itself
        mode = await backend.probe()
        name = self._fact_name(judge, self.asking.reply_format)
        self.cache.note(name, {"mode": mode, **backend.fingerprint()})

    def backend(self, judge: Judge) -> Backend:
        """The connection to a judge.

        Raises:
            ValueError: as `judges.Judge.backend`.
        """
        if judge.name not in self._backends:
            known = self.asking.reply_format or (self.fact(judge) or {}).get("mode")
            self._backends[judge.name] = judge.backend(self.asking, self.budget, known)
        return self._backends[judge.name]

    def own(self) -> None:
        """After a fork: leave the parent's connections alone and make others."""
        if self._process != os.getpid():
            cache, self._process = self._cache, os.getpid()
            self._begin()
            self._cache = cache  # its files know of forks

    def close(self) -> None:
        """End connections, the cache's file and the loop; all begin anew when they are needed."""
        self.own()
        if self._backends:
            self._loop.run(_end(self._backends))
        self._loop.close()
        if self._cache is not None:
            self._cache.close()

    def _fact_name(self, judge: Judge, chosen: str | None = None) -> str:
        hosts = ",".join(sorted(filter(None, (host(url) for url in judge.urls)))) or "in process"
        return f"reply format of {judge.name} at {hosts}" + ("" if chosen is None else f", {chosen} as chosen")


async def _end(backends: MutableMapping[str, Backend]) -> None:
    while backends:
        _, backend = backends.popitem()
        await backend.aclose()


def _remove(folder: Path, process: int) -> None:
    if process == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)
