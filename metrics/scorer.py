"""What scores, as modules and torchmetrics classes see it."""

import logging
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any
from typing import Protocol

from .rows import MetricSpec
from .rows import Row

logger = logging.getLogger(__name__)


class Tier(Protocol):
    """What scores: `PixelTier`, `TextTier`.

    Attributes:
        specs: the metrics.
        columns: names of all floats that `Row.values` may hold (metrics' values, sufficient statistics, sizes).
        protocol: `paper` or `standard`.
        signature: how the numbers are made.
        definition: all that determines them, JSON-able.
        unavailable: metric -> why it can't be scored here, e.g. for want of weights.

    The keywords of its constructor are the module's options; the parameters of `score` are its inputs, the ones
    without a default required.
    """

    @property
    def specs(self) -> tuple[MetricSpec, ...]: ...

    @property
    def columns(self) -> tuple[str, ...]: ...

    @property
    def protocol(self) -> str: ...

    @property
    def signature(self) -> str: ...

    @property
    def definition(self) -> Mapping[str, Any]: ...

    @property
    def unavailable(self) -> Mapping[str, str]: ...

    @property
    def score(self) -> Callable[..., list[Row]]: ...


def warn_of_unavailable(tier: Tier) -> None:
    """Log which metrics are left unscored here, and what is to be done about it."""
    for why in dict.fromkeys(tier.unavailable.values()):
        metrics = [metric for metric, told in tier.unavailable.items() if told == why]
        logger.warning("%s left unscored: %s", ", ".join(metrics), why)
