"""What an author writes for one record of the sample, and the reader of the files that hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Step:
    """One transform to run: its name in `medgen_scripts.transforms.TRANSFORMS`, and its parameters with the seed."""

    name: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class Authored:
    """One record before its images are made.

    The input is the view, or the views, after the steps in `before`; the reference of edit and gen records is the view
    named `reference` (the input's where empty) after the steps in `after`.

    Attributes:
        task: canonical task name.
        subtask: finer name.
        views: the views shown, in order; several only in VQA.
        instruction: what is asked, without the options.
        support: what the instruction and the answer rest on; it goes into SOURCES.md.
        answer: the reference text; of a multiple-choice record the right option's text. None for edit records.
        options: the options of a multiple-choice record, without letters.
        region: the part of the image that matters, as `medgen_scripts.transforms.regions.mask` reads it.
    """

    task: str
    subtask: str
    views: tuple[str, ...]
    instruction: str
    support: str
    answer: str | None = None
    options: tuple[str, ...] = ()
    before: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()
    reference: str = ""
    region: Mapping[str, Any] | None = None

    @property
    def choices(self) -> list[str]:
        """The options with their letters, `A. …`."""
        return [f"{letter}. {option}" for letter, option in zip("ABCDEFGH", self.options, strict=False)]

    @property
    def full_instruction(self) -> str:
        """The instruction, followed by its options as the public release writes them."""
        return "\n".join([self.instruction, "Options:", *self.choices]) if self.options else self.instruction

    @property
    def full_answer(self) -> str | None:
        """The answer; of a multiple-choice record with its letter."""
        if not self.options or self.answer is None:
            return self.answer
        return self.choices[self.options.index(self.answer)]


def load(config: str) -> list[Authored]:
    """The records authored for `config`, in order.

    Raises:
        ValueError: a record with an unknown or a missing field, naming file and place.
    """
    import yaml

    path = FOLDER / f"{config}.yaml"
    records = []
    for number, fields in enumerate(yaml.safe_load(path.read_text("utf-8")), start=1):
        region = fields.get("region")
        steps = {name: tuple(_step(step, region) for step in fields.get(name, ())) for name in ("before", "after")}
        lists = {name: tuple(fields.get(name, ())) for name in ("views", "options")}
        try:
            records.append(Authored(**{**fields, **steps, **lists}))
        except TypeError as error:
            raise ValueError(f"{path.name}: record {number}: {error}") from None
    return records


def _step(step: Mapping[str, Mapping[str, Any]], region: Mapping[str, Any] | None) -> Step:
    ((name, parameters),) = step.items()
    if parameters.get("mask") == "region":
        parameters = {**parameters, "mask": region}
    return Step(name, parameters)
