"""How the pixel tier's metrics are named, ranged and averaged."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from . import lpips_model
from .pixel_pairs import IDENTICAL_PSNR
from .pixel_pairs import psnr
from .rows import MetricSpec
from .rows import Row
from .rows import Summed

PROTOCOLS = ("paper", "standard")
METRICS = ("ssim", "psnr", "lpips")


def lpips_name(net: str) -> str:
    """The metric's name: `lpips` is the paper's network; another goes by its own name."""
    return "lpips" if net == "alex" else f"lpips[{net}]"


def specs(protocol: str = "paper", metrics: Sequence[str] = METRICS, lpips_net: str = "alex") -> tuple[MetricSpec, ...]:
    """How the metrics are named, ranged and averaged; loads nothing.

    Args:
        protocol: `paper` or `standard`.
        metrics: which of `METRICS`, in the order wanted.
        lpips_net: `alex`, `squeeze` or `vgg`.

    Raises:
        ValueError: an unknown protocol, metric or network.
    """
    _one_of("protocol", protocol, PROTOCOLS)
    _one_of("lpips_net", lpips_net, tuple(lpips_model.MIN_SIDE))
    if isinstance(metrics, str) or not metrics or len(set(metrics)) < len(metrics):
        raise ValueError(f"metrics: expected a list of {', '.join(METRICS)}, each once; got {metrics!r}")
    for metric in metrics:
        _one_of("metrics", metric, METRICS)
    if protocol == "paper":
        psnr_spec = MetricSpec("psnr", 0.0, IDENTICAL_PSNR)
    else:
        # Identical images have no finite PSNR: scored by their mse of 0, which ranks them above all others.
        psnr_spec = MetricSpec("psnr", 0.0, None, extras=_PSNR_FIGURES, column="mse")
    known = {
        "ssim": MetricSpec("ssim", -1.0, 1.0),
        "psnr": psnr_spec,
        "lpips": MetricSpec(lpips_name(lpips_net), 0.0, None, higher_is_better=False),
    }
    return tuple(known[metric] for metric in metrics)


def _one_of(what: str, value: Any, known: Sequence[str]) -> None:
    if value not in known:
        raise ValueError(f"{what}: expected {', '.join(known)}; got {value!r}")


def _psnr_parts(row: Row) -> tuple[float, float, float]:
    error = row.values.get("mse")
    return (0.0, 0.0, 0.0) if error is None else (error, float(not error), 1.0)


def _psnr_figures(sums: Mapping[str, float]) -> dict[str, float | None]:
    """`identical_share` of the scored rows, and `pooled`: the PSNR of their mean squared error, which needs no cap."""
    compared = sums["compared"]
    if not compared:
        return {"identical_share": None, "pooled": None}
    return {"identical_share": sums["identical"] / compared, "pooled": psnr(sums["mse"] / compared)}


_PSNR_FIGURES = Summed(("mse", "identical", "compared"), _psnr_parts, _psnr_figures)
