"""Vision models of `transformers` as encoders: DINOv2, Rad-DINO, ViT, CLIP's image tower and their like.

The embedding is, in this order, what the model has: `get_image_features` (CLIP's projected vector, in which its own
similarity is measured), the pooled output where the checkpoint holds the pooler's weights or it has none, the CLS
token, the mean over positions. A pooler that the checkpoint lacks would be random, so it is never used. Masked
autoencoders, which draw what they mask, are refused.
"""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from PIL import Image

from ..bertscore import quiet
from ..devices import inference
from ..file_digests import folder_digest
from .base import Found
from .base import check_aspect
from .base import unit

if TYPE_CHECKING:
    import torch

POOLING = "image_features>pooler>cls>mean-of-positions"
FILES = ["*.json", "*.safetensors"]  # what is downloaded


def find(folder: Path) -> Found:
    """The encoder in a folder.

    Args:
        folder: of a transformers model, with config, preprocessor and weights.

    Raises:
        ValueError: the folder lacks one of them.
    """
    for name in ("config.json", "preprocessor_config.json"):
        if not (folder / name).is_file():
            raise ValueError(f"model: {folder} has no {name}; expected the folder of a transformers vision model")
    definition = {"weights": folder_digest(folder, ["preprocessor_config.json"]), "pooling": POOLING}
    return Found(
        definition,
        f"transformers-{version('transformers')}",
        lambda device, dtype: TransformersModel(folder, device, dtype),
    )


class TransformersModel:
    """A vision model.

    Args:
        folder: see `find`.
        device: where it runs.
        dtype: one of `devices.DTYPES`.

    Raises:
        ValueError: the folder holds no vision model, not all of its weights, or one that draws random numbers.
    """

    def __init__(self, folder: Path, device: "torch.device", dtype: str = "float32") -> None:
        import torch
        import transformers

        self.device = device
        self._dtype = getattr(torch, dtype)
        # Pillow's, since the results of torchvision's processors depend on its version and its thread count.
        pillow: dict[str, Any] = {"backend": "pil"} if _major(transformers.__version__) >= 5 else {"use_fast": False}
        try:
            self._processor = transformers.AutoImageProcessor.from_pretrained(folder, local_files_only=True, **pillow)
            with quiet(), torch.random.fork_rng(devices=[]):  # weights that are missing would be drawn
                model, told = transformers.AutoModel.from_pretrained(
                    folder,
                    local_files_only=True,
                    trust_remote_code=False,
                    output_loading_info=True,
                    dtype=torch.float32,
                )
        except Exception as error:  # transformers raises whatever a config makes it meet
            raise ValueError(f"model: {folder} holds no transformers vision model: {error}".splitlines()[0]) from error
        missing = {name for name in told["missing_keys"] if not name.endswith("position_ids")}
        self._has_pooler = not any("pooler" in name.split(".") for name in missing)
        lost = sorted(name for name in missing if "pooler" not in name.split("."))
        if lost:
            raise ValueError(f"model: {folder} lacks weights of its {type(model).__name__}: {', '.join(lost[:5])}")
        self._model = model.eval().requires_grad_(False).to(device, self._dtype)
        self._try(folder)

    def _try(self, folder: Path) -> None:
        """Embed a picture twice, so that what can't serve is told before anything is scored."""
        import torch

        kind = type(self._model).__name__
        image = Image.fromarray(np.random.RandomState(0).randint(0, 256, (64, 64, 3), np.uint8))
        try:
            pixels = [self.preprocess(image)]
            with torch.random.fork_rng(devices=[]):
                # Of this generator alone: `torch.manual_seed` would set every GPU's, too, which is not restored.
                torch.default_generator.manual_seed(0)
                first, again = self.encode(pixels), self.encode(pixels)
        except Exception as error:  # a model of something else meets whatever it meets
            told = f"model: {folder} holds no transformers vision model: {kind}: {error}"
            raise ValueError(told.splitlines()[0]) from error
        if first.ndim != 2 or not np.isfinite(first).all():
            got = f"shape {first.shape[1:]}" if first.ndim != 2 else "some that are not finite"
            raise ValueError(
                f"model: {folder}: expected one vector of finite numbers an image of its {kind}, got {got}"
            )
        if np.abs(first - again).max() > 1e-3:
            raise ValueError(f"model: {folder}: its {kind} gives one image another embedding each time")

    def preprocess(self, image: Image.Image) -> np.ndarray:
        """The model's own preprocessing: float32 [channels, height, width], whatever the size.

        Raises:
            Unscored: see `base.check_aspect`.
        """
        check_aspect(image)
        return np.asarray(self._processor(images=image, return_tensors="np")["pixel_values"][0], dtype=np.float32)

    def encode(self, pixels: Sequence[np.ndarray]) -> np.ndarray:
        """Embeddings, float32 [n, d], of n arrays of one shape."""
        import torch

        with inference(self.device):
            return unit(self._features(torch.from_numpy(np.stack(pixels)).to(self.device, self._dtype)))

    def _features(self, images: "torch.Tensor") -> "torch.Tensor":
        if hasattr(self._model, "get_image_features"):
            found = self._model.get_image_features(pixel_values=images)
            # transformers 5 gives an output, of which this is the projected vector
            return getattr(found, "pooler_output", found)
        found = self._model(pixel_values=images)
        pooled = getattr(found, "pooler_output", None)
        if pooled is not None and self._has_pooler:
            return pooled.flatten(1)
        hidden = found.last_hidden_state
        if hidden.ndim == 3:  # [n, positions, d]; convolutional networks give [n, d, height, width]
            return hidden[:, 0] if _has_cls(self._model) else hidden.mean(1)
        return hidden.flatten(2).mean(-1)


def _has_cls(model: Any) -> bool:
    """Whether the first position is a CLS token, under the names that transformers gives it."""
    return any(name.rpartition(".")[2] in ("cls_token", "class_embedding") for name, _ in model.named_parameters())


def _major(text: str) -> int:
    return int(text.partition(".")[0])
