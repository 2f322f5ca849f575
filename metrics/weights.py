"""Model weights that a tier needs: where they come from, whether they are here, and how to get them.

Nothing is loaded here. `find` never touches the network; `fetch` does, after one short look whether the server can be
reached, so that a machine without a network learns it in seconds.
"""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 5.0  # seconds, to find out that a server can't be reached


class WeightsUnavailable(Exception):
    """Weights that are not here and can't be had; the message says what to get and where to put it.

    Attributes:
        problem: the message without its remedy.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}; {remedy}" if remedy else problem)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Weights:
    """One set of weights.

    Attributes:
        name: how the command line and signatures call it.
        tier, metric: what needs it.
        origin: where it comes from, for a person.
        megabytes: download size.
        licence: of the weights.
        find: the local file or folder, or None. Never touches the network.
        fetch: download (resumable where the client is) and return the local path.
        url: what is probed before a download.
        by_hand: how they come onto a machine without a network: what to get, and where to put it. No network.
    """

    name: str
    tier: str
    metric: str
    origin: str
    megabytes: int
    licence: str
    find: Callable[[], Path | None]
    fetch: Callable[[], Path]
    url: Callable[[], str]
    by_hand: Callable[[], str]


def is_offline() -> bool:
    """Whether the user asked for no network (`MEDGEN_OFFLINE`, or huggingface_hub's `HF_HUB_OFFLINE`)."""
    return any(
        os.environ.get(name, "").upper() in {"1", "ON", "YES", "TRUE"} for name in ("MEDGEN_OFFLINE", "HF_HUB_OFFLINE")
    )


def reachable(url: str) -> bool:
    """Whether the server of `url` answers at all within `TIMEOUT` seconds (any status; proxies are honoured)."""
    import requests

    try:
        requests.head(url, timeout=TIMEOUT, allow_redirects=False)
    except requests.RequestException:
        return False
    return True


# --- torchvision backbones of LPIPS ---------------------------------------------------------------------------------


# As torchvision has them (a test compares): importing it takes seconds, and only these names are needed here.
_BACKBONES = {
    "alex": "alexnet-owt-7be5be79.pth",
    "squeeze": "squeezenet1_1-b8a52dc0.pth",
    "vgg": "vgg16-397923af.pth",
}


def _backbone_url(net: str) -> str:
    return f"https://download.pytorch.org/models/{_BACKBONES[net]}"


def _backbone_path(net: str) -> Path:
    return _hub_dir() / "checkpoints" / _backbone_url(net).rsplit("/", 1)[-1]


def _hub_dir() -> Path:
    """torch's `hub.get_dir()`; where torch isn't imported, and nobody can have set another, without it."""
    if "torch" in sys.modules:
        from torch import hub

        return Path(hub.get_dir())
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return Path(os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))).expanduser() / "hub"


def _find_backbone(net: str) -> Path | None:
    path = _backbone_path(net)
    return path if path.is_file() else None


def _fetch_backbone(net: str) -> Path:
    from torch import hub

    path = _backbone_path(net)
    path.parent.mkdir(parents=True, exist_ok=True)
    # The digest is part of the file's name; torch checks it and renames only a complete file into place.
    expected = path.stem.rsplit("-", 1)[-1]
    hub.download_url_to_file(_backbone_url(net), str(path), hash_prefix=expected, progress=True)
    return path


# --- encoders on the Hub --------------------------------------------------------------------------------------------

PUBMEDBERT = "microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract"
# Only one format of the weights is needed, and never another framework's.
_ENCODER_FILES = ["*.json", "*.txt", "*.safetensors", "pytorch_model.bin"]


MEDIMAGEINSIGHT = "lion-ai/MedImageInsights"
MEDIMAGEINSIGHT_FILE = "2024.09.27/vision_model/medimageinsigt-v1.0.0.pt"  # (sic); both towers in one file


def _find_medimageinsight() -> Path | None:
    folder = _snapshot(MEDIMAGEINSIGHT, None, [MEDIMAGEINSIGHT_FILE])
    path = None if folder is None else folder / MEDIMAGEINSIGHT_FILE
    return path if path is not None and path.is_file() else None


def _fetch_medimageinsight() -> Path:
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(MEDIMAGEINSIGHT, MEDIMAGEINSIGHT_FILE, etag_timeout=TIMEOUT))


def _find_encoder(repo: str) -> Path | None:
    folder = _snapshot(repo, None, _ENCODER_FILES)
    complete = folder is not None and (folder / "config.json").is_file() and any(folder.glob("*model*"))
    return folder if complete else None


