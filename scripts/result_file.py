"""The result file `out/results/<system>.json`: what `score` writes, and what `table` reads.

One model for both sides. Beside its figures a result carries every row (`result_rows`).
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import Literal
from typing import get_args

from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import FiniteFloat
from pydantic import NonNegativeInt
from pydantic import ValidationError
from pydantic import model_validator

from medgen_metrics import schema_faults
from medgen_metrics.signature import digest

from .atomic import write_text
from .errors import UsageError
from .result_rows import Reason
from .result_rows import Rows
from .result_rows import Strict

FORMAT = "medgen-bench/result@1"
SHOWN = 20  # findings of one message; the rest are counted

Config = Literal["vqa", "edit", "gen"]
Edition = Literal["paper", "release", "sample"]


class Figures(BaseModel):
    """One metric's figures (`medgen_metrics.rows.summarise_metric`), its declared range, and the metric's extras.

    `interval` is the mean's bootstrap interval over `groups` groups, the largest of `largest_group` records
    (`medgen_metrics.bootstrap`). None where it has none: on edition sample, and in files of before.
    """

    model_config = ConfigDict(extra="allow")

    mean: FiniteFloat | None
    n: NonNegativeInt
    scored: NonNegativeInt
    coverage: FiniteFloat | None
    failures: dict[Reason, NonNegativeInt] = {}
    mean_failures_worst: FiniteFloat | None = None
    interval: tuple[FiniteFloat, FiniteFloat] | None = None
    groups: NonNegativeInt | None = None
    largest_group: NonNegativeInt | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    higher_is_better: bool = True


class Tier(Strict):
    """A tier's result.

    Attributes:
        signature: how its numbers were made, for people.
        definition: digest of the tier's definition.
        options: keywords that give the tier's metric specs again (`medgen_metrics.pixel.specs(**options)`).
        unavailable: metric -> why its weights could not be had.
        metrics: metric -> figures over all selected records.
        flags: things counted beside the scores.
        warnings: what a reader of the figures should be told.
    """

    signature: str
    definition: str
    options: dict[str, Any]
    unavailable: dict[str, str]
    metrics: dict[str, Figures]
    flags: dict[str, NonNegativeInt]
    warnings: list[str] = Field(default_factory=list)


class Subset(Strict):
    """Which records were selected: `limit` asked for (None: all), its seed, and the digest of their sorted ids.

    `name` is that of a fixed subset, `lite`, whose limit and seed they then are.
    """

    limit: NonNegativeInt | None = None
    seed: int = 0
    digest: str
    name: str | None = None


class Predictions(BaseModel):
    """The file that was scored, its digest, its layout and how many records each rung of the join ladder matched."""

    model_config = ConfigDict(extra="allow")

    path: str
    digest: str
    layout: str
    join: dict[str, NonNegativeInt] = {}

    @property
    def about_system(self) -> dict[str, Any]:
        """What `run` has noted of the system (`track`, `components`, `verified`, `blind`); empty where it hasn't."""
        told = (self.model_extra or {}).get("system")
        return told if isinstance(told, dict) else {}


class ConfigResult(Strict):
    """One config: `records` of the edition, `selected` of them scored, the tiers' figures and all rows."""

    records: NonNegativeInt
    selected: NonNegativeInt
    subset: Subset
    predictions: Predictions
    tiers: dict[str, Tier]
    rows: Rows

    @model_validator(mode="after")
    def _agrees(self) -> "ConfigResult":
        faults = []
        if len(self.rows.id) != self.selected:
            faults.append(f"rows.id: expected selected = {self.selected} records, got {len(self.rows.id)}")
        elif (expected := digest(sorted(self.rows.id))) != self.subset.digest:
            faults.append(f"subset.digest: expected {expected}, the digest of rows.id, got {self.subset.digest!r}")
        if set(self.tiers) != set(self.rows.tiers):
            faults.append(f"tiers: expected rows for {sorted(self.tiers)}, got rows for {sorted(self.rows.tiers)}")
        if faults:
            raise ValueError("; ".join(faults))
        return self


class ResultFile(Strict):
    """A system's result over one or several configs of one edition, under one protocol."""

    format: Literal["medgen-bench/result@1"]
    system: str = Field(min_length=1)
    edition: Edition
    edition_note: str | None = None
    protocol: Literal["paper", "standard"]
    versions: dict[str, str]
    created: str
    configs: dict[Config, ConfigResult]

    def save(self, path: Path) -> None:
        """Write strict JSON in one step (temporary name, rename)."""
        write_text(path, json.dumps(self.model_dump(), allow_nan=False, separators=(",", ":")) + "\n")


def load(path: Path) -> ResultFile:
    """Read and check a result file.

    Raises:
        UsageError: it can't be read, is no result of this format, or contradicts itself.
    """
    remedy = "Pass files that `medgen-bench score` wrote (out/results/<system>.json)."
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: expected a result file, got: {error.strerror or error}. {remedy}") from error
    try:
        return ResultFile.model_validate_json(content)
    except ValidationError as error:
        raise UsageError(f"{path}: expected a result of format {FORMAT}; {_findings(error)}. {remedy}") from error


def load_all(paths: Sequence[Path]) -> list[tuple[Path, ResultFile]]:
    """Read several result files (one named twice counts once); all bad ones are reported in one error.

    Raises:
        UsageError: as `load`.
    """
    loaded, faults = [], []
    given: dict[str, Path] = {}
    for path in paths:
        given.setdefault(os.path.realpath(path), path)
    for path in given.values():
        try:
            loaded.append((path, load(path)))
        except UsageError as error:  # noqa: PERF203 - every bad file is reported, not the first
            faults.append(str(error))
    if faults:
        raise UsageError(shorten(faults, "\n"))
    return loaded


def shorten(findings: Sequence[str], separator: str, shown: int = SHOWN) -> str:
    """The first `shown` findings and the count of the rest."""
    more = [f"… and {len(findings) - shown} more"] if len(findings) > shown else []
    return separator.join([*findings[:shown], *more])


def _findings(error: ValidationError) -> str:
    found = schema_faults.faults(error)
    # Another format's fields would all be findings, and none of them the point.
    return shorten([fault for fault in found if fault.startswith("format: ")] or found, "; ")


CONFIGS: tuple[str, ...] = get_args(Config)
