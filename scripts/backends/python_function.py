"""A user's own model: a Python function, `python: module:function` in a system's file.

The function names as parameters what it wants to be given, and returns what it has:

    def answer(prompt, images):            # or (ask), a dict of all; or (asks), a list of such dicts: a batch
        return "Yes."                      # a text; or an image; or {"text": …, "image": …, "meta": {…}}

| parameter | is |
|---|---|
| `prompt` | what a model is told, instruction and options included |
| `system` | what it is told beside that, or None |
| `images` | the input images: PIL, upright, 8-bit RGB |
| `image` | the first of them, or None |
| `files` | the input images as files, bytes |
| `id` | the record's |
| `wants` | which of `text` and `image` are expected, a set |
| `size` | (width, height) that the image should have, or None |
| `seed` | this record's own: an answer drawn from it depends on no order |
| `max_tokens` | limit of the text |

An image is a PIL image, an array that PIL understands, a file's bytes or its `pathlib.Path`. A function that returns
nothing of what is wanted has failed for this record, and so has one that raises; the run goes on.
"""

import hashlib
import importlib
import inspect
import os
import sys
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import anyio
import anyio.to_thread

from medgen_metrics.serving.batches import Batches
from medgen_metrics.serving.faults import CallFailed

from ..errors import UsageError
from . import pictures
from .base import NOT_AN_IMAGE
from .base import Ask
from .base import Gave
from .base import Options
from .in_process import InProcess
from .in_process import complete
from .in_process import encoded
from .in_process import shown

if TYPE_CHECKING:
    from ..systems.file import Component

PARAMETERS = ("prompt", "system", "images", "image", "files", "id", "wants", "size", "seed", "max_tokens")
ONE, MANY = "ask", "asks"
BATCH = 8


def make(component: "Component", options: Options) -> "PythonFunction":
    """See `base.make`.

    Raises:
        UsageError: no such function, or one that can't be called so.
    """
    return PythonFunction(component, options)


@dataclass(frozen=True, slots=True)
class Function:
    """A user's function, and how it is called.

    Attributes:
        call: the function.
        takes: names of its parameters.
        source: digest of its module's file, 16 hex digits; None where there is none.
    """

    call: Callable[..., Any]
    takes: tuple[str, ...]
    source: str | None

    @property
    def is_batched(self) -> bool:
        """Whether it takes a list of asks."""
        return self.takes == (MANY,)

    def arguments(self, ask: Ask) -> dict[str, Any]:
        """Its keyword arguments for one request.

        Raises:
            CallFailed: an input that is no image.
        """
        if self.takes == (ONE,):
            return {ONE: all_of(ask)}
        # images are decoded where they are asked for
        return {name: _of(ask, name) for name in self.takes}


