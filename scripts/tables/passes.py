"""Pass rates: the share of outputs on the right side of a mark."""

from collections import Counter
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from importlib import resources
from pathlib import Path

import yaml
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import FiniteFloat
from pydantic import ValidationError
from pydantic import model_validator

from medgen_metrics.failures import is_system_failure
from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row
from medgen_metrics.schema_faults import faults

from ..errors import UsageError
from ..scoring.image_work import UNRESIZED

_EXAMPLE = "{sets: {mine: {ssim: {at_least: 0.7}, lpips: {at_most: 0.6}}}}"
FAILED = "failed:"  # flag of a row whose output failed, followed by the reason


@dataclass(frozen=True, slots=True)
class Mark:
    """A metric's threshold, inclusive; which end is the good one is the metric's."""

    metric: str
    limit: float
    is_floor: bool

    @property
    def name(self) -> str:
        """The column's name: `ssim>=0.7`."""
        return f"{self.metric}{'>=' if self.is_floor else '<='}{self.limit:g}"

    def passes(self, value: float) -> bool:
        """Whether a value is on the mark's good side, or on the mark."""
        return value >= self.limit if self.is_floor else value <= self.limit


class _Limit(BaseModel):
    model_config = ConfigDict(extra="forbid")
    at_least: FiniteFloat | None = None
    at_most: FiniteFloat | None = None

    @model_validator(mode="after")
    def _is_one(self) -> "_Limit":
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"expected one of at_least and at_most, got {'none' if self.at_least is None else 'both'}")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    about: dict[str, str] = {}
    sets: dict[str, dict[str, _Limit]]

    @model_validator(mode="after")
    def _is_about_sets(self) -> "_File":
        if unknown := [name for name in self.about if name not in self.sets]:
            raise ValueError(f"about: expected names of sets ({', '.join(self.sets)}), got {', '.join(unknown)}")
        return self


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks of all sets, each once; for the table's foot what sets they come from, and what a set is."""

    marks: tuple[Mark, ...]
    sets: Mapping[str, tuple[Mark, ...]]
    about: Mapping[str, str] = field(default_factory=dict)


def load_marks(path: Path | None = None) -> Marks:
    """Read marks.

    Args:
        path: a YAML file of the form of `thresholds.yaml`; None: that file, which holds the published marks.

    Raises:
        UsageError: it can't be read, or is of another form.
    """
    try:
        if path is None:
            text = resources.files(__package__).joinpath("thresholds.yaml").read_text(encoding="utf-8")
        else:
            text = path.read_text(encoding="utf-8")
        content = _File.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        found = "; ".join(faults(error))
        raise UsageError(f"--thresholds {path}: expected YAML like {_EXAMPLE}; {found}") from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"--thresholds {path}: expected YAML like {_EXAMPLE}, got: {said}") from error
    sets = {
        name: tuple(
            Mark(metric, limit.at_most if limit.at_least is None else limit.at_least, limit.at_least is not None)  # type: ignore[arg-type]
            for metric, limit in limits.items()
        )
        for name, limits in content.sets.items()
    }
    return Marks(tuple(dict.fromkeys(mark for marks in sets.values() for mark in marks)), sets, content.about)


def pass_specs(marks: Sequence[Mark], specs: Mapping[str, MetricSpec]) -> dict[str, MetricSpec]:
    """Column -> spec of the pass rates of those metrics in `specs` that have a mark."""
    return {
        mark.name: MetricSpec(mark.name, 0.0, 1.0, extras=_failed, is_rate=True)
        for mark in marks
        if mark.metric in specs
    }


def _failed(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    reasons = Counter(flag.removeprefix(FAILED) for row in rows for flag in row.flags if flag.startswith(FAILED))
    return {"failed": dict(sorted(reasons.items()))} if reasons else {}


def pass_row(marks: Sequence[Mark], specs: Mapping[str, MetricSpec], protocol: str) -> Callable[[Row], Row]:
    """What makes a row of scores one of passes: 1 or 0 a mark.

    A system's failure fails. An evaluation's reason leaves the record out. An image without a finite PSNR is identical
    to the reference and passes. Under `standard` a resolution left as it was fails every mark of the pixel tier.

    Args:
        marks: of any metrics.
        specs: the tier's metrics.
        protocol: `paper` or `standard`.
    """
    known = [(mark, specs[mark.metric]) for mark in marks if mark.metric in specs]

    def convert(row: Row) -> Row:
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        failures: dict[str, None] = {}
        is_unresized = protocol == "standard" and UNRESIZED in row.flags
        for mark, spec in known:
            reason = row.reasons.get(mark.metric)
            if reason is not None and not is_system_failure(reason):
                reasons[mark.name] = reason
            elif reason is not None or (is_unresized and spec.applies(row)):
                values[mark.name] = 0.0
                failures[f"{FAILED}{reason or UNRESIZED}"] = None
            elif spec.applies(row):
                value = row.values.get(mark.metric)
                values[mark.name] = float(value is None or mark.passes(value))
        return Row(values, reasons, tuple(failures))

    return convert
