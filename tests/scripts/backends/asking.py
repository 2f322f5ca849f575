"""Asking a back end in a test."""

import io
from typing import Any

import anyio
from PIL import Image

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.faults import ServingError
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Backend
from medgen_scripts.backends.base import Gave
from medgen_scripts.backends.base import Options
from medgen_scripts.backends.base import make
from medgen_scripts.systems.component import Component

from ...builders import encoded

QUICK = {"backoff": 0.01, "rest": 0.02, "seed": 0, "patience": 5.0}
TEXT, IMAGE, BOTH = frozenset({"text"}), frozenset({"image"}), frozenset({"text", "image"})
FAULTS = {
    "drop": "connection",
    "half": "connection",
    "content_type": "malformed",
    "error_200": "server",
    "500": "server",
    "503": "overloaded",
    "429": "rate_limit",
}
"""What a server does, and the kind of failure that it is once no attempt is left."""
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string"}},
    "required": ["answer"],
    "additionalProperties": False,
}


def backend(kind: str, url: str | None, *, budget: Budget | None = None, **given: Any) -> Backend:
    """A back end that is in no mood to wait."""
    component = Component(backend=kind, base_url=url, **{"model": "m", "attempts": 3, **given})
    return make(component, Options(budget=budget, pool=QUICK))


def answers(asked: Backend, *asks: Ask) -> list[Gave | ServingError]:
    """What each ask gets, all under way together."""
    found: dict[int, Gave | ServingError] = {}

    async def one(place: int, ask: Ask) -> None:
        try:
            found[place] = await asked.ask(ask)
        except ServingError as error:
            found[place] = error

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for place, ask in enumerate(asks):
                group.start_soon(one, place, ask)
        await asked.aclose()

    anyio.run(work)
    return [found[place] for place in range(len(asks))]


def gave(asked: Backend, prompt: str = "What is it?", **given: Any) -> Gave:
    """What one ask gives; its failure is raised."""
    (found,) = answers(asked, Ask("a", prompt, **given))
    if isinstance(found, ServingError):
        raise found
    return found


def failure(asked: Backend, prompt: str = "What is it?", **given: Any) -> Any:
    """The failure of one ask."""
    (found,) = answers(asked, Ask("a", prompt, **given))
    assert isinstance(found, ServingError), found
    return found


def checked(asked: Backend, *, ping: bool = False) -> list[str]:
    """The findings of a check."""

    async def work() -> list[str]:
        return await asked.check(ping)

    return anyio.run(work)


def picture(size: tuple[int, int] = (40, 30), form: str = "PNG", colour: tuple[int, int, int] = (200, 30, 90)) -> bytes:
    """A file with something in it."""
    image = Image.new("RGB", size, colour)
    image.paste((10, 240, 120), (5, 5, 15, 20))
    return encoded(image, form)


def pixels(data: bytes | None) -> Image.Image:
    """A file, decoded."""
    assert data is not None
    with Image.open(io.BytesIO(data)) as image:
        return image.convert("RGB")


def pixel(data: bytes | None, at: tuple[int, int]) -> tuple[int, ...]:
    """One pixel of a file."""
    found = pixels(data).getpixel(at)
    assert isinstance(found, tuple)
    return found


def inverse(data: bytes, at: tuple[int, int]) -> tuple[int, ...]:
    """What the servers make of a pixel of their input."""
    return tuple(255 - value for value in pixel(data, at))
