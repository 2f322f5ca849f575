"""Model weights that a tier needs: where they come from, whether they are here, and how to get them.

Nothing is loaded here. `find` never touches the network; `fetch` does, after one short look whether the server can be
reached, so that a machine without a network learns it in seconds.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace
from pathlib import Path

from . import backbones
from . import hub_files
from .file_digests import file_digest
from .hub_files import TIMEOUT

UNTRIED = "offline is set"  # in messages of weights that no download was tried for


class WeightsUnavailable(Exception):
    """Weights that are not here and can't be had; the message says what to get and where to put it.

    Attributes:
        problem: the message without its remedy.
        remedy: what to do about it; empty where nothing is known.
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(f"{problem}; {remedy}" if remedy else problem)
        self.problem = problem
        self.remedy = remedy


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


# --- models on the Hub ------------------------------------------------------------------------------------------------

PUBMEDBERT = "microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract"
# Only one format of the weights is needed, and never another framework's.
_ENCODER_FILES = ["*.json", "*.txt", "*.safetensors", "pytorch_model.bin"]

MEDIMAGEINSIGHT = "lion-ai/MedImageInsights"
MEDIMAGEINSIGHT_FILE = "2024.09.27/vision_model/medimageinsigt-v1.0.0.pt"  # (sic); both towers in one file
# The commit that brought the file, its last by the Hub's pages, and the digest of its 2,464,060,700 bytes, as
# its Git LFS pointer has it in a clone of the repository, https://github.com/AlphaHinex/MedImageInsights.
MEDIMAGEINSIGHT_REVISION = "adbf56fbb71503acf853bf26c136254a10b6c56b"
MEDIMAGEINSIGHT_SHA256 = "5eeda63bf616a61664bc95b2c09d3b3d7125209e635678bd3f5f324e9bdb1414"


def _on_hub(
    repo: str,
    files: list[str],
    is_complete: Callable[[Path], bool],
    *,
    tier: str,
    metric: str,
    revision: str | None = None,
) -> Weights:
    """Of a repository on the Hub the files of some patterns; its size and licence are its card's affair."""

    def find() -> Path | None:
        folder = hub_files.find(repo, revision, files)
        return folder if folder is not None and is_complete(folder) else None

    return Weights(
        name=repo if revision is None else f"{repo}@{revision}",
        tier=tier,
        metric=metric,
        origin=f"Hugging Face Hub {repo}",
        megabytes=0,
        licence="see its card",
        find=find,
        fetch=lambda: hub_files.fetch(repo, revision, files),
        url=hub_files.url,
        by_hand=lambda: hub_files.by_hand(repo, revision, files),
    )


def hub_encoder(repo: str) -> Weights:
    """A text encoder of the user's choice on the Hub; its size and licence are its repository's affair."""

    def is_complete(folder: Path) -> bool:
        return (folder / "config.json").is_file() and any(folder.glob("*model*"))

    return _on_hub(repo, _ENCODER_FILES, is_complete, tier="text", metric="bertscore")


def hub_model(repo: str, revision: str | None, *, tier: str, metric: str, files: list[str]) -> Weights:
    """A model of the user's choice on the Hub, its safetensors in one file or in shards.

    Args:
        repo: `owner/name`.
        revision: branch, tag or commit; None is the main branch.
        tier: what needs it.
        metric: what of the tier.
        files: patterns of what is downloaded.
    """

    def is_complete(folder: Path) -> bool:
        if not (folder / "config.json").is_file():
            return False
        index = folder / "model.safetensors.index.json"
        if not index.is_file():
            return (folder / "model.safetensors").is_file()
        shards = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        return all((folder / shard).is_file() for shard in shards)

    return _on_hub(repo, files, is_complete, tier=tier, metric=metric, revision=revision)


def hub_open_clip(repo: str, revision: str | None, files: list[str]) -> Weights:
    """An open_clip model of the user's choice on the Hub.

    Args:
        repo: `owner/name`.
        revision: branch, tag or commit; None is the main branch.
        files: patterns of what is downloaded.
    """

    def is_complete(folder: Path) -> bool:
        return (folder / "open_clip_config.json").is_file() and any(folder.glob("*_model.*"))

    return _on_hub(repo, files, is_complete, tier="embedding", metric="cosine", revision=revision)


def medimageinsight(revision: str = MEDIMAGEINSIGHT_REVISION) -> Weights:
    """MedImageInsight: of its repository one file, which is given, not its folder.

    Args:
        revision: branch, tag or commit.
    """
    found = _on_hub(
        MEDIMAGEINSIGHT,
        [MEDIMAGEINSIGHT_FILE],
        lambda folder: (folder / MEDIMAGEINSIGHT_FILE).is_file(),
        tier="embedding",
        metric="mii",
        revision=revision,
    )
    is_pinned = revision == MEDIMAGEINSIGHT_REVISION

    def find() -> Path | None:
        folder = found.find()
        if folder is not None:
            return folder / MEDIMAGEINSIGHT_FILE
        if is_pinned:
            # of another commit, as `hf download` leaves it, the same file serves
            for path in hub_files.of_any_commit(MEDIMAGEINSIGHT, MEDIMAGEINSIGHT_FILE):
                if file_digest(path) == MEDIMAGEINSIGHT_SHA256:
                    return path
        return None

    return replace(
        found,
        name="medimageinsight" if is_pinned else found.name,
        origin=f"Hugging Face Hub {MEDIMAGEINSIGHT}, {MEDIMAGEINSIGHT_FILE}",
        megabytes=2464,
        licence="MIT",
        find=find,
        fetch=lambda: hub_files.fetch_file(MEDIMAGEINSIGHT, revision, MEDIMAGEINSIGHT_FILE),
    )


# --- what the metrics need --------------------------------------------------------------------------------------------


def _lpips(net: str, megabytes: int) -> Weights:
    return Weights(
        name=f"lpips-{net}",
        tier="pixel",
        metric="lpips",
        origin=f"torchvision ImageNet backbone ({net}); the linear heads ship with the lpips package",
        megabytes=megabytes,
        licence="BSD-3-Clause",
        find=lambda: backbones.find(net),
        fetch=lambda: backbones.fetch(net),
        url=lambda: backbones.url(net),
        by_hand=lambda: (
            f"get {backbones.url(net)} ({megabytes} MB) on a machine with a network and put it here as "
            f"{backbones.path_of(net)}"
        ),
    )


REGISTRY: dict[str, Weights] = {
    weights.name: weights
    for weights in (
        _lpips("alex", 244),
        _lpips("squeeze", 5),
        _lpips("vgg", 553),
        replace(hub_encoder(PUBMEDBERT), name="pubmedbert", megabytes=441, licence="MIT"),
        medimageinsight(),
    )
}


def obtain(which: str | Weights, *, offline: bool | None = None) -> Path:
    """The local path of weights, downloaded if need be.

    Args:
        which: a key of `REGISTRY`, or the weights themselves, e.g. `hub_model`'s.
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
        raise WeightsUnavailable(f"weights {name} are not on this machine, and {UNTRIED}", remedy)
    if not reachable(weights.url()):
        raise WeightsUnavailable(
            f"weights {name} are not on this machine, and {weights.url()} can't be reached", remedy
        )
    try:
        return weights.fetch()
    except Exception as error:  # any client's failure means the same to the caller
        raise WeightsUnavailable(f"weights {name} could not be downloaded: {error}", remedy) from error
