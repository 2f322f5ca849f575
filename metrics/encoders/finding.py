"""Which encoder a user means, and where its weights are."""

from os import PathLike
from pathlib import Path

from .. import model_folders
from .. import weights
from ..bertscore import named
from ..bertscore import short_name
from . import medimageinsight
from . import open_clip_model
from . import transformers_model
from .base import Found

OPEN_CLIP = "open-clip:"


def metric_name(model: str | None) -> str:
    """`mii` is the paper's encoder's cosine; another's goes by its own name.

    >>> metric_name(None), metric_name("microsoft/rad-dino"), metric_name("mine=/opt/model")
    ('mii', 'cosine[rad-dino]', 'cosine[mine]')
    >>> metric_name("lion-ai/MedImageInsights@main")
    'mii'
    >>> metric_name("owner/name@refs/pr/1")
    'cosine[name@refs-pr-1]'
    >>> metric_name("open-clip:microsoft/BiomedCLIP-PubMedBERT_256-vit_base_patch16_224")
    'cosine[BiomedCLIP-PubMedBERT_256-vit_base_patch16_224]'
    """
    if is_medimageinsight(model):
        return "mii"
    assert model is not None
    model = model.removeprefix(OPEN_CLIP)
    repo, revision = model_folders.with_revision(model)
    if repo and not Path(model).expanduser().is_dir():
        # a pull request's has slashes, and the last part of those names nothing
        model = f"{repo}@{revision.replace('/', '-')}"
    return f"cosine[{short_name(model) or model.rpartition('/')[2]}]"


def is_medimageinsight(model: str | None) -> bool:
    """Whether the paper's encoder is meant."""
    return model is None or model.partition("@")[0] in (weights.MEDIMAGEINSIGHT, medimageinsight.NAME)


def is_here(model: str | None, given: str | PathLike[str] | None) -> bool:
    """Whether the user named what is to be used on this machine: then it is looked at before anything is scored."""
    if is_medimageinsight(model):
        return given is not None
    assert model is not None
    return Path(named(model.removeprefix(OPEN_CLIP))[1]).expanduser().is_dir()


def find(model: str | None = None, given: str | PathLike[str] | None = None, offline: bool | None = None) -> Found:
    """Have an encoder on this machine, downloaded if need be.

    Args:
        model: None for MedImageInsight, at the revision that is pinned here (`lion-ai/MedImageInsights@revision` for
            another); a transformers vision model's Hub id (`owner/name`, `owner/name@revision`) or
            folder; `open-clip:` before an open_clip model's; `NAME=FOLDER` where the folder's own name says nothing.
        given: MedImageInsight's checkpoint, or the folder that holds it, where it is not to be looked for.
        offline: don't try the network; default as `weights.obtain`.

    Raises:
        weights.WeightsUnavailable: not here and not to be had.
        ValueError: no such folder, or no model in it; `given` for another model.
        FileNotFoundError: `given` names no checkpoint.
        ImportError: an extra isn't installed.
    """
    if is_medimageinsight(model):
        _, at, revision = (model or "").partition("@")
        if at and not revision:
            raise ValueError(f"model: expected a revision behind the @, got {model!r}")
        if given is not None and revision:
            raise ValueError(f"weights: expected no revision beside a checkpoint of one's own, got {model} and {given}")
        if given is not None:
            return medimageinsight.find(Path(given).expanduser())
        wanted = weights.medimageinsight(revision) if revision else "medimageinsight"
        return medimageinsight.find(weights.obtain(wanted, offline=offline))
    assert model is not None
    if given is not None:
        raise ValueError(f"weights: expected only with MedImageInsight, got {given}; name the folder of {model} itself")
    is_open_clip = model.startswith(OPEN_CLIP)
    place = named(model.removeprefix(OPEN_CLIP))[1]

    def on_hub(repo: str, revision: str | None) -> Path:
        wanted = (
            weights.hub_open_clip(repo, revision, open_clip_model.FILES)
            if is_open_clip
            else weights.hub_model(repo, revision, tier="embedding", metric="cosine", files=transformers_model.FILES)
        )
        return weights.obtain(wanted, offline=offline)

    folder = model_folders.find(place, on_hub, takes_revision=True)
    return open_clip_model.find(folder) if is_open_clip else transformers_model.find(folder)
