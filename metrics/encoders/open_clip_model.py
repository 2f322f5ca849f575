"""Models of `open_clip` as encoders, BiomedCLIP among them: `pip install medgen-bench[open-clip]`.

The embedding is the image tower's projected vector (`encode_image`), in which the model's own similarity is measured.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from ..devices import inference
from ..file_digests import file_digest
from ..signature import digest
from .base import Found
from .base import unit

if TYPE_CHECKING:
    import torch

CONFIG = "open_clip_config.json"
WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors", "open_clip_pytorch_model.bin")
FILES = ["*.json", "*.txt", *WEIGHTS]  # what is downloaded


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
        definition, f"open_clip-{version('open_clip_torch')}", lambda device: OpenClipModel(folder, weights, device)
    )


class OpenClipModel:
    """An open_clip model.

    Args:
        folder: see `find`.
        weights: its weights.
        device: where it runs.

    Raises:
        ValueError: open_clip can't load it.
    """

    def __init__(self, folder: Path, weights: Path, device: "torch.device") -> None:
        import open_clip
        import torch

        self.device = device
        try:
            with torch.random.fork_rng(devices=[]):  # its layers are drawn before they are read
                model, _, self._transform = open_clip.create_model_and_transforms(
                    f"local-dir:{folder}", precision="fp32", device="cpu"
                )
        except Exception as error:  # open_clip raises whatever a config makes it meet
            raise ValueError(f"model: {weights} can't be loaded: {error}".splitlines()[0]) from error
        self._model = model.eval().requires_grad_(False).to(device)

    def preprocess(self, image: Image.Image) -> np.ndarray:
        """The model's own preprocessing: float32 [channels, height, width]."""
        return np.asarray(self._transform(image), dtype=np.float32)

    def encode(self, pixels: Sequence[np.ndarray]) -> np.ndarray:
        """Embeddings, float32 [n, d], of n arrays that `preprocess` gave."""
        import torch

        with inference(self.device):
            return unit(self._model.encode_image(torch.from_numpy(np.stack(pixels)).to(self.device)))
