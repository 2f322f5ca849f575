"""What stands in a table's columns: means of the metrics, or figures derived from their rows."""

from collections.abc import Callable
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from medgen_metrics import locality
from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row

from .columns import DIMENSIONS
from .columns import LOCALITY
from .passes import pass_row
from .passes import pass_specs
from .show import Show


class View(NamedTuple):
    """A tier's columns under the table's options.

    Attributes:
        specs: column -> spec.
        metrics: metric -> spec, of the metrics that the columns are about.
        convert: what makes a row of scores a row of these columns; None where it is one already.
    """

    specs: Mapping[str, MetricSpec]
    metrics: Mapping[str, MetricSpec]
    convert: Callable[[Row], Row] | None = None


def view(specs: Mapping[str, MetricSpec], protocol: str, show: Show) -> View:
    """How `show` wants a tier's metrics seen.

    Args:
        specs: the tier's metrics.
        protocol: the result's.
        show: the table's options.
    """
    if show.marks is not None:
        marks = show.marks.marks
        return View(pass_specs(marks, specs), specs, pass_row(marks, specs, protocol))
    if show.diagnostics and "psnr" in specs:
        diagnostics = {spec.name: spec for spec in locality.SPECS}
        shown = {**specs, **diagnostics, GAIN: replace(diagnostics[GAIN], low=WORST_GAIN)}
        return View(shown, shown, _with_diagnostics)
    if not show.diagnostics:
        specs = {name: spec for name, spec in specs.items() if name not in DIMENSIONS}
    return View(specs, specs)


GAIN = "changed_gain"
WORST_GAIN = -1.0  # the error doubled


def _with_diagnostics(row: Row) -> Row:
    # An output that could not be scored at all has no diagnostics for the same reason.
    reason = row.reasons.get("psnr")
    if reason is None:
        # A share of an error that was next to nothing has no lower end: a few such records would make up the mean.
        gain = row.values.get(GAIN, 0.0)
        return row if gain >= WORST_GAIN else Row({**row.values, GAIN: WORST_GAIN}, row.reasons, row.flags)
    return Row(row.values, {**row.reasons, **dict.fromkeys(LOCALITY, reason)}, row.flags)
