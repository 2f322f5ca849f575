"""What scores, as modules, torchmetrics classes and the command line see it."""

import logging
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import Protocol

from .rows import MetricSpec
from .rows import Row

logger = logging.getLogger(__name__)


class Scorer(Protocol):
    """What any scorer tells of its metrics.

    Attributes:
        specs: the metrics.
        signature: how the numbers are made.
        definition: all that determines them, JSON-able.
        unavailable: metric -> why it can't be scored here, e.g. for want of weights.
    """

    @property
    def specs(self) -> tuple[MetricSpec, ...]: ...

    @property
    def signature(self) -> str: ...

    @property
    def definition(self) -> Mapping[str, Any]: ...

    @property
    def unavailable(self) -> Mapping[str, str]: ...


class Tier(Scorer, Protocol):
    """What scores: `PixelTier`, `TextTier`, …

    Attributes:
        columns: names of all floats that `Row.values` may hold (metrics' values, sufficient statistics, sizes).
        protocol: `paper` or `standard`.

    The keywords of its constructor are the module's options; the parameters of `score` are its inputs, the ones
    without a default required.
    """

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def protocol(self) -> str: ...

    @property
    def score(self) -> Callable[..., list[Row]]: ...


def by_reason(unavailable: Mapping[str, str]) -> dict[str, list[str]]:
    """The metrics that can't be scored for the same reason, by it."""
    found: dict[str, list[str]] = {}
    for metric, why in unavailable.items():
        found.setdefault(why, []).append(metric)
    return found


def warn_of_unavailable(tier: Scorer) -> None:
    """Log which metrics are left unscored here, and what is to be done about it."""
    for why, metrics in by_reason(tier.unavailable).items():
        logger.warning("%s left unscored: %s", ", ".join(metrics), why)
