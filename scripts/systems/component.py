"""One model of a system, as its YAML file describes it."""

import os
import re
from collections.abc import Mapping
from typing import Any
from typing import Literal

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import field_validator
from pydantic import model_validator

from medgen_metrics.serving.redact import Redactor

from ..backends.base import KINDS
from ..errors import UsageError

_SHORT = {"python": "function", "command": "command"}
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_KEY_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,63}")
_SECRET = re.compile(r"(?:^|[-_])(?:api[-_]?key|key|token|secret|password|authorization)$", re.IGNORECASE)
# What changes where or how fast a model is asked, not what it answers: moving to another port is no other system.
WHERE = frozenset(
    {"base_url", "endpoint", "key_env", "hosts", "concurrency", "timeout", "attempts", "deadline", "device", "batch"}
)
_redact = Redactor()


class Component(BaseModel):
    """One model of a system, and how it is reached.

    `${NAME}` in `base_url`, `model`, `function` and `command` is the environment's; see `resolved`. In YAML,
    `python: module:function` and `command: [program, …]` alone imply their back end.

    Attributes:
        backend: one of `medgen_scripts.backends.base.KINDS`.
        model: as the server or the Hub knows it, or a folder.
        revision: of a model on the Hub; a branch is resolved to its commit.
        base_url: of the server, None for the provider's own.
        key_env: the environment variable that holds the key; None where none is wanted.
        parameters: sent with each request, or given to the model's call: temperature, guidance_scale, ….
        load: what a model in this process is loaded with: dtype, device_map, pipeline class, ….
        sizes: (width, height) that an image may have, None for any; the one nearest the input's aspect is asked for.
        takes_image: whether the input image reaches the model.
        image_route: how an images server is given the input: `edits`, multipart; `json`, in the body of
            `/images/generations` as a data URL.
        image_side: longest side in pixels of the images sent; None for as they are.
        max_images: images sent with a request at most; more are put on one contact sheet.
        hosts: hosts that images may be fetched from where the reply holds a URL; `*.example.com` takes in subdomains.
            A private or loopback address is fetched from only where it, or the name that leads to it, is named itself.
        concurrency: requests under way at most; None for the back end's default.
        timeout: seconds that an attempt may be silent; None for the back end's default.
        deadline: seconds for a request with all its retries.
        attempts: how often a request is sent at most in a run.
        max_tokens: limit of a text.
        gives_json: whether it can be asked for JSON (in YAML `json`); one that can't is asked for text alone.
        device: of a model in this process, e.g. `cuda:0`.
        batch: most requests in one batch of a model in this process.
        function: `module:name` of a Python function.
        command: program and arguments.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, protected_namespaces=())

    backend: str
    model: str = ""
    revision: str | None = None
    base_url: str | None = Field(None, repr=False)
    key_env: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)
    load: dict[str, Any] = Field(default_factory=dict)
    sizes: tuple[tuple[int, int], ...] | None = None
    takes_image: bool = True
    image_route: Literal["edits", "json"] = "edits"
    image_side: int | None = Field(None, ge=16)
    max_images: int | None = Field(None, ge=1)
    hosts: tuple[str, ...] = ()
    concurrency: int | None = Field(None, ge=1)
    timeout: float | None = Field(None, gt=0)
    deadline: float | None = Field(1800.0, gt=0)
    attempts: int = Field(6, ge=1)
    max_tokens: int = Field(2048, ge=1)
    gives_json: bool = Field(True, alias="json")
    device: str | None = None
    batch: int | None = Field(None, ge=1)
    function: str | None = None
    command: tuple[str, ...] | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = dict(value)
        if "python" in given:
            given["function"] = given.pop("python")
            given.setdefault("backend", "python")
        if "command" in given:
            given.setdefault("backend", "command")
            if isinstance(given["command"], str):
                given["command"] = given["command"].split()
        if given.get("backend") == "diffusers":
            # most pipelines take one; more are put on a sheet
            given.setdefault("max_images", 1)
        return given

    @field_validator("backend")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in KINDS:
            raise ValueError(f"expected one of {', '.join(KINDS)}")
        return value

    @field_validator("sizes")
    @classmethod
    def _positive(cls, value: tuple[tuple[int, int], ...] | None) -> tuple[tuple[int, int], ...] | None:
        if value is not None and (not value or min(map(min, value)) < 1):
            raise ValueError("expected [width, height] in pixels, at least one of them")
        return value

    @field_validator("key_env")
    @classmethod
    def _a_variable(cls, value: str | None) -> str | None:
        if value is not None and not _KEY_VARIABLE.fullmatch(value):
            raise ValueError(
                f"expected the name of an environment variable, such as OPENAI_API_KEY, never the key itself; got "
                f"{len(value)} characters that are no such name"
            )
        return value

    @field_validator("parameters", "load")
    @classmethod
    def _no_secret(cls, value: dict[str, Any]) -> dict[str, Any]:
        if named := [name for name in value if _SECRET.search(name)]:
            raise ValueError(f"expected no key here ({', '.join(named)}), got one; name its variable in key_env")
        return value

    @model_validator(mode="after")
    def _complete(self) -> "Component":
        needed = _SHORT.get(self.backend, "model")
        if not getattr(self, needed):
            raise ValueError(f"backend {self.backend}: expected {needed}")
        for backend, name in _SHORT.items():
            if getattr(self, name) and self.backend != backend:
                raise ValueError(f"{name} is of backend {backend}; got backend {self.backend}")
        if self.function is not None and not re.fullmatch(r"[\w.${}]+:[\w.]+", self.function):
            raise ValueError(f"function: expected module:name, got {self.function!r}")
        return self

    @property
    def label(self) -> str:
        """What answers, for people: the model, the function or the program."""
        return self.model or self.function or " ".join(self.command or ())

    @property
    def variables(self) -> list[str]:
        """Names of the environment's variables that the file speaks of, the key's apart."""
        texts = [self.base_url, self.model, self.function, *(self.command or ())]
        return list(dict.fromkeys(name for text in texts if text for name in _VARIABLE.findall(text)))

    def resolved(self) -> "Component":
        """The component with `${NAME}` replaced by the environment's values.

        Raises:
            UsageError: variables that aren't set; all are named.
        """
        absent: list[str] = []

        def fill(text: str) -> str:
            def value(match: re.Match[str]) -> str:
                if not os.environ.get(match[1]):
                    absent.append(match[1])
                return os.environ.get(match[1], "")

            return _VARIABLE.sub(value, text)

        changed: dict[str, Any] = {
            name: fill(value) for name in ("base_url", "model", "function") if (value := getattr(self, name))
        }
        if self.command:
            changed["command"] = tuple(map(fill, self.command))
        if absent:
            names = ", ".join(f"${name}" for name in dict.fromkeys(absent))
            raise UsageError(f"{self.label}: {names} not set; set it to what the system's file says")
        return self.model_copy(update=changed)

    def described(self) -> dict[str, Any]:
        """What the file says, JSON-able, credentials of its URL masked."""
        told = self.model_dump(mode="json", exclude_defaults=True)
        if "base_url" in told:
            told["base_url"] = _redact(told["base_url"].partition("?")[0])
        return told
