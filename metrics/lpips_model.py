"""LPIPS v0.1 (Zhang et al. 2018) through the `lpips` package, each network loaded once a process.

The package's own constructor downloads the backbone where it does not find it. Here the network is built without
weights and the backbone is read from a file that the caller names, so that nothing is fetched unasked.
"""

import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

from .devices import inference
from .file_digests import file_digest

if TYPE_CHECKING:
    import torch

MIN_SIDE = {"alex": 31, "squeeze": 17, "vgg": 16}
"""Pixels below which a network has no features left to compare."""

# Of one forward pass: more gains nothing on a processor (measured: 4 to 8 images of 256x256), much on a GPU.
_PIXELS = {"cpu": 4 * 2**16, "cuda": 32 * 2**16}
_MOST = {"cpu": 4, "cuda": 32}  # images, however small: a batch is always full

_lock = threading.Lock()
_models: dict[tuple[str, str, str], Any] = {}


def weights_digest(path: Path) -> str:
    """First 16 hex digits of the SHA-256 of a weights file, read once a process while the file stays as it is."""
    return file_digest(path)[:16]


def load(net: str, weights: Path, device: "torch.device") -> Any:
    """The network, ready to compare.

    Args:
        net: `alex`, `squeeze` or `vgg`.
        weights: torchvision's file of ImageNet weights for that backbone (keys `features.…`).
        device: where it runs.

    Returns:
        A `lpips.LPIPS` in evaluation mode.

    Raises:
        ValueError: the file holds no such weights; names what is missing or of another shape.
    """
    key = (net, weights_digest(weights), str(device))
    with _lock:
        if key not in _models:
            _models[key] = _build(net, weights).to(device)
        return _models[key]


def _build(net: str, weights: Path) -> Any:
    import lpips
    import torch

    # pnet_rand draws weights that are overwritten below; the caller's random numbers go on as if nothing had happened.
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The parameter 'pretrained'", category=UserWarning)
        warnings.filterwarnings("ignore", message="Arguments other than a weight enum", category=UserWarning)
        model = lpips.LPIPS(net=net, version="0.1", pnet_rand=True, verbose=False)
    model.net.load_state_dict(_backbone(weights, model.net.state_dict(), net))
    model = model.float().eval().requires_grad_(False)
    # a fifth faster on processors, equal within 1e-8
    return model.to(memory_format=torch.channels_last)


def _backbone(path: Path, expected: "dict[str, torch.Tensor]", net: str) -> "dict[str, torch.Tensor]":
    """The file's weights under lpips' names: its `slice2.3.weight` is torchvision's `features.3.weight`."""
    import torch

    wanted = f"expected torchvision's ImageNet weights for lpips_net={net!r}"
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch and pickle raise whatever a damaged file makes them meet
        raise ValueError(f"{path}: {wanted}; can't be read: {error}".splitlines()[0]) from error
    if not isinstance(state, dict):
        raise ValueError(f"{path}: {wanted}; got a {type(state).__name__}")
    names = {name: "features." + name.split(".", 1)[1] for name in expected}
    faults = [
        f"{source} of shape {tuple(expected[name].shape)}"
        for name, source in names.items()
        if source not in state or state[source].shape != expected[name].shape
    ]
    if faults:
        raise ValueError(f"{path}: {wanted}; without {', '.join(faults[:3])}{', …' if len(faults) > 3 else ''}")
    if not all(bool(torch.isfinite(state[source]).all()) for source in names.values()):
        raise ValueError(f"{path}: {wanted}; got values that are not finite")
    return {name: state[source] for name, source in names.items()}


def batch_size(shape: tuple[int, int], device: "torch.device") -> int:
    """How many images of `shape` (height, width) go into one forward pass."""
    kind = device.type if device.type in _PIXELS else "cpu"
    return max(1, min(_MOST[kind], _PIXELS[kind] // (shape[0] * shape[1])))


def features(model: Any, images: Sequence[np.ndarray]) -> list[list["torch.Tensor"]]:
    """What LPIPS compares: of each image each layer's normalised features [1, channels, height, width].

    In full single precision, whatever the caller's autocast and TF32 settings are.

    Args:
        model: what `load` gave.
        images: RGB uint8 [height, width, 3], all of one size.
    """
    import torch
    from lpips import normalize_tensor

    device = next(model.parameters()).device
    with inference(device):
        pixels = torch.from_numpy(np.stack(images)).to(device).movedim(-1, 1).float().div(255)
        layers = model.net.forward(model.scaling_layer(2 * pixels - 1))
        normal = [normalize_tensor(layers[index]) for index in range(model.L)]
        return [[layer[index : index + 1] for layer in normal] for index in range(len(images))]


def distance(model: Any, first: Sequence["torch.Tensor"], second: Sequence["torch.Tensor"]) -> float:
    """LPIPS of two images from their `features`, equal to the package's own forward pass."""
    with inference(first[0].device):
        return float(
            sum(
                weigh((one - other) ** 2).mean([2, 3])
                for weigh, one, other in zip(model.lins, first, second, strict=True)
            )
        )
