"""MedImageInsight's image tower (Codella et al. 2024, arXiv 2410.06542), the encoder of the paper's MII.

The published checkpoint (Hub repository lion-ai/MedImageInsights) is loaded here into timm's DaViT, and nothing else of
that repository is run or imported:

- its own code, and the package `medimageinsights` (0.1.1) that republishes it, require mpi4py, mup, fvcore and tornado,
  build the text tower beside the image tower, and download from another repository of the author's;
- timm has the same architecture (its `davit_huge_fl`: DaViT with kernels of 7 and 3, pre-normed downsampling and
  channel attention scaled by the number of tokens), kept up with torch and tested there; only names differ.

What differs from `davit_huge_fl` is outside of it: pooling before the last norm, then a projection to 1024 dimensions.
Every tensor must be there in its shape, or nothing is loaded. Only the image tower is read, through safetensors (which
the published file is, despite its ending `.pt`) or else torch's `weights_only` unpickler: no code in it is run.

Verified: with equal random weights, embeddings equal those of the package to 1e-5 from image to vector
(`tests/metrics/encoders`, a narrower network); once by hand at the published sizes, in double precision, to 1e-11 (in
single precision a network of random weights that deep multiplies rounding, in either code, to 1e-3).

The commit and the file's SHA-256 are pinned (`weights`), from the Hub's pages and from the Git LFS pointer in a clone;
another file of the same architecture is told and used.

Not verified, since the weights could not be had where this was written: the published file itself, by name of its
tensors (the spellings that the package reads are all taken), and hence any published MII.
"""

import logging
import re
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np
from PIL import Image

from ..devices import inference
from ..file_digests import file_digest
from ..weights import MEDIMAGEINSIGHT_FILE
from ..weights import MEDIMAGEINSIGHT_SHA256
from .base import Found
from .base import unit

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

NAME = "MedImageInsight"
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Architecture:
    """Sizes of the image tower, as the published `config.yaml` gives them under IMAGE_ENCODER and UNICL_MODEL.

    Attributes:
        side: of the square that images are resized to, in pixels.
        widths, heads, depths: of the four stages; heads are also the groups of channel attention.
        window: side of spatial attention's windows, in tokens.
        dimensions: of the embedding.
    """

    side: int = 480
    widths: tuple[int, ...] = (256, 512, 1024, 2048)
    heads: tuple[int, ...] = (8, 16, 32, 64)
    depths: tuple[int, ...] = (1, 1, 9, 1)
    window: int = 12
    dimensions: int = 1024


PUBLISHED = Architecture()

# A tensor's name in the checkpoint -> timm's, applied in this order. The first lines are DaViT's older names.
_RENAMES = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"^(conv_embeds|patch_embeds)\.", "convs."),
        (r"^main_blocks\.", "blocks."),
        (r"^(blocks\.\d+\.\d+)\.0\.", r"\1.spatial_block."),
        (r"^(blocks\.\d+\.\d+)\.1\.", r"\1.channel_block."),
        (r"\.cpe\.0\.proj\.", ".cpe1.proj."),
        (r"\.cpe\.1\.proj\.", ".cpe2.proj."),
        (r"\.conv1\.fn\.dw\.", ".cpe1.proj."),
        (r"\.conv2\.fn\.dw\.", ".cpe2.proj."),
        (r"\.(window|channel)_attn\.norm\.", ".norm1."),
        (r"\.(window|channel)_attn\.fn\.", ".attn."),
        (r"\.ffn\.norm\.", ".norm2."),
        (r"\.ffn\.fn\.net\.", ".mlp."),
        (r"^convs\.0\.proj\.", "stem.conv."),
        (r"^convs\.0\.norm\.", "stem.norm."),
        (r"^convs\.(\d+)\.proj\.", r"stages.\1.downsample.conv."),
        (r"^convs\.(\d+)\.norm\.", r"stages.\1.downsample.norm."),
        (r"^blocks\.(\d+)\.", r"stages.\1.blocks."),
        (r"^norms\.", "head.norm."),
    )
)
_TOWER = re.compile(r"^(image_encoder|visual)\.")
_PROJECTION = ("image_projection", "vision_projection")


def find(path: Path, architecture: Architecture | None = None) -> Found:
    """The encoder of a checkpoint.

    Args:
        path: the checkpoint, or a folder of the published layout that holds it.
        architecture: of the checkpoint; default the published one.

    Raises:
        FileNotFoundError: no checkpoint there.
    """
    sizes = architecture or PUBLISHED
    file = checkpoint(path)
    sha = file_digest(file)
    if sizes == PUBLISHED and sha != MEDIMAGEINSIGHT_SHA256:
        logger.warning(
            "%s: SHA-256 %s, where the published checkpoint has %s: mii is what this file's network says",
            file,
            sha,
            MEDIMAGEINSIGHT_SHA256,
        )
    definition = {
        "model": NAME,
        "weights": sha[:16],
        "resize": "bicubic-squash",
        **{name: list(size) if isinstance(size, tuple) else size for name, size in asdict(sizes).items()},
    }
    return Found(
        definition, f"timm-{version('timm')}", lambda device, dtype: MedImageInsight(file, device, sizes, dtype)
    )


