"""Where a model lies that a user named: a folder on this machine, or a repository on the Hub."""

import re
from collections.abc import Callable
from pathlib import Path

from .weights import WeightsUnavailable

# What no Hub id holds, and a path does: a mistyped one is never asked for on the Hub.
_PATH = re.compile(r"(?:\.{0,2}/|~).*|.*/|.*\\.*|.*/.*/.*|\.{1,2}", re.DOTALL)
# Branch, tag or commit; a pull request's has slashes: refs/pr/1.
_REVISION = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*")


def with_revision(model: str) -> tuple[str, str]:
    """The parts of `owner/name@revision`; ("", "") of anything else.

    >>> with_revision("owner/name@refs/pr/1"), with_revision("owner/name"), with_revision("./name@main")
    (('owner/name', 'refs/pr/1'), ('', ''), ('', ''))
    """
    repo, _, revision = model.partition("@")
    is_id = "/" in repo and _PATH.fullmatch(repo) is None and _REVISION.fullmatch(revision) is not None
    return (repo, revision) if is_id else ("", "")


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
    repo, revision = with_revision(model) if takes_revision else ("", "")
    if not repo:
        repo = model
        if _PATH.fullmatch(model):
            raise ValueError(f"{what}: no folder {model} here")
    try:
        validate_repo_id(repo)
        is_id = "/" in repo
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
