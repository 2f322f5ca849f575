"""The pixel tier: SSIM, PSNR and LPIPS of output images against reference images, under two protocols.

Definitions: DESIGN section 5. `paper` follows the published evaluator with its known faults repaired, `standard` the
field's usage.
"""

import logging
import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from . import locality
from . import lpips_model
from . import ssim
from . import weights
from .devices import default_device
from .failures import Teller
from .pixel_batches import LpipsQueue
from .pixel_batches import SsimQueue
from .pixel_pairs import IDENTICAL_PSNR
from .pixel_pairs import Draft
from .pixel_pairs import drafts
from .pixel_pairs import sources
from .pixel_specs import METRICS
from .pixel_specs import lpips_name
from .pixel_specs import specs
from .pixel_target import PAPER_LPIPS_SIDE
from .pixel_target import STANDARD_LPIPS_PIXELS
from .pixel_target import Plan
from .rows import Row
from .signature import signature

__all__ = ["PixelTier", "specs"]

REVISION = 3  # of the definitions; raised when a change moves any value

_SIZES = ("candidate_width", "candidate_height", "reference_width", "reference_height")

logger = logging.getLogger(__name__)


class PixelTier:
    """Scores output images against reference images.

    Args:
        protocol: `paper` or `standard`.
        metrics: which of `ssim`, `psnr`, `lpips`.
        lpips_net: `alex` (the paper's), `squeeze` or `vgg`; another than `alex` is named `lpips[<net>]`.
        lpips_weights: torchvision's file of ImageNet weights for that network; None finds or fetches it.
        device: where LPIPS (and on a GPU SSIM) runs, e.g. `cuda:1`; None: the current GPU, else the processor.
        offline: don't try the network for weights; None: as the environment says.

    Raises:
        ValueError: an unknown protocol, metric or network.
        FileNotFoundError: `lpips_weights` names no file.

    Attributes:
        name: `pixel`.
        protocol: as given.
        specs: the metrics.
        columns: all floats that a row may hold: the metrics, `mse` (0-255 levels squared), the images' sizes and, where
            inputs are given, the diagnostics of `locality`.
    """

    name = "pixel"

    def __init__(
        self,
        protocol: str = "paper",
        metrics: Sequence[str] = METRICS,
        lpips_net: str = "alex",
        lpips_weights: str | PathLike[str] | None = None,
        device: str | None = None,
        offline: bool | None = None,
    ) -> None:
        self.specs = specs(protocol, metrics, lpips_net)
        self.protocol = protocol
        self.metrics = tuple(metrics)
        self.lpips_net = lpips_net
        self.columns = (*(spec.name for spec in self.specs), "mse", *_SIZES, *locality.COLUMNS)
        self._given_weights = None if lpips_weights is None else Path(lpips_weights)
        if self._given_weights is not None and not self._given_weights.is_file():
            raise FileNotFoundError(
                f"lpips_weights: expected torchvision's weights file for {lpips_net}; no file {lpips_weights}"
            )
        self._device_name = device
        self._offline = offline
        self._teller = Teller(logger)

    # --- weights and how numbers are made ---------------------------------------------------------------------------

    @cached_property
    def _weights(self) -> tuple[Path | None, str | None]:
        """The backbone's file, and if there is none why."""
        if "lpips" not in self.metrics:
            return None, None
        if self._given_weights is not None:
            return self._given_weights, None
        try:
            return weights.obtain(f"lpips-{self.lpips_net}", offline=self._offline), None
        except weights.WeightsUnavailable as error:
            return None, str(error)

    @property
    def unavailable(self) -> dict[str, str]:
        """Metric -> why its weights can't be had; its rows carry `weights_missing`."""
        message = self._weights[1]
        return {} if message is None else {lpips_name(self.lpips_net): message}

    @property
    def _weights_digest(self) -> str | None:
        path = self._weights[0]
        return None if path is None else lpips_model.weights_digest(path)

    @property
    def definition(self) -> dict[str, Any]:
        """All that determines a score, JSON-able; not package versions, which the signature reports."""
        is_paper = self.protocol == "paper"
        known: dict[str, Any] = {
            "ssim": {"channels": "grey", "window": f"uniform{ssim.UNIFORM_SIDE}", "covariance": "sample"}
            if is_paper
            else {"channels": "rgb", "window": f"gaussian{ssim.GAUSSIAN_SIDE}", "covariance": "population"},
            "psnr": {"channels": "rgb", "identical": IDENTICAL_PSNR if is_paper else None},
            "lpips": {
                "net": self.lpips_net,
                "version": "0.1",
                "side": PAPER_LPIPS_SIDE if is_paper else None,
                "max_pixels": None if is_paper else STANDARD_LPIPS_PIXELS,
                "weights": self._weights_digest,
            },
        }
        return {
            "tier": self.name,
            "revision": REVISION,
            "protocol": self.protocol,
            "size": "lanczos",
            "metrics": {metric: known[metric] for metric in self.metrics},
            "locality": locality.DEFINITION,
        }

    @property
    def signature(self) -> str:
        """The definition and the versions of what computes it, for people."""
        is_paper = self.protocol == "paper"
        lpips_size = PAPER_LPIPS_SIDE if is_paper else f"native-max{STANDARD_LPIPS_PIXELS}"
        known = {
            "ssim": f"grey-uniform{ssim.UNIFORM_SIDE}" if is_paper else f"rgb-gaussian{ssim.GAUSSIAN_SIDE}",
            "psnr": f"rgb-identical{IDENTICAL_PSNR:g}" if is_paper else "rgb-identical-apart",
            "lpips": f"{self.lpips_net}-{lpips_size}",
        }
        parts: dict[str, Any] = {"protocol": self.protocol, **{metric: known[metric] for metric in self.metrics}}
        parts["size"] = "lanczos"
        if "lpips" in self.metrics:
            parts["weights"] = self._weights_digest or "missing"
            parts["lib"] = f"lpips-{version('lpips')}"
        return signature("medgen_pixel", parts)

    # --- scoring ----------------------------------------------------------------------------------------------------

    def score(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        windows: Sequence[Any] | None = None,
        inputs: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> list[Row]:
        """Score pairs.

        Args:
            predictions: output images: PIL images, paths, encoded bytes, uint8 arrays [height, width(, channels)],
                float arrays in [0, 1], tensors [(channels,) height, width]; None is a missing output.
            references: reference images, likewise.
            windows: None, or for each pair None or the grey levels (black, white) that deep images are shown with.
            inputs: None, or for each pair None or the image that was to be edited, likewise; of several the first. It
                moves no score: it gives the diagnostics of `medgen_metrics.locality` and the flag `no_op`.
            names: what to call the pairs in messages about bad images; default their positions.

        Returns:
            One row a pair: the metrics, `mse`, sizes in pixels, diagnostics; flags `resized`, `aspect_changed`,
            `identical`, `several_images`, `lpips_reduced`, `no_op` (the output holds the input's pixels).

        Raises:
            TypeError: a value that is no image, with its position.
            ValueError: unequal lengths, floats outside [0, 1], an impossible window.
        """
        return self.score_systems([predictions], references, windows, inputs, names)[0]

    def score_systems(
        self,
        predictions: Sequence[Sequence[Any]],
        references: Sequence[Any],
        windows: Sequence[Any] | None = None,
        inputs: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> list[list[Row]]:
        """Score several systems' outputs for the same records; what reference and input give is computed once.

        Args:
            predictions: each system's output images, one a record, as of `score`.
            references: one a record.
            windows: one a record, as of `score`.
            inputs: one a record, as of `score`.
            names: one a record, as of `score`.

        Returns:
            Each system's rows: those of `score` for that system alone.

        Raises:
            TypeError, ValueError: as `score`.
        """
        ssim_queue = SsimQueue(self._batched_ssim, self._limit)
        lpips_queue = LpipsQueue(lpips_name(self.lpips_net), self._features, self._distance, self._limit)
        drafted: list[list[Draft]] = [[] for _ in predictions]
        for position, made in enumerate(drafts(self._plan, sources(predictions, references, windows, inputs))):
            for item, rows in zip(made.rows, drafted, strict=True):
                if item.failure is not None and item.failure.detail:
                    self._teller.tell(f"predictions[{position}]" if names is None else names[position], item.failure)
                ssim_queue.add(item)
                rows.append(item)
            lpips_queue.add(made)
        ssim_queue.flush()
        lpips_queue.flush()
        return [[self._row(item) for item in rows] for rows in drafted]

    @cached_property
    def _device(self) -> Any:
        """A torch device; None where nothing needs one and torch, slow to import, is not there yet."""
        if self._device_name is not None:
            import torch

            return torch.device(self._device_name)
        return default_device() if "lpips" in self.metrics or "torch" in sys.modules else None

    @property
    def _plan(self) -> Plan:
        return Plan(
            is_paper=self.protocol == "paper",
            metrics=self.metrics,
            lpips_net=self.lpips_net,
            lpips_column=lpips_name(self.lpips_net),
            has_lpips=self._weights[0] is not None,
            batches_ssim=self._device is not None and self._device.type == "cuda",
        )

    def _limit(self, shape: tuple[int, int]) -> int:
        return lpips_model.batch_size(shape, self._device)

    def load(self) -> None:
        """Load LPIPS's network where its weights are here; else the first pair does.

        Raises:
            ValueError: the weights file holds something else.
        """
        path = self._weights[0]
        if path is not None:
            lpips_model.load(self.lpips_net, path, self._device)

    @property
    def _model(self) -> Any:
        path = self._weights[0]
        assert path is not None
        return lpips_model.load(self.lpips_net, path, self._device)

    def _features(self, images: Sequence[np.ndarray]) -> list[Any]:
        return lpips_model.features(self._model, images)

    def _distance(self, first: Any, second: Any) -> float:
        return lpips_model.distance(self._model, first, second)

    def _batched_ssim(self, first: list[np.ndarray], second: list[np.ndarray]) -> list[float]:
        import torch

        images = [torch.from_numpy(np.stack(arrays)).to(self._device) for arrays in (first, second)]
        return ssim.uniform_batch(*images) if self.protocol == "paper" else ssim.gaussian_batch(*images)

    def _row(self, item: Draft) -> Row:
        if item.failure is not None:
            return Row(item.values, {spec.name: item.failure.reason for spec in self.specs}, tuple(item.flags))
        return Row(item.values, item.reasons, tuple(item.flags))
