"""`torchmetrics.Metric` classes over the tiers, for training loops that speak torchmetrics or Lightning.

    metric = PixelMetric(metrics=["ssim"])
    metric.update(outputs, references)      # anything that the pixel tier takes; None is a missing output
    metric.compute()                        # {"ssim": …, "ssim_coverage": …, "n": …}

States are sums, so that processes are merged by adding. What sums can't tell is left to the `evaluate` modules: samples
are not told apart by id (a sampler that pads its last batch counts some twice), and there are no failures by reason.
As torchmetrics has it, checkpoints hold states only behind `metric.persistent(True)`.
"""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric

from .pixel import PixelTier
from .rows import MetricSpec
from .rows import Row
from .rows import Summed
from .scorer import Tier
from .scorer import warn_of_unavailable
from .signature import digest
from .text import TextTier

_COUNTED = ("sum", "counted", "applicable", "scored")  # a metric's sums, whatever it is


class TierMetric(Metric):
    """Base of the classes: rows of a tier, summed up.

    Args:
        tier: what scores.
        kwargs: torchmetrics' own keywords (`sync_on_compute`, `dist_sync_fn`, …).

    Raises:
        ValueError: a metric with further figures that no sums tell.
    """

    full_state_update = False
    is_differentiable = False
    higher_is_better = None

    which: Tensor
    samples: Tensor
    sums: Tensor
    beside: Tensor

    def __init__(self, tier: Tier, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.tier = tier
        self._beside = tuple((spec.name, column) for spec in tier.specs for column in _columns(spec))
        warn_of_unavailable(tier)
        # A MetricCollection takes metrics whose states are equal behind their first batch (where all is missing, say)
        # for one metric. Those of different definitions never are.
        which = digest([tier.definition, [spec.name for spec in tier.specs]])
        self.add_state("which", torch.tensor(list(bytes.fromhex(which))), dist_reduce_fx="max")
        self.add_state("samples", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        shape = (len(tier.specs), len(_COUNTED))
        self.add_state("sums", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("beside", torch.zeros(len(self._beside), dtype=torch.float64), dist_reduce_fx="sum")

    def update(self, predictions: Sequence[Any], references: Sequence[Any], **inputs: Any) -> None:
        """Score a batch and add it up.

        Args:
            predictions: outputs, one a sample; None in it is a missing output.
            references: references, one a sample.
            inputs: the tier's further inputs (`choices`, `tasks`, `inputs`, `windows`), one value a sample each.

        Raises:
            TypeError: a value of a wrong type, with its position.
            ValueError: inputs of unequal length.
        """
        rows = self.tier.score(predictions=predictions, references=references, **inputs)
        self.samples += len(rows)
        self.sums += torch.tensor([_sums(rows, spec) for spec in self.tier.specs], dtype=torch.float64).to(self.sums)
        beside = [added for spec in self.tier.specs for added in _sums_beside(rows, spec)]
        self.beside += torch.tensor(beside, dtype=torch.float64).to(self.beside)

    def compute(self) -> dict[str, Tensor]:
        """The figures over all that was added, on all processes.

        Returns:
            The mean of each metric under its name (NaN if nothing is scored), its further figures as
            `<metric>_<figure>`, its coverage (scored samples of those that it applies to) as `<metric>_coverage`, and
            the number of samples as `n`.
        """
        found: dict[str, Tensor] = {}
        beside: dict[str, dict[str, Tensor]] = {}
        for (metric, column), total in zip(self._beside, self.beside, strict=True):
            beside.setdefault(metric, {})[column] = total
        for spec, sums in zip(self.tier.specs, self.sums, strict=True):
            total, counted, applicable, scored = sums
            found[spec.name] = total / counted
            if spec.of_sums is not None:
                statistics = torch.stack([beside[spec.name][column] for column in spec.statistics])
                value = spec.of_sums(statistics[None].cpu().numpy())[0] if scored else float("nan")
                found[spec.name] = total.new_tensor(value)
            if isinstance(spec.extras, Summed):
                figures = spec.extras.of_sums({name: value.item() for name, value in beside[spec.name].items()})
                found |= {
                    f"{spec.name}_{name}": total.new_tensor(float("nan") if value is None else value)
                    for name, value in figures.items()
                }
            found[f"{spec.name}_coverage"] = scored / applicable
        found["n"] = self.samples
        return found

    @property
    def signature(self) -> str:
        """How the numbers are made."""
        return self.tier.signature


class PixelMetric(TierMetric):
    """SSIM, PSNR and LPIPS of output images; the keywords of `PixelTier`, and torchmetrics' own."""

    def __init__(self, protocol: str = "paper", **options: Any) -> None:
        own, theirs = _split(options)
        super().__init__(PixelTier(protocol, **own), **theirs)


class TextMetric(TierMetric):
    """BLEU, BERTScore and exact match of answers; the keywords of `TextTier`, and torchmetrics' own."""

    def __init__(self, protocol: str = "paper", **options: Any) -> None:
        own, theirs = _split(options)
        super().__init__(TextTier(protocol, **own), **theirs)


_THEIRS = frozenset(
    {
        "compute_on_cpu",
        "dist_sync_on_step",
        "process_group",
        "dist_sync_fn",
        "distributed_available_fn",
        "sync_on_compute",
        "compute_with_cache",
    }
)


def _split(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    theirs = {name: value for name, value in options.items() if name in _THEIRS}
    return {name: value for name, value in options.items() if name not in _THEIRS}, theirs


def _sums(rows: Sequence[Row], spec: MetricSpec) -> list[float]:
    values = [value for row in rows if (value := spec.counted(row)) is not None]
    applicable = sum(spec.applies(row) for row in rows)
    return [sum(values), len(values), applicable, sum(spec.is_scored(row) for row in rows)]


def _columns(spec: MetricSpec) -> tuple[str, ...]:
    """What is added up beside the metric's own sums."""
    if spec.extras is not None and not isinstance(spec.extras, Summed):
        raise ValueError(f"{spec.name}: its further figures are not made of sums; use its module")
    return (*spec.statistics, *(spec.extras.columns if spec.extras is not None else ()))


def _sums_beside(rows: Sequence[Row], spec: MetricSpec) -> list[float]:
    scored = [row for row in rows if spec.is_scored(row)]
    found = [sum(row.values.get(column, 0.0) for row in scored) for column in spec.statistics]
    if isinstance(spec.extras, Summed):
        found += spec.extras.sums([row for row in rows if spec.applies(row)]).values()
    return found
