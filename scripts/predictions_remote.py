"""Predictions read where they lie, on the Hub or at an https:// address, a piece at a time and nothing on disk."""

import re
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from . import remote_file
from .errors import UsageError
from .jsonl import shorten
from .predictions_hub import REMEDY
from .predictions_hub import HubPath
from .predictions_hub import choose
from .predictions_hub import look
from .predictions_hub import told
from .remote_file import RemoteFile
from .remote_path import RemotePath
from .remote_path import Tree

# Of `https://` a `Path` keeps one slash.
_ADDRESS = re.compile(r"(https?):/+", re.IGNORECASE)


class Found(NamedTuple):
    """What a path on the Hub means.

    Attributes:
        path: the file or folder.
        place: the same path at its commit.
        configs: config -> its predictions, where the data set's card and not their names say which they are.
    """

    path: RemotePath
    place: HubPath
    configs: Mapping[str, RemotePath]


def on_hub(place: HubPath, configs: Sequence[str], any_shards: bool) -> Found:
    """Look up predictions on the Hub; only the list of the repository's files is fetched, and maybe its card.

    Args:
        place: as `predictions_hub.fetch`; or a data set whose card says which files are a config's.
        configs: those that are wanted.
        any_shards: one config is wanted by name: Parquet files of the folder itself are its, and the only config of a
            card is.

    Raises:
        UsageError: no such repository, revision or file, or it can't be reached.
    """
    listing = look(place, False)
    at = HubPath(place.repository, listing.commit, place.inside)
    tree = _tree(at, listing.files)
    found = Found(RemotePath(tree, place.inside), at, {})
    try:
        choose(place, listing.files, configs, any_shards)
    except UsageError:
        if place.inside or not _has_configs(at, tree) or not (said := _of_card(at, tree, configs, any_shards)):
            raise
        return found._replace(configs=said)
    return found


def _tree(at: HubPath, files: Mapping[str, tuple[int, str]]) -> Tree:
    from huggingface_hub import hf_hub_url
    from huggingface_hub import try_to_load_from_cache

    root = HubPath(at.repository, at.revision)
    commit = str(at.revision)

    def file(name: str, size: int, sha256: str) -> RemoteFile:
        url = hf_hub_url(at.repository, name, repo_type="dataset", revision=commit)
        return RemoteFile(f"{root}/{name}", url, size, sha256, is_hub=True)

    def cached(name: str) -> Path | None:
        there = try_to_load_from_cache(at.repository, name, repo_type="dataset", revision=commit)
        return Path(there) if isinstance(there, str) else None

    return Tree(str(root), {name: file(name, *known) for name, known in files.items()}, cached)


def _has_configs(at: HubPath, tree: Tree) -> bool:
    """Whether the data set's card lists configs."""
    from huggingface_hub import DatasetCard

    card = RemotePath(tree, "README.md")
    if not card.is_file():
        return False
    with card.open() as file, told(at.below(PurePosixPath("README.md")), "mend its YAML, or name a file"):
        return bool(DatasetCard(file.read().decode("utf-8", "replace")).data.get("configs"))


def _of_card(at: HubPath, tree: Tree, wanted: Sequence[str], is_any: bool) -> dict[str, RemotePath]:
    """Config -> predictions, as `datasets.load_dataset` would find them: by the card's `configs`, or usual names."""
    import datasets

    with told(at, REMEDY):
        names = datasets.get_dataset_config_names(at.repository, revision=at.revision)
    ours = {name: name for name in wanted if name in names}
    if not ours and is_any and len(names) == 1:
        ours = {wanted[0]: names[0]}
    found = {}
    for config, name in ours.items():
        with told(at, REMEDY):
            builder = datasets.load_dataset_builder(at.repository, name, revision=at.revision)
        splits = builder.config.data_files or {}
        split = "test" if "test" in splits else next(iter(splits), "")
        if len(splits) != 1 and split != "test":
            raise UsageError(
                f"{at}: config {shorten(name)}: expected one split or one called test, got "
                f"{', '.join(map(shorten, splits)) or 'none'}; name the folder or file of one"
            )
        top = f"{at}/"
        files = sorted(str(file).removeprefix(top) for file in splits[split])
        found[config] = _together(at, name, files, tree)
    return found


def _together(at: HubPath, name: str, files: Sequence[str], tree: Tree) -> RemotePath:
    """A config's files as one path: a JSONL file, or the folder of Parquet files, without what else lies there."""
    unknown = [file for file in files if file not in tree.files or not file.endswith((".parquet", ".jsonl"))]
    folders = {file.rpartition("/")[0] for file in files}
    if unknown or len(folders) > 1 or (len(files) > 1 and any(file.endswith(".jsonl") for file in files)):
        raise UsageError(
            f"{at}: config {shorten(name)}: expected Parquet files in one folder, or one JSONL file, got "
            f"{', '.join(map(shorten, unknown[:3] or files[:3]))}; `push_to_hub` of `datasets` writes Parquet"
        )
    if files[0].endswith(".jsonl"):
        return RemotePath(tree, files[0])
    kept = {file: there for file, there in tree.files.items() if file in files or not file.endswith(".parquet")}
    return RemotePath(Tree(tree.place, kept, tree.cached), folders.pop())


def is_address(path: str | Path) -> bool:
    """Whether a path is an address on the web."""
    return _ADDRESS.match(path if isinstance(path, str) else path.as_posix()) is not None


def at_address(path: str | Path) -> tuple[RemotePath, str]:
    """The file at an https:// address, and the whole address, with what `RemoteFile.place` keeps to itself.

    Raises:
        UsageError: there is none, or it can't be read by ranges.
    """
    text = path if isinstance(path, str) else path.as_posix()
    url = _ADDRESS.sub(lambda scheme: f"{scheme[1].lower()}://", text, count=1)
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:  # whose message may show user and password
        scheme = url.partition(":")[0]
        raise UsageError(f"{scheme}://…: expected the address of a file, got an impossible host or port") from None
    name = PurePosixPath(parts.path).name
    if not host or not name:
        raise UsageError(f"{parts.scheme}://{host or ''}…: expected the address of a file")
    file = remote_file.at(url)
    return RemotePath(Tree(file.place.rpartition("/")[0], {name: file}), name), url
