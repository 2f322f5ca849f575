"""LPIPS v0.1 (Zhang et al. 2018) through the `lpips` package, each network loaded once a process.

The package's own constructor downloads the backbone where it does not find it. Here the network is built without
weights and the backbone is read from a file that the caller names, so that nothing is fetched unasked.
"""

import hashlib
import threading
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import numpy as np

if TYPE_CHECKING:
    import torch

MIN_SIDE = {"alex": 31, "squeeze": 17, "vgg": 16}
"""Pixels below which a network has no features left to compare."""

# Pixels of one forward pass: more gains nothing on a processor (measured: 4 to 8 pairs of 256x256), much on a GPU.
_PIXELS = {"cpu": 4 * 2**16, "cuda": 64 * 2**16}

_lock = threading.Lock()
_models: dict[tuple[str, str, str], Any] = {}
_digests: dict[tuple[str, int, int], str] = {}


def weights_digest(path: Path) -> str:
    """First 16 hex digits of the SHA-256 of a weights file, read once a process while the file stays as it is."""
    status = path.stat()
    key = (str(path.resolve()), status.st_size, status.st_mtime_ns)
    if key not in _digests:
        sha = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(2**20):
                sha.update(block)
        _digests[key] = sha.hexdigest()[:16]
    return _digests[key]


def default_device() -> "torch.device":
    """The current GPU where there is one, else the processor (other accelerators lack float64)."""
    import torch

    return torch.device("cuda", torch.cuda.current_device()) if torch.cuda.is_available() else torch.device("cpu")


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
    """How many pairs of `shape` (height, width) go into one forward pass."""
    return max(1, _PIXELS.get(device.type, _PIXELS["cpu"]) // (shape[0] * shape[1]))


def distances(model: Any, first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> list[float]:
    """LPIPS of pairs; in full single precision, whatever the caller's autocast and TF32 settings are.

    Args:
        model: what `load` gave.
        first: RGB uint8 images [height, width, 3], all of one size.
        second: the same.
    """
    import torch

    device = next(model.parameters()).device
    with ExitStack() as stack:
        stack.enter_context(torch.inference_mode())
        stack.enter_context(torch.autocast(device.type, enabled=False))
        if device.type == "cuda":
            stack.enter_context(torch.backends.cudnn.flags(enabled=True, deterministic=True, allow_tf32=False))
        inputs = [
            torch.from_numpy(np.stack(images)).to(device).movedim(-1, 1).float().div(255) for images in (first, second)
        ]
        # `normalize` takes [0, 1] to [-1, 1]
        return [float(value) for value in model(*inputs, normalize=True).flatten()]
