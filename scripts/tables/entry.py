"""One system's result in one config, as tables read it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row

from ..result_file import ConfigResult
from ..result_file import ResultFile
from . import columns


@dataclass(frozen=True)
class Entry:
    """One system's result in one config."""

    path: Path
    file: ResultFile
    config: str

    @property
    def result(self) -> ConfigResult:
        """The config's part of the file."""
        return self.file.configs[self.config]  # type: ignore[index]

    @cached_property
    def specs(self) -> dict[str, tuple[str, MetricSpec]]:
        """Metric -> its tier and spec."""
        return {
            name: (tier, spec)
            for tier, content in self.result.tiers.items()
            for name, spec in columns.tier_specs(self.path, tier, content.options).items()
        }

    @cached_property
    def valued(self) -> dict[str, set[str]]:
        """Metric -> ids of the records that have a value: scored, or a failure whose value is defined (EM: wrong)."""
        found = {}
        for metric, (tier, spec) in self.specs.items():
            values = self.result.rows.tiers[tier].values.get(spec.column or metric, [])
            found[metric] = {id for id, value in zip(self.result.rows.id, values, strict=False) if value is not None}
        return found

    def reasons(self, metric: str) -> set[str]:
        """Why records are unscored."""
        tier, _ = self.specs[metric]
        return {reason for reason, indices in self.result.rows.tiers[tier].reasons.get(metric, {}).items() if indices}

    def rows(self, tier: str) -> list[Row]:
        """A tier's rows, one a record."""
        return self.result.rows.unpack(tier)
