"""The ImageNet backbones of LPIPS: where torchvision has them, and where torch keeps them on this machine."""

import os
import sys
from pathlib import Path

# As torchvision has them (a test compares): importing it takes seconds, and only these names are needed here.
_BACKBONES = {
    "alex": "alexnet-owt-7be5be79.pth",
    "squeeze": "squeezenet1_1-b8a52dc0.pth",
    "vgg": "vgg16-397923af.pth",
}


def url(net: str) -> str:
    """Where a backbone is downloaded from."""
    return f"https://download.pytorch.org/models/{_BACKBONES[net]}"


def path_of(net: str) -> Path:
    """Where a backbone lies, or would lie, on this machine."""
    return _hub_dir() / "checkpoints" / url(net).rsplit("/", 1)[-1]


def _hub_dir() -> Path:
    """torch's `hub.get_dir()`; where torch isn't imported, and nobody can have set another, without it."""
    if "torch" in sys.modules:
        from torch import hub

        return Path(hub.get_dir())
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))).expanduser() / "hub"


def find(net: str) -> Path | None:
    """A backbone's file; None where it isn't here."""
    path = path_of(net)
    return path if path.is_file() else None


def fetch(net: str) -> Path:
    """Download a backbone.

    Raises:
        RuntimeError: what came isn't what its name says.
    """
    from torch import hub

    path = path_of(net)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The digest is part of the file's name; torch checks it and renames only a complete file into place.
    expected = path.stem.rsplit("-", 1)[-1]
    hub.download_url_to_file(url(net), str(path), hash_prefix=expected, progress=True)
    return path
