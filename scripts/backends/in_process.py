"""What back ends in this process share: where they compute, how many requests they hold, and what they give."""

from abc import ABC
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING
from typing import Any

from medgen_metrics.failures import is_refusal
from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.usage import Usage

from ..errors import UsageError
from ..launcher import place
from . import pictures
from .base import EMPTY
from .base import NO_IMAGE
from .base import NOT_AN_IMAGE
from .base import REFUSAL
from .base import Ask
from .base import Gave
from .base import Options

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..systems.file import Component

# Of the component's keys: those that say how a server is reached.
_OF_SERVERS = ("base_url", "key_env", "hosts")


class InProcess(ABC):
    """A model without a server.

    Args:
        component: what is asked.
        options: of the run. Each request counts in its budget, and costs nothing.
        batch: requests of a batch at most where the component doesn't say.

    Raises:
        UsageError: keys of the component that mean nothing here, or variables that aren't set.

    Attributes:
        concurrency: requests that it takes at a time: while one batch is answered the next gathers.
        is_counted: whether an answer takes a model's work, and so counts as a request.
    """

    gives: frozenset[str] = frozenset({"text"})
    is_counted = True

    def __init__(self, component: "Component", options: Options, *, batch: int) -> None:
        self.component = component.resolved()
        idle = [name for name in _OF_SERVERS if getattr(component, name)]
        if idle:
            raise UsageError(
                f"{component.label}: backend {component.backend} reaches no server; expected none of {', '.join(idle)}"
            )
        self.takes_images = component.takes_image
        self.budget = options.budget or Budget()
        self.batch = component.batch or batch
        self.concurrency = options.concurrency or component.concurrency or 2 * self.batch

    async def ask(self, ask: Ask) -> Gave:
        """See `base.Backend`."""
        self.taken(ask)
        if not self.is_counted:
            return await self._ask(ask)
        reservation = await self.budget.reserve(Usage(requests=1), None)
        used: Usage | None = None
        try:
            gave = await self._ask(ask)
            used = gave.usage
        finally:
            self.budget.settle(reservation, used)
        return gave

    @abstractmethod
    async def _ask(self, ask: Ask) -> Gave: ...

    def usage(self, ask: Ask, **more: int) -> Usage:
        """What an answered request consumed."""
        return Usage(requests=1, images=len(ask.images), cost=0.0, **more)

    def taken(self, ask: Ask) -> None:
        """Refuse a request that isn't this back end's.

        Raises:
            ValueError: images for a model that takes none, or something wanted that it doesn't give.
        """
        if ask.images and not self.takes_images:
            raise ValueError(f"{self.component.label} takes no image; got {len(ask.images)}")
        if lacking := sorted(ask.wants - self.gives):
            raise ValueError(f"{self.component.label} gives {' and '.join(sorted(self.gives))}; asked for {lacking[0]}")


def device_of(component: "Component") -> str | None:
    """torch's name of the device to compute on: the component's, or under a launcher of several this process's own.

    None leaves it to the library: all accelerators that are there, else the CPU.
    """
    here = place()
    return component.device if component.device is not None or here.size == 1 else here.device()


def known_parameters(component: "Component", known: Mapping[str, str]) -> None:
    """Check the names in a component's `parameters`.

    Args:
        component: its.
        known: names with what they are.

    Raises:
        UsageError: others; all are named.
    """
    if odd := [name for name in component.parameters if name not in known]:
        told = ", ".join(f"{name} ({what})" for name, what in known.items())
        raise UsageError(f"{component.label}: parameters: expected {told}; got {', '.join(odd)}")


def unready(label: str, error: Exception) -> RunStopped:
    """A model that can't be loaded answers no request of the run."""
    return RunStopped("not_found", f"{label}: {error}")


def complete(gave: Gave, ask: Ask) -> Gave:
    """What a model gave, if it is all that was wanted.

    Raises:
        CallFailed: something is missing.
    """
    text = gave.text
    if "image" in ask.wants and gave.image is None:
        if text is not None and is_refusal(text.lstrip()):
            raise CallFailed(REFUSAL, f"the model made no image: {text[:160]!r}")
        raise CallFailed(NO_IMAGE, f"expected an image, got {'nothing' if text is None else f'text: {text[:160]!r}'}")
    if "text" in ask.wants and not (text or "").strip() and gave.image is None:
        raise CallFailed(EMPTY, "a reply without text")
    return gave


def encoded(image: "Image") -> bytes:
    """A picture as a PNG file.

    Raises:
        CallFailed: pixels that PNG can't hold.
    """
    try:
        return pictures.png(image)
    except ValueError as error:
        raise CallFailed(NOT_AN_IMAGE, str(error)) from error


def shown(component: "Component", **found: Any) -> dict[str, Any]:
    """What `describe` tells: the component's definition with what was found out in place of what was asked for."""
    return {**component.described(), **{name: value for name, value in found.items() if value is not None}}
