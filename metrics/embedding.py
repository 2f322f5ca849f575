"""The embedding tier: cosine of an output image's and the reference image's embeddings. The paper's MII.

Definition: DESIGN section 5. Both images are brought to 8-bit RGB as in the pixel tier (`pairs`), and each goes to the
encoder at its own size: the candidate is not resized to the reference first.
"""

import logging
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from . import weights
from .devices import DTYPES
from .devices import default_device
from .embedding_looks import REVISION as INTAKE_REVISION
from .embedding_looks import Record
from .embedding_looks import sources
from .embedding_queue import embed
from .embedding_queue import looked_at
from .encoders import finding
from .encoders.base import EncoderFault
from .encoders.base import Found
from .failures import Teller
from .feature_cache import FeatureCache
from .feature_cache import Features
from .rows import MetricSpec
from .rows import Row
from .signature import digest
from .signature import signature

if TYPE_CHECKING:
    import torch

PROTOCOLS = ("paper", "standard")
REVISION = 1  # of what the numbers mean; a change makes journals score again

logger = logging.getLogger(__name__)


def specs(protocol: str = "paper", model: str | None = None) -> tuple[MetricSpec, ...]:
    """How the metric is named, ranged and averaged; loads nothing.

    Args:
        protocol: `paper` or `standard`; the metric is the same.
        model: as of `EmbeddingTier`.

    Raises:
        ValueError: an unknown protocol.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"protocol: expected {', '.join(PROTOCOLS)}; got {protocol!r}")
    return (MetricSpec(finding.metric_name(model), -1.0, 1.0),)


class EmbeddingTier:
    """Scores output images against reference images.

    Args:
        protocol: `paper` or `standard`.
        model: the encoder. None for MedImageInsight, whose cosine alone is named `mii`; a `transformers` vision
            model's Hub id or folder, an open_clip model's behind `open-clip:`, or `NAME=FOLDER`: `cosine[<model>]`.
        weights: MedImageInsight's checkpoint, or a folder that holds it; None finds or fetches it.
        cache: a folder where the references' embeddings are kept for later runs and other processes; None keeps none.
        device: where the encoder runs, e.g. `cuda:1`; None: the current GPU, else the processor.
        dtype: of the encoder, one of `DTYPES`. Half precision is for speed on a GPU; see the card for what it
            does to scores.
        offline: don't try the network for weights; None: as the environment says.

    Raises:
        ValueError: an unknown protocol or dtype, or no encoder where a folder was named.
        FileNotFoundError: `weights` names no checkpoint.
        ImportError: an extra isn't installed.

    Attributes:
        name: `embedding`.
        protocol: as given.
        specs: the metric.
        columns: the metric's name.
        options: keywords of `specs` that give these specs again.
    """

    name = "embedding"

    def __init__(
        self,
        protocol: str = "paper",
        model: str | None = None,
        weights: str | PathLike[str] | None = None,
        cache: str | PathLike[str] | None = None,
        device: str | None = None,
        dtype: str = "float32",
        offline: bool | None = None,
    ) -> None:
        self.specs = specs(protocol, model)
        if dtype not in DTYPES:
            raise ValueError(f"dtype: expected {', '.join(DTYPES)}; got {dtype!r}")
        self._dtype = dtype
        self.protocol = protocol
        self.columns = tuple(spec.name for spec in self.specs)
        self.options = {"protocol": protocol, "model": model}
        self._metric = self.columns[0]
        self._model = model
        self._given = weights
        self._device_name = device
        self._offline = offline
        self._cache = None if cache is None else FeatureCache(Path(cache))
        self._teller = Teller(logger)
        if weights is not None or finding.is_here(model, weights):
            _ = self._found

    # --- the encoder and how numbers are made -----------------------------------------------------------------------

    @cached_property
    def _found(self) -> tuple[Found | None, str | None]:
        """The encoder, and if there is none why."""
        try:
            return finding.find(self._model, self._given, self._offline), None
        except weights.WeightsUnavailable as error:
            return None, str(error)

    @property
    def unavailable(self) -> dict[str, str]:
        """Metric -> why its weights can't be had; its rows carry `weights_missing`."""
        message = self._found[1]
        return {} if message is None else {self._metric: message}

    @property
    def definition(self) -> dict[str, Any]:
        """All that determines a score, JSON-able; not package versions, which the signature reports."""
        return {"tier": self.name, "revision": REVISION, "protocol": self.protocol, "encoder": self._encoder_definition}

    @property
    def _encoder_definition(self) -> Mapping[str, Any] | None:
        found = self._found[0]
        if found is None:
            return None
        half = {} if self._dtype == "float32" else {"dtype": self._dtype}
        return {**found.definition, "intake": INTAKE_REVISION, **half}

    @property
    def signature(self) -> str:
        """The definition and the versions of what computes it, for people."""
        found = self._found[0]
        base = self._metric.partition("[")[0]
        parts = {
            "protocol": self.protocol,
            base: self._encoder_name,
            "size": "own",
            "dtype": None if self._dtype == "float32" else self._dtype,
            "weights": "missing" if found is None else found.definition["weights"],
            "lib": None if found is None else found.library,
        }
        return signature("medgen_embedding", parts)

    @cached_property
    def _device(self) -> "torch.device":
        if self._device_name is None:
            return default_device()
        import torch

        return torch.device(self._device_name)

    @cached_property
    def _encoder(self) -> Any:
        found = self._found[0]
        assert found is not None
        try:
            return found.load(self._device, self._dtype)
        except ValueError as error:
            raise EncoderFault(str(error)) from error

    @cached_property
    def _at_hand(self) -> Features:
        kind = digest([self._encoder_definition, self._device.type])
        return Features(self._cache, kind, self._encoder_name)

    @property
    def _encoder_name(self) -> str:
        return self._metric.partition("[")[2].removesuffix("]") or "MedImageInsight"

    def load(self) -> None:
        """Load the encoder where its weights are here; else the first image does.

        Raises:
            EncoderFault: the weights are another model's.
        """
        if self._found[0] is not None:
            _ = self._encoder

    # --- scoring ----------------------------------------------------------------------------------------------------

    def score(
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        windows: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> list[Row]:
        """Score pairs.

        Args:
            predictions: output images: PIL images, paths, encoded bytes, uint8 arrays [height, width(, channels)],
                float arrays in [0, 1], tensors [(channels,) height, width]; None is a missing output.
            references: reference images, likewise.
            windows: None, or for each pair None or the grey levels (black, white) that deep images are shown with.
            names: what to call the pairs in messages about bad images; default their positions.

        Returns:
            One row a pair: the cosine, from -1 to 1; flag `several_images`.

        Raises:
            TypeError: a value that is no image, with its position.
            ValueError: unequal lengths, floats outside [0, 1], an impossible window.
            EncoderFault: the weights are another model's or damaged.
        """
        return self.score_systems([predictions], references, windows, names)[0]

    def score_systems(
        self,
        predictions: Sequence[Sequence[Any]],
        references: Sequence[Any],
        windows: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
    ) -> list[list[Row]]:
        """Score several systems' outputs for the same records; each image is encoded once.

        Args:
            predictions: each system's output images, one a record, as of `score`.
            references: one a record, as of `score`.
            windows: one a record, as of `score`.
            names: one a record, as of `score`.

        Returns:
            Each system's rows: those of `score` for that system alone.

        Raises:
            TypeError, ValueError, EncoderFault: as `score`.
        """
        given = sources(predictions, references, windows)
        done = list(
            looked_at(given, None, None) if self._found[0] is None else embed(given, self._at_hand, self._encoder)
        )
        for position, record in enumerate(done):
            for failure in record.failures:
                if failure is not None and failure.detail:
                    self._teller.tell(f"predictions[{position}]" if names is None else names[position], failure)
        return [[self._row(record, system) for record in done] for system in range(len(predictions))]

    def _row(self, record: Record, system: int) -> Row:
        flags = ("several_images",) if record.several[system] else ()
        failure = record.failures[system]
        if failure is not None:
            return Row({}, {self._metric: failure.reason}, flags)
        cosine = record.cosine(system)
        if cosine is None:
            return Row({}, {self._metric: "weights_missing"}, flags)
        return Row({self._metric: cosine}, {}, flags)
