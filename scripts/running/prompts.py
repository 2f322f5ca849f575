"""What systems are told: the templates of `medgen_scripts/prompts`, filled in for a record."""

import re
from collections.abc import Mapping
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from pathlib import Path
from string import Formatter
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import ValidationError
from pydantic import model_validator

from medgen_metrics import schema_faults
from medgen_metrics.signature import digest

from ..errors import UsageError
from ..records import Record

TEXT, PROMPT = "output_text", "image_prompt"
"""Keys of a composing model's reply."""

_OF_RECORD = {"instruction", "options", "text", "image"}
_FILLED: Mapping[str, set[str]] = {
    "answer": _OF_RECORD,
    "edit": _OF_RECORD,
    "both": _OF_RECORD,
    "compose": {*_OF_RECORD, "sees"},
    "reply": {"fields"},
    "plain": set(),
    "repair": {"fault"},
    "blind": set(),
}


class Templates(BaseModel):
    """One file of templates; `prompts/v1.yaml` says what each is for."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str
    text: dict[str, str]
    image: dict[str, str]
    answer: str
    edit: str
    both: str
    compose: str
    sees: dict[str, str]
    fields_of: dict[str, str] = Field(alias="fields")
    reply: str = Field(alias="json")
    plain: str
    repair: str
    blind: str

    @model_validator(mode="after")
    def _fits(self) -> "Templates":
        import medgen_bench

        faults = []
        for name, known in _FILLED.items():
            try:
                odd = [field for field in _placeholders(getattr(self, name)) if field not in known]
            except ValueError as error:
                faults.append(f"{name}: {error}; a brace of the text itself is doubled")
                continue
            faults += [f"{name}: unknown {{{field}}}; known: {', '.join(sorted(known)) or 'none'}" for field in odd]
        tasks = [(name, task) for name in ("text", "image") for task in getattr(self, name)]
        faults += [f"{name}: {task} is no task" for name, task in tasks if task not in medgen_bench.TASKS]
        faults += [f"sees: expected {key}" for key in ("input", "nothing") if key not in self.sees]
        faults += [f"fields: expected {key}" for key in (TEXT, PROMPT) if key not in self.fields_of]
        if faults:
            raise ValueError("; ".join(faults))
        return self

    @property
    def digest(self) -> str:
        """16 hex digits over all wording."""
        return digest(self.model_dump())

    def ask(self, role: str, record: Record, *, blind: bool = False) -> str:
        """The prompt of one model that answers.

        Args:
            role: `answer`, `edit` or `both`.
            record: whose.
            blind: whether the image is held back.
        """
        filled = getattr(self, role).format(**self._of(record))
        return _tidied(f"{self.blind}\n\n{filled}" if blind else filled)

    def direct(self, record: Record, *, sees: bool, keys: Sequence[str]) -> str:
        """The prompt of a model that writes an image model's prompt.

        Args:
            record: whose.
            sees: whether the image model is given the input image.
            keys: what its JSON reply has to hold; none: it replies with the prompt alone.
        """
        parts = self._of(record)
        filled = self.compose.format(**parts, sees=self.sees["input" if sees else "nothing"])
        fields = "\n".join(f'- "{key}": {self.fields_of[key].format(text=parts["text"])}' for key in keys)
        return _tidied(f"{filled}\n\n{self.reply.format(fields=fields) if keys else self.plain}")

    def again(self, prompt: str, fault: str) -> str:
        """The prompt after a reply that could not be read."""
        return _tidied(f"{prompt}\n\n{self.repair.format(fault=fault)}")

    def _of(self, record: Record) -> dict[str, str]:
        return {
            "instruction": record.instruction.strip(),
            "options": options_of(record),
            "text": self.text.get(record.task, ""),
            "image": self.image.get(record.task, ""),
        }


def options_of(record: Record) -> str:
    """The options of a closed question as a block; empty where there are none, or the instruction lists them all."""
    if not record.choices:
        return ""
    written = _folded(record.instruction)
    if all(_folded(choice) in written for choice in record.choices):
        return ""
    return "\n".join(["Options:", *record.choices])


def schema(keys: Sequence[str]) -> dict[str, Any]:
    """Strict JSON schema of a reply with these keys, all strings."""
    return {
        "type": "object",
        "properties": {key: {"type": "string"} for key in keys},
        "required": list(keys),
        "additionalProperties": False,
    }


def templates() -> dict[str, Path]:
    """Name -> file of the templates that ship with the package."""
    folder = Path(str(resources.files("medgen_scripts").joinpath("prompts")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


@lru_cache(maxsize=8)
def load(name: str) -> Templates:
    """Templates by name, or from a file.

    Raises:
        UsageError: no such file, or one with faults; all of them in one message.
    """
    known = templates()
    path = known.get(name) or Path(name)
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(
            f"prompts: expected one of {', '.join(known)} or a YAML file, got {name!r}: {error}"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected YAML, got: {error}") from error
    try:
        return Templates.model_validate(given)
    except ValidationError as error:
        faults = [f"  {fault}" for fault in schema_faults.faults(error, "templates")]
        raise UsageError("\n".join([f"{path}: no templates that can be used", *faults])) from None


def _placeholders(template: str) -> list[str]:
    return [field for _, field, _, _ in Formatter().parse(template) if field is not None]


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _tidied(text: str) -> str:
    """Without what empty parts leave behind."""
    lines = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return re.sub(r"\n{3,}", "\n\n", lines)
