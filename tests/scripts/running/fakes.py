"""A back end without a server, for the tests of the runner."""

import json
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml
from PIL import Image

from medgen_metrics.serving.usage import Usage
from medgen_scripts.backends import base
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.systems.component import Component

from ...builders import encoded

Answer = Callable[[Ask], Gave]


def picture(value: int = 7, size: tuple[int, int] = (12, 9), format: str = "PNG") -> bytes:
    """A file of an image that isn't of one colour."""
    image = Image.new("RGB", size, (value, value, value))
    image.putpixel((0, 0), (255, 0, 0))
    return encoded(image, format)


def answer(ask: Ask) -> Gave:
    """What is asked for, drawn from the record's seed."""
    text = None
    if "text" in ask.wants:
        text = f"answer {ask.id}"
        if ask.schema is not None:
            text = json.dumps({key: f"{key} {ask.id}" for key in ask.schema["required"]})
    image = picture(ask.seed % 256) if "image" in ask.wants else None
    return Gave(text=text, image=image, finish_reason="stop", usage=Usage(requests=1, prompt_tokens=3))


class Fake:
    """Answers from a function; counts what was asked, and how much at a time.

    Attributes:
        asked: all asks, in order.
        most: requests that were under way at a time.
    """

    takes_images = True
    gives = frozenset({"text", "image"})

    def __init__(self, component: Component, give: Answer, latency: float, concurrency: int) -> None:
        self.component, self.give, self.latency = component, give, latency
        self.concurrency = concurrency
        self.asked: list[Ask] = []
        self.under_way = self.most = 0
        self.is_open = True

    def describe(self) -> dict[str, Any]:
        return self.component.described()

    async def ask(self, ask: Ask) -> Gave:
        self.asked.append(ask)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await anyio.sleep(self.latency)
            return self.give(ask)
        finally:
            self.under_way -= 1

    async def check(self, ping: bool = False) -> list[str]:
        return []

    async def aclose(self) -> None:
        self.is_open = False


class Fakes:
    """Takes the place of `base.make`: a fake a model.

    Attributes:
        made: model -> the back ends made for it, one a run.
        give: model -> its answers; `answer` where none is set.
    """

    def __init__(self) -> None:
        self.made: dict[str, list[Fake]] = {}
        self.give: dict[str, Answer] = {}
        self.latency: dict[str, float] = {}
        self.concurrency: dict[str, int] = {}

    def make(self, component: Component, options: base.Options | None = None) -> Fake:
        model = component.model
        asked = (options.concurrency if options else None) or self.concurrency.get(model, 4)
        made = Fake(component, self.give.get(model, answer), self.latency.get(model, 0.0), asked)
        self.made.setdefault(model, []).append(made)
        return made

    def asked(self, model: str) -> list[str]:
        """Ids that a model was asked about, over all runs."""
        return [ask.id for made in self.made.get(model, []) for ask in made.asked]


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> Fakes:
    """No back end asks anybody."""
    made = Fakes()
    monkeypatch.setattr(base, "make", made.make)
    return made


def system(folder: Path, shape: str, name: str = "mine", **changes: Any) -> Path:
    """A system's file: models `writer` and `painter`, or `both`, of back ends behind servers."""
    components = {
        "vlm": {"vlm": {"backend": "openai-chat", "model": "writer"}},
        "editor": {"image": {"backend": "openai-images", "model": "painter"}},
        "unified": {"model": {"backend": "gemini", "model": "both"}},
    }
    components["compositional"] = {**components["vlm"], **components["editor"]}
    told = {"shape": shape, "components": components[shape], **changes}
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(told))
    return path


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a predictions file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_id(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Rows by their ids, which must differ."""
    found = {row["id"]: row for row in rows}
    assert len(found) == len(rows)
    return found