def load(name: str, parameters: Mapping[str, Any]) -> Function:
    """Find a function.

    Args:
        name: `module:function`; the current folder is searched too, and of `module:a.b` attributes are followed.
        parameters: of the component, given to the function as they are.

    Raises:
        UsageError: the module can't be imported, has no such function, or it wants what nobody gives.
    """
    module_name, _, path = name.partition(":")
    # a console script's path begins with its own folder
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        hint = " (leave .py off)" if module_name.endswith(".py") else ""
        raise UsageError(
            f"python: {name}: can't import {module_name}{hint}: {type(error).__name__}: {error}"
        ) from error
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            raise UsageError(f"python: {name}: {module_name} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(f"python: {name}: expected a function, got {type(found).__name__}")
    takes, faults = [], []
    for parameter in inspect.signature(found).parameters.values():
        is_open = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if parameter.name in (*PARAMETERS, ONE, MANY) and parameter.kind != parameter.POSITIONAL_ONLY and not is_open:
            takes.append(parameter.name)
        elif parameter.name not in parameters and parameter.default is parameter.empty and not is_open:
            faults.append(parameter.name)
    if faults or ((ONE in takes or MANY in takes) and len(takes) > 1):
        raise UsageError(
            f"python: {name}: expected parameters among {', '.join(PARAMETERS)}, or {ONE} alone, or {MANY} alone for "
            f"batches, or those that `parameters` of the system's file gives; got {', '.join([*takes, *faults])}"
        )
    file = getattr(module, "__file__", None)
    source = hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file and Path(file).is_file() else None
    return Function(found, tuple(takes), source)


class PythonFunction(InProcess):
    """A user's function; see the module. `parameters` are given to it as further keyword arguments.

    A plain function is called for one record at a time (for `concurrency` of them where the system's file says so, from
    several threads), one that is `async` likewise; a batch function for `batch` at most.
    """

    gives = frozenset({"text", "image"})

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, batch=BATCH)
        self._function = load(self.component.function or "", self.component.parameters)
        self._limiter: anyio.CapacityLimiter | None = None
        self._batches: Batches[Ask, Any] | None = None
        if self._function.is_batched:
            self._batches = Batches(self._many, size=self.batch, name="medgen-function")
        else:
            self.concurrency = options.concurrency or component.concurrency or 1

    def describe(self) -> dict[str, Any]:
        """See `base.Backend`: the function and a digest of its module's file; of what that imports it knows nothing."""
        return shown(self.component, source=self._function.source)

    async def _ask(self, ask: Ask) -> Gave:
        text, given, meta = parts(await self._called(ask))
        image = await anyio.to_thread.run_sync(as_file, given)
        return complete(Gave(text=text, image=image, usage=self.usage(ask), meta=meta), ask)

    async def _called(self, ask: Ask) -> Any:
        function, more = self._function, self.component.parameters
        if self._batches is not None:
            return await self._batches.ask(ask)
        arguments = await anyio.to_thread.run_sync(function.arguments, ask)
        if inspect.iscoroutinefunction(function.call):
            return await function.call(**arguments, **more)
        if self._limiter is None:
            self._limiter = anyio.CapacityLimiter(self.concurrency)
        return await anyio.to_thread.run_sync(lambda: function.call(**arguments, **more), limiter=self._limiter)

    def _many(self, asks: Sequence[Ask], unwanted: Callable[[int], bool]) -> Sequence[Any]:
        return answers(self._function.call, asks, self.component.parameters)

    async def check(self, ping: bool = False) -> list[str]:
        """See `base.Backend`: what is there was found when it was made."""
        return []

    async def aclose(self) -> None:
        """See `base.Backend`."""
        self._limiter = None
        if self._batches is not None:
            await self._batches.aclose()


def all_of(ask: Ask) -> dict[str, Any]:
    """A request as a function is given it, parameter -> value."""
    return {name: _of(ask, name) for name in PARAMETERS}


def _of(ask: Ask, name: str) -> Any:
    if name == "files":
        return list(ask.images)
    if name == "images":
        return [pictures.rgb(data) for data in ask.images]
    if name == "image":
        return pictures.rgb(ask.images[0]) if ask.images else None
    return set(ask.wants) if name == "wants" else getattr(ask, name)


def answers(call: Callable[..., Any], asks: Sequence[Ask], more: Mapping[str, Any]) -> Sequence[Any]:
    """What a batch function returns.

    Raises:
        TypeError: no list of as many.
    """
    found = call([all_of(ask) for ask in asks], **more)
    is_list = isinstance(found, Sequence) and not isinstance(found, (str, bytes, Mapping))
    if not is_list or len(found) != len(asks):
        got = f"{len(found)}" if is_list else type(found).__name__
        raise TypeError(f"expected a list of {len(asks)} answers, got {got}")
    return found


def parts(found: Any) -> tuple[str | None, Any, dict[str, Any]]:
    """Text, image and meta of what a function returned.

    Raises:
        TypeError: a dict of something else.
    """
    if isinstance(found, str):
        return found, None, {}
    if not isinstance(found, Mapping):
        return None, found, {}
    if odd := [str(name) for name in found if name not in ("text", "image", "meta")]:
        raise TypeError(f"expected text, image and meta at most, got {', '.join(odd)}")
    text, meta = found.get("text"), found.get("meta") or {}
    if not isinstance(text, (str, type(None))) or not isinstance(meta, Mapping):
        raise TypeError(f"expected a text and a dict of meta, got {type(text).__name__} and {type(meta).__name__}")
    return text, found.get("image"), dict(meta)


def as_file(image: Any) -> bytes | None:
    """An image as a function gives it (PIL, array, bytes or path), as a file.

    Raises:
        CallFailed: something else, or pixels that PNG can't hold.
    """
    from PIL import Image

    if image is None or isinstance(image, bytes):
        return image
    if isinstance(image, os.PathLike):
        return Path(image).read_bytes()
    if not isinstance(image, Image.Image):
        try:
            image = Image.fromarray(image)
        except (AttributeError, TypeError, ValueError) as error:
            said = f"expected a PIL image, an array, bytes or a path, got {type(image).__name__} ({error})"
            raise CallFailed(NOT_AN_IMAGE, said) from error
    return encoded(image)
