"""What a back end is to the runner: it is asked, and gives a text, an image or both."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple
from typing import Protocol

from medgen_metrics.serving.usage import Usage

from ..errors import UsageError

if TYPE_CHECKING:
    from medgen_metrics.serving.budget import Budget

    from ..systems.file import Component

# Kinds of `CallFailed` beyond those of `medgen_metrics.serving.faults`: a reply came, and isn't what was asked for.
REFUSAL = "refusal"
"""The model declines, or a filter withheld its input or output."""
EMPTY = "empty"
"""A reply with nothing in it."""
NO_IMAGE = "no_image"
"""An image was asked for; the reply has none."""
NOT_AN_IMAGE = "not_an_image"
"""What came as an image is none."""
URL_REFUSED = "url_refused"
"""The reply's image is at a URL that isn't fetched: another host than the system's file allows, or a private one."""


class _Kind(NamedTuple):
    """A kind of back end.

    Attributes:
        module: here; it has `make(component, options) -> Backend`.
        in_process: whether it needs no server.
        extra: of this package that it needs.
    """

    module: str
    in_process: bool = False
    extra: str | None = None


_KINDS: Mapping[str, _Kind] = {
    "openai-chat": _Kind("openai_chat"),
    "openai-images": _Kind("openai_images"),
    "gemini": _Kind("gemini"),
    "hf-inference": _Kind("hf_inference"),
    "transformers": _Kind("transformers_model", in_process=True),
    "diffusers": _Kind("diffusers_model", in_process=True, extra="diffusers"),
    "python": _Kind("python_function", in_process=True),
    "command": _Kind("command_line", in_process=True),
    "folder": _Kind("folder", in_process=True),
}
KINDS = tuple(_KINDS)
IN_PROCESS = tuple(kind for kind, about in _KINDS.items() if about.in_process)
"""Kinds that need no server."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request.

    Attributes:
        id: the record's, for messages.
        prompt: the user's turn.
        images: encoded files (PNG, JPEG, …), in the order that the prompt speaks of them.
        wants: `text`, `image` or both.
        system: the system's turn; None for none.
        size: (width, height) in pixels asked for; None leaves it to the model.
        seed: of this record; back ends that can't be seeded ignore it.
        schema: strict JSON schema that the text should have; a back end asks for it where the server can.
        max_tokens: limit of the text.
    """

    id: str
    prompt: str
    images: tuple[bytes, ...] = field(default=(), repr=False)
    wants: frozenset[str] = frozenset({"text"})
    system: str | None = None
    size: tuple[int, int] | None = None
    seed: int = 0
    schema: Mapping[str, Any] | None = field(default=None, repr=False)
    max_tokens: int = 2048


@dataclass(frozen=True, slots=True)
class Gave:
    """What came of it.

    Attributes:
        text: as the model wrote it; None where it gave none.
        image: the file as it was received, which begins like an image; None where none was asked for.
        finish_reason: as the server says (`length`: the text broke off at the limit).
        usage: what the request consumed, with its cost where a price is known.
        model: as the server says.
        fingerprint: of the server's software or weights, where it tells.
        meta: what else a reader should know, JSON-able, without secrets (several images, the prompt as the server
            rewrote it, …).
    """

    text: str | None = None
    image: bytes | None = field(default=None, repr=False)
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    fingerprint: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)


class Backend(Protocol):
    """Something that answers asks; belongs to one event loop at a time.

    Attributes:
        gives: which of `text` and `image` it can give.
        takes_images: whether input images reach the model; one that can't take them is never given any.
        concurrency: requests that it takes at a time.
    """

    gives: frozenset[str]
    takes_images: bool
    concurrency: int

    def describe(self) -> dict[str, Any]:
        """All that determines its answers, JSON-able, without secrets: model, revision, host, parameters.

        The same before the first request as after the last, since runs are continued only under the same one.
        """
        ...

    async def ask(self, ask: Ask) -> Gave:
        """Answer one request: at least what it wants.

        Raises:
            CallFailed: no reply (kinds of `medgen_metrics.serving.faults`), or one that isn't what was asked for
                (kinds of this module).
            RunStopped: no further request can be made; `BudgetExhausted` is one.
        """
        ...

    async def check(self, ping: bool = False) -> list[str]:
        """What stands in the way of a run: key not set, endpoint silent, model unknown; empty where nothing does.

        Args:
            ping: whether to send one tiny request, which may cost.
        """
        ...

    async def aclose(self) -> None:
        """End connections and free memory; the back end may be asked again afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    """How a run wants its back ends; all else is the component's.

    Attributes:
        budget: what may be spent, shared by the system's components.
        concurrency: requests under way at most; None: what the component says, else the back end's default.
        pool: further arguments of `medgen_metrics.serving.pool.Pool`.
    """

    budget: "Budget | None" = None
    concurrency: int | None = None
    pool: Mapping[str, Any] = field(default_factory=dict)


def make(component: "Component", options: Options | None = None) -> Backend:
    """The back end of a component; loads what it needs, and sends nothing.

    Raises:
        UsageError: an unknown kind, a library that isn't installed, or a component that this kind can't use.
    """
    if component.backend not in _KINDS:
        raise UsageError(f"backend: expected one of {', '.join(KINDS)}; got {component.backend!r}")
    name, _, extra = _KINDS[component.backend]
    try:
        module = importlib.import_module(f".{name}", __package__)
        made: Backend = module.make(component, options or Options())
    except ImportError as error:
        if (error.name or "").startswith(__package__):
            raise
        wanted = f"medgen-bench[{extra}]" if extra else error.name or "the missing library"
        raise UsageError(
            f"backend {component.backend}: it needs {error.name or error}, which isn't installed; "
            f"`pip install '{wanted}'`"
        ) from error
    return made
