"""Weights of a vision-language model on this machine: where they are, and what tells them from others."""

import re
from pathlib import Path

from .. import model_folders
from .. import weights
from ..file_digests import folder_digest

# besides the weights: what of a folder moves a reply
_SETTINGS = ("chat_template.jinja", "chat_template.json", "preprocessor_config.json", "processor_config.json")
_FILES = ["*.json", "*.txt", "*.jinja", "*.model", "*.safetensors"]


def find(model: str, *, revision: str | None = None, offline: bool | None = None, role: str = "judge") -> Path:
    """Have a model's weights on this machine, downloaded if need be.

    Args:
        model: a folder, or a Hub id.
        revision: branch, tag or commit on the Hub.
        offline: don't try the network; default as `weights.obtain`.
        role: what the model is, for messages.

    Raises:
        weights.WeightsUnavailable: not here and not to be had.
        ValueError: neither a folder nor a Hub id, or a folder with a revision.
    """
    if Path(model).expanduser().is_dir():
        if revision is not None:
            raise ValueError(f"{role}: expected no revision of a folder, got {revision!r} with {model}")
        if not (Path(model).expanduser() / "config.json").is_file():
            raise ValueError(f"{role}: {model} has no config.json; expected the folder of a transformers model")
    # a system's weights are no metric's
    metric = "holistic" if role == "judge" else ""

    def on_hub(repo: str, _: str | None) -> Path:
        wanted = weights.hub_model(repo, revision, tier=role, metric=metric, files=_FILES)
        return weights.obtain(wanted, offline=offline)

    return model_folders.find(model, on_hub, what=role)


def identity(
    model: str, *, revision: str | None = None, offline: bool | None = None, role: str = "judge"
) -> dict[str, str]:
    """What tells one model from another, whatever their folders are called. Loads nothing.

    Returns:
        `model`, the Hub id or the folder's name; `weights`, a digest of weights, tokenizer and settings by content;
        and of a model from the Hub `revision`, its commit.

    Raises:
        As `find`; ValueError: a folder without weights.
    """
    folder = find(model, revision=revision, offline=offline, role=role)
    found = {"model": folder.name if Path(model).expanduser().is_dir() else model}
    found["weights"] = folder_digest(folder, _SETTINGS)
    if (commit := commit_of(folder)) is not None:
        found["revision"] = commit
    return found


def commit_of(folder: Path) -> str | None:
    """The commit that a folder of the Hub's cache holds; None of another folder."""
    is_snapshot = re.fullmatch(r"[0-9a-f]{40}", folder.name) and folder.parent.name == "snapshots"
    return folder.name if is_snapshot else None
