"""The rubric of the judge: dimensions, levels in words, checklists, and the form of a verdict.

Two versions. `v2` (default) has the five dimensions of the paper's current judge and a checklist, on a scale of 5,
or of 10 as the public prompts have it; `v1` has the five dimensions of the first paper's judge, on a scale of 10,
without a checklist. Names and themes are the public judge's, the wording is ours. Two layouts. `paper` asks all
dimensions of every record and has one checklist a format, as the public judge does; `standard` leaves out a dimension
that doesn't apply and has a checklist a task.

One pydantic model a (config, task, view) is the JSON schema sent to a server, the validation of replies and, through
`Rubric.describe`, the wording in the prompt. Its property order is the order of work: checklist, analysis, dimensions,
overall score, final thoughts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING
from typing import Any

from ..signature import digest as digest_of

if TYPE_CHECKING:
    from pydantic import BaseModel

VIEWS = ("with_reference", "without_reference")
CONFIGS = ("vqa", "edit", "gen")
VERSIONS, LAYOUTS = ("v1", "v2"), ("paper", "standard")
_PASS_MARKS = {5: 4.0, 10: 8.0}
_SCALES = {"v1": (10,), "v2": (5, 10)}  # the first is the default


@dataclass(frozen=True, slots=True)
class Dimension:
    """One thing that is scored.

    Attributes:
        key: its name in replies and results.
        title: its name for people.
        asks: what is judged; one or two sentences.
        levels: the words of its levels, worst first; one a level of scale 5, one a pair of levels of scale 10.
    """

    key: str
    title: str
    asks: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a checklist; `yes` is always the good answer."""

    key: str
    question: str


@dataclass(frozen=True)
class Rubric:
    """A version of the rubric on a scale; made by `rubric`.

    Attributes:
        version: `v1` or `v2`.
        layout: `paper` or `standard`.
        scale: 5 or 10; scores run from `low` = 1 to `high` = `scale`.
        pass_mark: the overall score from which a record passes.
    """

    version: str
    layout: str
    scale: int

    @property
    def low(self) -> int:
        """The worst score."""
        return 1

    @property
    def high(self) -> int:
        """The best score."""
        return self.scale

    @property
    def pass_mark(self) -> float:
        """4 of 5, 8 of 10 (the public judge's mark)."""
        return _PASS_MARKS[self.scale]

    @property
    def names(self) -> tuple[str, ...]:
        """The keys of all dimensions of this version, in order."""
        return tuple(_texts()["versions"][self.version])

    @property
    def tasks(self) -> Mapping[str, str]:
        """Task -> config, of the tasks that have a checklist of their own."""
        return {task: config for config, tasks in _checklists()["standard"].items() for task in tasks}

    @cached_property
    def digest(self) -> str:
        """16 hex digits over everything that the rubric says and asks for, in every config, task and view."""
        asked = [(config, task, view) for task, config in self.tasks.items() for view in VIEWS]
        words = [[*where, self.describe(*where), self.schema(*where)] for where in asked]
        return digest_of([self.version, self.layout, self.scale, self.pass_mark, words])

    def dimensions(self, config: str, task: str) -> tuple[Dimension, ...]:
        """The dimensions asked of a record.

        Under layout `standard`, agreement of picture and text is asked only where both are produced (`gen`).

        Args:
            config: `vqa`, `edit` or `gen`.
            task: the record's task.

        Raises:
            ValueError: an unknown config; under layout `standard` also an unknown task or one of another config.
        """
        self._check(config, task)
        made = []
        for key, text in _texts()["versions"][self.version].items():
            applies = config == "gen" or not text.get("needs_both", False)
            if applies or self.layout == "paper":
                asks = text["asks"] if applies else f"{text['asks']} {text['single']}"
                made.append(Dimension(key, text["title"], asks, tuple(text["levels"])))
        return tuple(made)

    def checklist(self, config: str, task: str, view: str) -> tuple[Item, ...]:
        """The questions that are answered before anything is scored; none in `v1`. Raises as `dimensions` does."""
        self._check(config, task, view)
        if self.version == "v1":
            return ()
        texts = _checklists()[self.layout][config]
        items = texts if self.layout == "paper" else texts[task]
        # A text is the same in both views, or one a view; where it has none for a view, it isn't asked there.
        asked = {key: text if isinstance(text, str) else text.get(view) for key, text in items.items()}
        return tuple(Item(key, question) for key, question in asked.items() if question is not None)

    def model(self, config: str, task: str, view: str) -> "type[BaseModel]":
        """The form of a verdict as a pydantic model (see `form.verdict_model`). Raises as `dimensions` does."""
        from .form import verdict_model

        dimensions = tuple(dimension.key for dimension in self.dimensions(config, task))
        return verdict_model(tuple(item.key for item in self.checklist(config, task, view)), dimensions, self.scale)

    def schema(self, config: str, task: str, view: str) -> dict[str, Any]:
        """The form of a verdict as a strict JSON schema (see `form.strict_schema`). Raises as `dimensions` does."""
        from .form import strict_schema

        return strict_schema(self.model(config, task, view))

    def describe(self, config: str, task: str, view: str) -> str:
        """The rubric in words, for the prompt and for people: rules, checklist, dimensions, levels, form of the reply.

        It speaks of input, reference, output, instruction, reference answer and response, and of a reference only in
        the view that shows it. Raises as `dimensions` does.
        """
        from .rubric_text import describe

        dimensions, items = self.dimensions(config, task), self.checklist(config, task, view)
        return describe(_texts(), dimensions, items, view, self.scale)

    def _check(self, config: str, task: str, view: str = VIEWS[0]) -> None:
        _expect("view", view, VIEWS)
        _expect("config", config, CONFIGS)
        if self.layout == "standard":
            known = self.tasks
            _expect("task", task, tuple(known))
            if known[task] != config:
                raise ValueError(f"task {task!r} is of config {known[task]!r}, not {config!r}")


@lru_cache(maxsize=16)
def rubric(version: str = "v2", layout: str = "paper", scale: int | None = None) -> Rubric:
    """The rubric of a version, layout and scale.

    Args:
        version: `v1` or `v2`.
        layout: `paper` or `standard`.
        scale: 5 (default) or 10 for `v2`; 10 for `v1`.

    Raises:
        ValueError: an unknown version or layout, or a scale that the version doesn't have.
    """
    _expect("rubric version", version, VERSIONS)
    _expect("layout", layout, LAYOUTS)
    scales = _SCALES[version]
    if scale is not None and scale not in scales:
        raise ValueError(f"rubric {version} has scale {' or '.join(map(str, scales))}; got {scale!r}")
    return Rubric(version, layout, scale or scales[0])


def _expect(what: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ValueError(f"unknown {what} {value!r}; expected one of {', '.join(known)}")


@lru_cache(maxsize=1)
def _texts() -> dict[str, Any]:
    return _load("rubric.yaml")


@lru_cache(maxsize=1)
def _checklists() -> dict[str, Any]:
    return _load("checklists.yaml")


def _load(name: str) -> dict[str, Any]:
    import yaml

    return yaml.safe_load(resources.files(__package__).joinpath(name).read_text(encoding="utf-8"))
