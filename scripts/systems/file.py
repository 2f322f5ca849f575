"""A system as a YAML file: which models answer, how they are reached, and what the answers may be compared with."""

import os
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any
from typing import Literal

import yaml
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import ValidationError
from pydantic import field_validator
from pydantic import model_validator

from medgen_metrics import schema_faults
from medgen_metrics.serving.redact import Redactor
from medgen_metrics.signature import digest

from ..errors import UsageError
from ..prediction import GIVES
from .component import Component

Shape = Literal["vlm", "editor", "unified", "compositional"]
Track = Literal["direct", "rewrite-then-edit", "text-to-image"]

ROLES: Mapping[str, tuple[str, ...]] = {
    "vlm": ("vlm",),
    "editor": ("image",),
    "unified": ("model",),
    "compositional": ("vlm", "image"),
}
"""Shape -> the components it has."""

SERVES: Mapping[str, tuple[str, ...]] = {
    "vlm": ("vqa",),
    "editor": ("edit",),
    "unified": ("vqa", "edit", "gen"),
    "compositional": ("edit", "gen"),
}
"""Shape -> the configs it can serve."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,119}")
_redact = Redactor()


class SystemFile(BaseModel):
    """A system under evaluation.

    Attributes:
        name: as in `out/predictions/<name>`.
        shape: `vlm`: images and instruction to text; `editor`: to an image; `unified`: to text and image in one call;
            `compositional`: a VLM writes the text and the prompt of an image model.
        track: systems of different tracks aren't comparable. `direct`: the model sees the instruction; `rewrite-then-
            edit`: an image model sees the image and a VLM's prompt; `text-to-image`: it sees the prompt alone.
        configs: those it serves; default all that its shape can.
        components: role -> model.
        prompts: name of a template file of `medgen_scripts/prompts`, or a path to one's own.
        provider: who serves it.
        paper: the rows of the paper's tables that it stands for.
        alias_of: the system that this is another name of.
        note: what a reader should know.
        verified: `never` run against the real models, `loopback` against stand-ins, or the date of a real run.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    shape: Shape
    track: Track
    configs: tuple[str, ...]
    components: dict[str, Component]
    prompts: str = "v1"
    provider: str = ""
    paper: tuple[str, ...] = ()
    alias_of: str | None = None
    note: str = ""
    verified: str = "never"

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = dict(value)
        shape = given.get("shape")
        components = given.get("components")
        if isinstance(shape, str) and shape in ROLES:
            given.setdefault("configs", SERVES[shape])
            if isinstance(components, Mapping):
                given.setdefault("track", _track(shape, components))
        return given

    @field_validator("name")
    @classmethod
    def _a_folder(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError("expected letters, digits, '.', '_', '+' and '-', since a folder goes by it")
        return value

    @field_validator("verified", mode="before")
    @classmethod
    def _when(cls, value: Any) -> str:
        # YAML reads a bare date as one
        said = value.isoformat() if hasattr(value, "isoformat") else value
        if said not in ("never", "loopback") and not re.fullmatch(r"\d{4}-\d\d-\d\d", str(said)):
            raise ValueError("expected never, loopback or a date such as 2026-03-01")
        return str(said)

    @model_validator(mode="after")
    def _fits(self) -> "SystemFile":
        faults = []
        roles = ROLES[self.shape]
        if set(self.components) != set(roles):
            faults.append(f"components: shape {self.shape} has {' and '.join(roles)}; got {', '.join(self.components)}")
        unserved = [config for config in self.configs if config not in SERVES[self.shape]]
        if unserved or not self.configs:
            faults.append(f"configs: shape {self.shape} serves {', '.join(SERVES[self.shape])}; got {self.configs}")
        if not faults and self.track != _track(self.shape, self.components):
            faults.append(
                f"track: shape {self.shape} with these components is {_track(self.shape, self.components)}; got "
                f"{self.track}"
            )
        if faults:
            raise ValueError("; ".join(faults))
        return self

    @property
    def gives(self) -> tuple[str, ...]:
        """Which of `text` and `image` it gives, over its configs."""
        return tuple(kind for kind in ("text", "image") if any(kind in GIVES[config] for config in self.configs))

    @property
    def takes(self) -> tuple[str, ...]:
        """`text`, and `image` where the input image reaches any of its models."""
        return ("text", "image") if any(one.takes_image for one in self.components.values()) else ("text",)

    @property
    def text_only(self) -> bool:
        """Whether what makes the image never sees the input image."""
        return self.track == "text-to-image"

    def described(self) -> dict[str, Any]:
        """All that the file says, JSON-able, without secrets."""
        told = self.model_dump(mode="json", exclude={"components"}, exclude_defaults=True)
        return {**told, "components": {role: one.described() for role, one in self.components.items()}}

    def roles(self, config: str) -> tuple[str, ...]:
        """The components that take part in a config, in the order in which they are asked."""
        return ROLES[self.shape] if config in self.configs else ()

    @property
    def digest(self) -> str:
        """16 hex digits over the whole file."""
        return digest(self.described())


def _track(shape: str, components: Mapping[str, Any]) -> str:
    if shape == "vlm":
        return "direct"
    image = components.get("model" if shape == "unified" else "image")
    sees = image.get("takes_image", True) if isinstance(image, Mapping) else getattr(image, "takes_image", True)
    if not sees:
        return "text-to-image"
    return "rewrite-then-edit" if shape == "compositional" else "direct"


def catalogue() -> dict[str, Path]:
    """Name -> file of the systems that ship with the package."""
    folder = Path(str(resources.files(__package__).joinpath("catalogue")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def is_file(name: str) -> bool:
    """Whether `name` means a system's file rather than a system of the package."""
    return name.endswith((".yaml", ".yml", ".json")) or os.sep in name


def load(name: str | Path) -> SystemFile:
    """A system by its name in the catalogue, or from a file.

    Raises:
        UsageError: no such system or file, or one with faults; all of them in one message.
    """
    if isinstance(name, Path) or is_file(name):
        return read(Path(name))
    known = catalogue()
    if name not in known:
        from .named import unknown  # which loads files, too

        raise unknown(name)
    return read(known[name])


def read(path: Path) -> SystemFile:
    """Read a system's file; its name is the file's where it gives none.

    Raises:
        UsageError: as `load`.
    """
    try:
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: expected a system's YAML file: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: expected YAML, got: {_redact(str(error))}") from error
    if not isinstance(given, Mapping):
        raise UsageError(f"{path}: expected a system (name, shape, components), got {_redact(repr(given), 80)}")
    if "components" not in given and isinstance(given.get("alias_of"), str):
        # another name of a system of the package: all but what it says itself
        other = load(given["alias_of"]).model_dump(exclude={"name", "paper", "note", "alias_of"})
        given = {**other, **given}
    try:
        return SystemFile.model_validate({"name": path.stem, **given})
    except ValidationError as error:
        # a mistyped key may stand anywhere
        faults = [f"  {_redact(fault)}" for fault in schema_faults.faults(error, "system")]
        raise UsageError("\n".join([f"{path}: no system that can be run", *faults])) from None
