"""One system's result in one config, as tables read it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from medgen_metrics.failures import is_system_failure
from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row

from ..result_file import ConfigResult
from ..result_file import ResultFile
from . import columns
from .show import Show
from .views import View
from .views import view


@dataclass(frozen=True)
class Entry:
    """One system's result in one config, under the table's options."""

    path: Path
    file: ResultFile
    config: str
    show: Show

    @property
    def result(self) -> ConfigResult:
        """The config's part of the file."""
        return self.file.configs[self.config]  # type: ignore[index]

    @cached_property
    def views(self) -> dict[str, View]:
        """Tier -> its columns."""
        return {
            tier: view(columns.tier_specs(self.path, tier, content.options), self.file.protocol, self.show)
            for tier, content in self.result.tiers.items()
        }

    @cached_property
    def specs(self) -> dict[str, tuple[str, MetricSpec]]:
        """Column -> its tier and spec."""
        return {name: (tier, spec) for tier, seen in self.views.items() for name, spec in seen.specs.items()}

    @cached_property
    def valued(self) -> dict[str, set[str]]:
        """Column -> ids of the records that have a value: scored, or a failure whose value is defined (EM: wrong)."""
        # From the packed columns, since tables of many systems would wait for rows.
        found: dict[str, set[str]] = {}
        ids = self.result.rows.id
        for tier, seen in self.views.items():
            packed = self.result.rows.tiers[tier]
            for name in seen.specs:
                metric = columns.metric_of(name)
                spec = seen.metrics[metric]
                values = packed.values.get(spec.column or metric, [])
                places = {place for place, value in enumerate(values) if value is not None}
                if name != metric:
                    # A pass rate decides on failures of the system, and on no other.
                    for reason, indices in packed.reasons.get(metric, {}).items():
                        places = places.union(indices) if is_system_failure(reason) else places.difference(indices)
                found[name] = {ids[place] for place in places}
        return found

    def reasons(self, name: str) -> set[str]:
        """Why records are unscored in a column's metric."""
        tier, _ = self.specs[name]
        by_reason = self.result.rows.tiers[tier].reasons.get(columns.metric_of(name), {})
        return {reason for reason, indices in by_reason.items() if indices}

    def has_weights(self, name: str) -> bool:
        """Whether a column's metric could be computed: failed outputs alone say nothing of it, though they fail."""
        tier, _ = self.specs[name]
        values = self.result.rows.tiers[tier].values.get(columns.metric_of(name), [])
        return "weights_missing" not in self.reasons(name) or any(value is not None for value in values)

    def rows(self, tier: str) -> list[Row]:
        """A tier's rows in the view's columns, one a record."""
        rows = self.result.rows.unpack(tier)
        convert = self.views[tier].convert
        return rows if convert is None else [convert(row) for row in rows]
