"""Where a model lies that a user named: a folder on this machine, or a repository on the Hub."""

import re
from collections.abc import Callable
from pathlib import Path

from .weights import WeightsUnavailable

# What no Hub id holds, and a path does: a mistyped one is never asked for on the Hub.
_PATH = re.compile(r"(?:\.{0,2}/|~).*|.*/|.*\\.*|.*/.*/.*|\.{1,2}", re.DOTALL)


def find(
    model: str, on_hub: Callable[[str, str | None], Path], *, what: str = "model", takes_revision: bool = False
) -> Path:
    """The folder of a model, had from the Hub where there is none here.

    Args:
        model: a folder, or a Hub id (`owner/name`).
        on_hub: Hub id and revision -> the folder, downloaded if need be.
        what: the model's part, for messages.
        takes_revision: `owner/name@revision` is a Hub id too.

    Raises:
        WeightsUnavailable: not here, and `on_hub` couldn't have it.
        OSError: likewise, where `on_hub` says so by one.
        ValueError: no such folder, and what was named is no Hub id.
    """
    from huggingface_hub.utils import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    folder = Path(model).expanduser()
    if folder.is_dir():
        return folder
    if _PATH.fullmatch(model):
        raise ValueError(f"{what}: no folder {model} here")
    repo, at, revision = model.partition("@") if takes_revision else (model, "", "")
    try:
        validate_repo_id(repo)
        is_id = "/" in repo and (not at or re.fullmatch(r"[\w.-]+", revision) is not None)
    except HFValidationError:
        is_id = False
    if not is_id:
        raise ValueError(f"{what}: {model!r} is neither a folder here nor a Hub id (owner/name)")
    try:
        return on_hub(repo, revision or None)
    except WeightsUnavailable as error:
        raise WeightsUnavailable(f"no folder {model} here, and {error.problem}", error.remedy) from error
    except OSError as error:
        raise OSError(f"no folder {model} here, and on the Hub: {error}") from error
