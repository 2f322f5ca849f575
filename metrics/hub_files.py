"""Files of models on the Hub: where huggingface_hub keeps them on this machine, and how they get there."""

from pathlib import Path

TIMEOUT = 5.0  # seconds, to find out that a server can't be reached


def find(repo: str, revision: str | None, files: list[str]) -> Path | None:
    """The folder of what was downloaded of a repository, complete or not; never touches the network.

    Args:
        repo: `owner/name`.
        revision: branch, tag or commit; None is the main branch.
        files: patterns of what is wanted.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        return Path(snapshot_download(repo, revision=revision, local_files_only=True, allow_patterns=files))
    except (LocalEntryNotFoundError, ValueError):
        return None


def of_any_commit(repo: str, file: str) -> list[Path]:
    """A file in every commit of a repository that was downloaded."""
    return sorted(path for path in _folder(repo).glob(f"snapshots/*/{file}") if path.is_file())


def fetch(repo: str, revision: str | None, files: list[str]) -> Path:
    """Download what `find` looks for, and give its folder.

    Raises:
        Exception: whatever the client does.
    """
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(repo, revision=revision, allow_patterns=files, etag_timeout=TIMEOUT))


def fetch_file(repo: str, revision: str | None, file: str) -> Path:
    """Download one file, and give it; one that the repository lacks is an error, as it is not with `fetch`.

    Raises:
        Exception: whatever the client does.
    """
    from huggingface_hub import hf_hub_download

    return Path(hf_hub_download(repo, file, revision=revision, etag_timeout=TIMEOUT))


def url() -> str:
    """The Hub's address, or its mirror's."""
    from huggingface_hub import constants

    return str(constants.ENDPOINT)


def by_hand(repo: str, revision: str | None, files: list[str]) -> str:
    """How what `find` looks for comes onto a machine without a network."""
    folder = _folder(repo)
    chosen = "".join(f" --include '{pattern}'" for pattern in files)
    at = "" if revision is None else f" --revision {revision}"
    return (
        f"on a machine with a network run `hf download {repo}{at}{chosen}`, and copy the folder {folder.name} of its "
        f"cache (~/.cache/huggingface/hub) to {folder} here"
    )


def _folder(repo: str) -> Path:
    from huggingface_hub import constants
    from huggingface_hub.file_download import repo_folder_name

    return Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo, repo_type="model")