def _snapshot(repo: str, revision: str | None, files: list[str]) -> Path | None:
    """The folder of what was downloaded of a repository, complete or not."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repo, revision=revision, local_files_only=True, allow_patterns=files))
    except (LocalEntryNotFoundError, ValueError):
        return None


def _hub_by_hand(repo: str, revision: str | None, files: list[str]) -> str:
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    folder = repo_folder_name(repo_id=repo, repo_type="model")
    chosen = "".join(f" --include '{pattern}'" for pattern in files)
    at = "" if revision is None else f" --revision {revision}"
    return (
        f"on a machine with a network run `hf download {repo}{at}{chosen}`, and copy the folder {folder} of its cache "
        f"(~/.cache/huggingface/hub) to {Path(constants.HF_HUB_CACHE) / folder} here"
    )


def _fetch_encoder(repo: str) -> Path:
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(repo, allow_patterns=_ENCODER_FILES, etag_timeout=TIMEOUT))


def _hub_url() -> str:
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


def _lpips(net: str, megabytes: int) -> Weights:
    return Weights(
        name=f"lpips-{net}",
        tier="pixel",
        metric="lpips",
        origin=f"torchvision ImageNet backbone ({net}); the linear heads ship with the lpips package",
        megabytes=megabytes,
        licence="BSD-3-Clause",
        find=lambda: _find_backbone(net),
        fetch=lambda: _fetch_backbone(net),
        url=lambda: _backbone_url(net),
        by_hand=lambda: (
            f"get {_backbone_url(net)} ({megabytes} MB) on a machine with a network and put it here as "
            f"{_backbone_path(net)}"
        ),
    )


def hub_encoder(repo: str) -> Weights:
    """A text encoder of the user's choice on the Hub; its size and licence are its repository's affair."""
    return Weights(
        name=repo,
        tier="text",
        metric="bertscore",
        origin=f"Hugging Face Hub {repo}",
        megabytes=0,
        licence="see its card",
        find=lambda: _find_encoder(repo),
        fetch=lambda: _fetch_encoder(repo),
        url=_hub_url,
        by_hand=lambda: _hub_by_hand(repo, None, _ENCODER_FILES),
    )


def hub_model(repo: str, revision: str | None, *, tier: str, metric: str, files: list[str]) -> Weights:
    """A model of the user's choice on the Hub, its safetensors in one file or in shards.

    Args:
        repo: `owner/name`.
        revision: branch, tag or commit; None is the main branch.
        tier: what needs it.
        metric: what of the tier.
        files: patterns of what is downloaded.
    """

    def find() -> Path | None:
        folder = _snapshot(repo, revision, files)
        if folder is None or not (folder / "config.json").is_file():
            return None
        index = folder / "model.safetensors.index.json"
        if not index.is_file():
            return folder if (folder / "model.safetensors").is_file() else None
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return folder if all((folder / shard).is_file() for shard in shards) else None

    def fetch() -> Path:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(repo, revision=revision, allow_patterns=files, etag_timeout=TIMEOUT))

    return Weights(
        name=repo if revision is None else f"{repo}@{revision}",
        tier=tier,
        metric=metric,
        origin=f"Hugging Face Hub {repo}",
        megabytes=0,
        licence="see its card",
        find=find,
        fetch=fetch,
        url=_hub_url,
        by_hand=lambda: _hub_by_hand(repo, revision, files),
    )


def hub_open_clip(repo: str, files: list[str]) -> Weights:
    """An open_clip model of the user's choice on the Hub.

    Args:
        repo: `owner/name`.
        files: patterns of what is downloaded.
    """

    def find() -> Path | None:
        folder = _snapshot(repo, None, files)
        complete = folder is not None and (folder / "open_clip_config.json").is_file() and any(folder.glob("*_model.*"))
        return folder if complete else None

    def fetch() -> Path:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(repo, allow_patterns=files, etag_timeout=TIMEOUT))

    return Weights(
        name=repo,
        tier="embedding",
        metric="cosine",
        origin=f"Hugging Face Hub {repo}",
        megabytes=0,
        licence="see its card",
        find=find,
        fetch=fetch,
        url=_hub_url,
        by_hand=lambda: _hub_by_hand(repo, None, files),
    )


REGISTRY: dict[str, Weights] = {
    weights.name: weights
    for weights in (
        _lpips("alex", 244),
        _lpips("squeeze", 5),
        _lpips("vgg", 553),
        Weights(
            name="pubmedbert",
            tier="text",
            metric="bertscore",
            origin=f"Hugging Face Hub {PUBMEDBERT}",
            megabytes=441,
            licence="MIT",
            find=lambda: _find_encoder(PUBMEDBERT),
            fetch=lambda: _fetch_encoder(PUBMEDBERT),
            url=_hub_url,
            by_hand=lambda: _hub_by_hand(PUBMEDBERT, None, _ENCODER_FILES),
        ),
        Weights(
            name="medimageinsight",
            tier="embedding",
            metric="mii",
            origin=f"Hugging Face Hub {MEDIMAGEINSIGHT}, {MEDIMAGEINSIGHT_FILE}",
            megabytes=2464,
            licence="MIT",
            find=_find_medimageinsight,
            fetch=_fetch_medimageinsight,
            url=_hub_url,
            by_hand=lambda: _hub_by_hand(MEDIMAGEINSIGHT, None, [MEDIMAGEINSIGHT_FILE]),
        ),
    )
}


def obtain(which: str | Weights, *, offline: bool | None = None) -> Path:
    """The local path of weights, downloaded if need be.

    Args:
        which: a key of `REGISTRY`, or what `hub_encoder` gives.
        offline: don't try the network; default `is_offline()`.

    Raises:
        WeightsUnavailable: not here and not to be had.
    """
    weights = REGISTRY[which] if isinstance(which, str) else which
    name = weights.name
    path = weights.find()
    if path is not None:
        return path
    if name in REGISTRY:
        size = f"{weights.megabytes} MB, {weights.origin}"
        remedy = f"`medgen-bench weights fetch {name}` gets them where there is a network ({size})"
    else:
        remedy = f"name a folder that holds them, or {weights.by_hand()}"
    if is_offline() if offline is None else offline:
        raise WeightsUnavailable(f"weights {name} are not on this machine, and offline is set", remedy)
    if not reachable(weights.url()):
        raise WeightsUnavailable(
            f"weights {name} are not on this machine, and {weights.url()} can't be reached", remedy
        )
    try:
        return weights.fetch()
    except Exception as error:  # any client's failure means the same to the caller
        raise WeightsUnavailable(f"weights {name} could not be downloaded: {error}", remedy) from error
