"""Any program as a back end: a request a line of JSON on its standard input, a reply a line on its standard output.

`docs/wrappers.md` is the contract for those who write one.
"""

import asyncio
import hashlib
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import anyio
import anyio.to_thread

from medgen_metrics.serving.faults import REJECTED
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped

from . import pictures
from .base import NOT_AN_IMAGE
from .base import Ask
from .base import Gave
from .base import Options
from .in_process import InProcess
from .in_process import complete
from .in_process import encoded
from .in_process import shown
from .program import Ended
from .program import Program

if TYPE_CHECKING:
    from ..systems.file import Component

TIMEOUT = 900.0  # seconds; a first reply waits for the model to be loaded
FRUITLESS = 3  # a program that ends so often in a row without a reply is given up
_SCRIPT = 1 << 20  # bytes; files of the command up to this size are digested


def make(component: "Component", options: Options) -> "CommandLine":
    """See `base.make`."""
    return CommandLine(component, options)


class CommandLine(InProcess):
    """A program that answers; it is started with the first request, and again where it has ended.

    `parameters` are in each request. A program that is silent for `timeout` seconds with a request, or ends in the
    middle of it, has failed for that record; requests that were merely under way with it are asked again.
    """

    gives = frozenset({"text", "image"})

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, batch=1)
        self.concurrency = options.concurrency or component.concurrency or self.batch
        self._timeout = component.timeout or TIMEOUT
        self._program: Program | None = None
        self._folder: Path | None = None
        self._starting = asyncio.Lock()
        self._fruitless = 0
        self._number = 0

    def describe(self) -> dict[str, Any]:
        """See `base.Backend`: the command, and a digest of the scripts that it names."""
        digests = {}
        for part in self.component.command or ():
            path = Path(part)
            if path.is_file() and path.stat().st_size <= _SCRIPT:
                digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        return shown(self.component, files=digests or None)

    async def _ask(self, ask: Ask) -> Gave:
        for attempt in range(1, self.component.attempts + 1):
            program, folder = await self._started()
            self._number += 1
            stem = f"{self._number:06d}"
            try:
                request = await anyio.to_thread.run_sync(self._request, ask, folder, stem)
                reply = await program.ask(ask.id, request, self._timeout)
                self._fruitless = 0
                return complete(await anyio.to_thread.run_sync(self._given, reply, ask, folder), ask)
            except Ended as error:
                # alone with it, the request is what ended it
                if error.alone or attempt == self.component.attempts:
                    raise CallFailed("timeout" if error.silent else "server", str(error), attempt) from None
            finally:
                for path in folder.glob(f"{stem}-*"):
                    path.unlink(missing_ok=True)
        raise AssertionError("the last attempt returns or raises")

    async def _started(self) -> tuple[Program, Path]:
        async with self._starting:
            if self._program is not None and self._program.is_alive:
                assert self._folder is not None
                return self._program, self._folder
            if self._program is not None:
                self._fruitless += not self._program.replies
                said = self._program.told
                await self._program.aclose()
                self._program = None
                if self._fruitless >= FRUITLESS:
                    raise RunStopped(
                        "server", f"{self.component.label}: ended {self._fruitless} times without a reply: {said}"
                    )
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(prefix="medgen-"))
            try:
                self._program = await Program.start(self.component.command or ())
            except OSError as error:
                raise RunStopped("not_found", f"{self.component.label}: can't be started: {error.strerror}") from error
            return self._program, self._folder

    def _request(self, ask: Ask, folder: Path, stem: str) -> dict[str, Any]:
        paths = []
        for place, data in enumerate(ask.images):
            path = folder / f"{stem}-input-{place}.png"
            path.write_bytes(encoded(pictures.rgb(data)))
            paths.append(str(path))
        return {
            "id": ask.id,
            "prompt": ask.prompt,
            "system": ask.system,
            "images": paths,
            "wants": sorted(ask.wants),
            "size": None if ask.size is None else list(ask.size),
            "seed": ask.seed,
            "max_tokens": ask.max_tokens,
            "output": str(folder / f"{stem}-output.png"),
            "parameters": dict(self.component.parameters),
        }

    def _given(self, reply: Mapping[str, Any], ask: Ask, folder: Path) -> Gave:
        text, image, meta = reply.get("text"), reply.get("image"), reply.get("meta") or {}
        if reply.get("error"):
            raise CallFailed(REJECTED, f"the program says: {str(reply['error'])[:1000]}")
        for name, value, kind in (("text", text, str), ("image", image, str), ("meta", meta, dict)):
            if value is not None and not isinstance(value, kind):
                raise CallFailed("malformed", f"reply: {name}: expected {kind.__name__}, got {value!r:.80}")
        data = None
        if image is not None and "image" in ask.wants:
            path = (folder / image).resolve()
            # what it names is read, and kept among the predictions
            if not path.is_relative_to(folder.resolve()):
                raise CallFailed("malformed", f"reply: image: expected a file in {folder}, got {image}")
            try:
                data = path.read_bytes()
            except OSError as error:
                raise CallFailed(NOT_AN_IMAGE, f"reply: image {path.name}: {error.strerror}") from error
        return Gave(text=text, image=data, usage=self.usage(ask), meta=dict(meta))

    async def check(self, ping: bool = False) -> list[str]:
        """See `base.Backend`."""
        program = (self.component.command or ("",))[0]
        if shutil.which(program) is None:
            return [f"command: {program} is not there, or can't be run"]
        if not ping:
            return []
        try:
            await self.ask(Ask("ping", "Answer with the word OK.", max_tokens=8))
        except (RunStopped, CallFailed) as error:
            return [f"request: {error}"]
        finally:
            await self.aclose()
        return []

    async def aclose(self) -> None:
        """See `base.Backend`: ends the program, and all that it has started."""
        program, self._program = self._program, None
        folder, self._folder = self._folder, None
        self._starting = asyncio.Lock()
        if program is not None:
            await program.aclose()
        if folder is not None:
            await anyio.to_thread.run_sync(lambda: shutil.rmtree(folder, ignore_errors=True))