def checkpoint(path: Path) -> Path:
    """The checkpoint that a path means.

    Raises:
        FileNotFoundError: it is neither one, nor a folder of the published layout.
    """
    published = Path(MEDIMAGEINSIGHT_FILE)
    candidates = [path, path / published, path / published.relative_to(published.parts[0]), path / published.name]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"weights: expected MedImageInsight's checkpoint ({published.name}) or the folder that holds "
        f"{published.as_posix()}; there is none at {path}"
    )


class MedImageInsight:
    """The image tower.

    Args:
        path: the checkpoint.
        device: where it runs.
        architecture: its sizes.
        dtype: of the tower, one of `devices.DTYPES`; the projection is float32.

    Raises:
        ValueError: the file can't be read, or lacks tensors, or has some of another shape.
    """

    def __init__(self, path: Path, device: "torch.device", architecture: Architecture, dtype: str = "float32") -> None:
        import torch

        self.device = device
        self._side = architecture.side
        self._tower = _empty_tower(architecture)
        expected = {name: tuple(tensor.shape) for name, tensor in self._tower.state_dict().items()}
        expected["projection"] = (architecture.widths[-1], architecture.dimensions)
        state = _read(path, expected)
        self._projection = state.pop("projection").to(device)
        self._tower.load_state_dict(state, assign=True)
        self._dtype = getattr(torch, dtype)
        self._tower = self._tower.eval().requires_grad_(False).to(device, self._dtype)
        self._mean = torch.tensor(MEAN, device=device)[:, None, None]
        self._std = torch.tensor(STD, device=device)[:, None, None]

    def preprocess(self, image: Image.Image) -> np.ndarray:
        """The image resized to the square, whatever its aspect: uint8 [side, side, 3]."""
        return np.asarray(image.resize((self._side, self._side), Image.Resampling.BICUBIC))

    def encode(self, pixels: Sequence[np.ndarray]) -> np.ndarray:
        """Embeddings, float32 [n, dimensions], of n arrays that `preprocess` gave."""
        import torch

        with inference(self.device):
            images = torch.from_numpy(np.stack(pixels)).to(self.device).movedim(-1, 1).float().div(255)
            features = self._tower(((images - self._mean) / self._std).to(self._dtype))
            return unit(features.float() @ self._projection)


def _empty_tower(architecture: Architecture) -> Any:
    import torch
    from timm.models.davit import DaVit

    # Without memory and without drawing random numbers, which would be the caller's.
    with torch.device("meta"):
        return DaVit(
            depths=architecture.depths,
            embed_dims=architecture.widths,
            num_heads=architecture.heads,
            window_size=architecture.window,
            down_kernel_size=3,
            channel_attn_v2=True,
            named_blocks=True,
            num_classes=0,
        )


def timm_name(name: str) -> str | None:
    """timm's name of a checkpoint's tensor; None of one that isn't the image tower's.

    >>> timm_name("image_encoder.blocks.2.0.channel_block.ffn.fn.net.fc1.weight")
    'stages.2.blocks.0.channel_block.mlp.fc1.weight'
    >>> timm_name("visual.main_blocks.2.0.1.mlp.fc1.weight")
    'stages.2.blocks.0.channel_block.mlp.fc1.weight'
    >>> timm_name("image_projection"), timm_name("lang_projection")
    ('projection', None)
    """
    if name in _PROJECTION:
        return "projection"
    if not _TOWER.match(name):
        return None
    name = _TOWER.sub("", name)
    for pattern, replacement in _RENAMES:
        name = pattern.sub(replacement, name)
    return name


def _read(path: Path, expected: Mapping[str, tuple[int, ...]]) -> "dict[str, torch.Tensor]":
    """The image tower's tensors under timm's names, float32, on the processor."""
    import torch

    wanted = f"expected MedImageInsight's weights ({Path(MEDIMAGEINSIGHT_FILE).name})"
    try:
        found = _tensors(path)
    except Exception as error:  # safetensors, torch and pickle raise whatever a damaged file makes them meet
        raise ValueError(f"{path}: {wanted}; can't be read: {error}".splitlines()[0]) from error
    faults = [
        f"{name} is {tuple(found[name].shape) if name in found else 'absent'}, expected {shape}"
        for name, shape in expected.items()
        if name not in found or tuple(found[name].shape) != shape
    ]
    if faults:
        rest = f"; … and {len(faults) - 5} more" if len(faults) > 5 else ""
        raise ValueError(f"{path}: {wanted}; {'; '.join(faults[:5])}{rest}")
    if not all(bool(torch.isfinite(tensor).all()) for tensor in found.values()):
        raise ValueError(f"{path}: {wanted}; got values that are not finite")
    # further tensors take no part, as in the published code
    return {name: found[name] for name in expected}


def _tensors(path: Path) -> "dict[str, torch.Tensor]":
    import torch
    from safetensors import safe_open

    def renamed(names: Iterable[str]) -> dict[str, str]:
        return {new: name for name in names if (new := timm_name(name)) is not None}

    with path.open("rb") as file:
        is_pickle = file.read(2) in (b"PK", b"\x80\x02")
    if not is_pickle:
        with safe_open(path, framework="pt") as tensors:
            return {new: tensors.get_tensor(name).float() for new, name in renamed(tensors.keys()).items()}
    state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    for wrapper in ("state_dict", "model"):
        if wrapper in state and not isinstance(state[wrapper], torch.Tensor):
            state = state[wrapper]
    return {new: state[name].float() for new, name in renamed(state).items()}
