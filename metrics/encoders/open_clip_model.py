"""Models of `open_clip` as encoders, BiomedCLIP among them: `pip install medgen-bench[open-clip]`.

The embedding is the image tower's projected vector (`encode_image`), in which the model's own similarity is measured.
Of the weights only the image tower's are taken (CoCa's apart, which lie in both): a text tower of `transformers`, as
BiomedCLIP's, would be looked for on the Hub.
"""

import json
import logging
import threading
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from PIL import Image

from ..devices import inference
from ..file_digests import file_digest
from ..signature import digest
from .base import Found
from .base import check_aspect
from .base import unit

if TYPE_CHECKING:
    import torch

CONFIG = "open_clip_config.json"
WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors", "open_clip_pytorch_model.bin")
FILES = ["*.json", "*.txt", *WEIGHTS]  # what is downloaded
_TEXT = {"context_length": 8, "vocab_size": 8, "width": 8, "heads": 1, "layers": 1}  # of a text tower that is not used


def find(folder: Path) -> Found:
    """The encoder in a folder that open_clip wrote, as its Hub repositories have it.

    Raises:
        ImportError: open_clip isn't installed.
        ValueError: the folder lacks its config or weights.
    """
    try:
        import open_clip  # noqa: F401 - a missing extra is told now, not at the first image
    except ModuleNotFoundError as error:
        raise ImportError(
            "model: open-clip models need the package open_clip: pip install 'medgen-bench[open-clip]'"
        ) from error
    weights = next((folder / name for name in WEIGHTS if (folder / name).is_file()), None)
    if weights is None or not (folder / CONFIG).is_file():
        raise ValueError(f"model: expected an open_clip folder with {CONFIG} and one of {', '.join(WEIGHTS)}: {folder}")
    found = digest({path.name: file_digest(path) for path in (folder / CONFIG, weights)})
    definition = {"weights": found, "pooling": "image_features"}
    return Found(
        definition,
        f"open_clip-{version('open_clip_torch')}",
        lambda device, dtype: OpenClipModel(folder, weights, device, dtype),
    )


class OpenClipModel:
    """An open_clip model.

    Args:
        folder: see `find`.
        weights: its weights.
        device: where it runs.
        dtype: one of `devices.DTYPES`.

    Raises:
        ValueError: open_clip can't load it.
    """

    def __init__(self, folder: Path, weights: Path, device: "torch.device", dtype: str = "float32") -> None:
        import torch

        self.device = device
        self._dtype = getattr(torch, dtype)
        try:
            with torch.random.fork_rng(devices=[]), _quiet():  # its layers are drawn before they are read
                model, self._transform = _load(folder, weights)
        except Exception as error:  # open_clip raises whatever a config makes it meet
            raise ValueError(f"model: {weights} can't be loaded: {' '.join(str(error).split())[:400]}") from error
        self._model = model.eval().requires_grad_(False).to(device, self._dtype)

    def preprocess(self, image: Image.Image) -> np.ndarray:
        """The model's own preprocessing: float32 [channels, height, width].

        Raises:
            Unscored: see `base.check_aspect`.
        """
        check_aspect(image)
        return np.asarray(self._transform(image), dtype=np.float32)

    def encode(self, pixels: Sequence[np.ndarray]) -> np.ndarray:
        """Embeddings, float32 [n, d], of n arrays that `preprocess` gave."""
        import torch

        with inference(self.device):
            images = torch.from_numpy(np.stack(pixels)).to(self.device, self._dtype)
            return unit(self._model.encode_image(images))


def _load(folder: Path, weights: Path) -> tuple[Any, Any]:
    """The model, and its preprocessing."""
    import open_clip
    from open_clip.factory import load_state_dict

    config = json.loads((folder / CONFIG).read_text("utf-8"))
    if "multimodal_cfg" in config.get("model_cfg", {}):
        model, _, transform = open_clip.create_model_and_transforms(f"local-dir:{folder}", precision="fp32")
        return model, transform
    model, _, transform = open_clip.create_model_and_transforms(
        f"local-dir:{folder}", precision="fp32", load_weights=False, text_cfg=_TEXT
    )
    tower = "visual."
    state = load_state_dict(str(weights), weights_only=True)
    model.visual.load_state_dict({name[len(tower) :]: state[name] for name in state if name.startswith(tower)})
    return model, transform


@contextmanager
def _quiet() -> Iterator[None]:
    """Without open_clip's notes that weights are still to come, which it gives the root logger in this thread."""
    here = threading.get_ident()

    def is_told(record: logging.LogRecord) -> bool:
        return record.thread != here or record.levelno > logging.WARNING

    logging.root.addFilter(is_told)
    try:
        yield
    finally:
        logging.root.removeFilter(is_told)
