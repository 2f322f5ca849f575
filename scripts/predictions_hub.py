"""Predictions in a data set of the Hugging Face Hub: what a `hf://` path means, and how the Hub's own cache has it."""

import re
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pathlib import PurePath
from pathlib import PurePosixPath
from pathlib import PureWindowsPath
from typing import NamedTuple
from urllib.parse import quote
from urllib.parse import unquote

from medgen_metrics.failures import is_error_text

from .atomic import write_text
from .errors import UsageError
from .jsonl import Findings
from .jsonl import shorten
from .predictions import rows_of

THREADS = 8
REMEDY = "check its name and revision, HF_TOKEN if it is private, and the connection"
PATIENCE = 10  # seconds to wait for the Hub's first answer; the library itself asks for minutes

# Of `hf://` a `Path` keeps one slash.
_SCHEME = re.compile(r"hf:/+")
_PLACE = re.compile(
    r"hf://datasets/(?P<repository>[\w.-]+/[\w.-]+)(?:@(?P<revision>refs/[\w-]+/[^/]+|[^/]+))?(?:/(?P<inside>.*))?"
)


@dataclass(frozen=True, slots=True)
class HubPath:
    """`hf://datasets/owner/name[@revision][/path]`.

    Attributes:
        repository: `owner/name` of a data set.
        revision: branch, tag or commit; None for the default branch.
        inside: a file or folder in it, "" for all of it.
    """

    repository: str
    revision: str | None = None
    inside: str = ""

    def below(self, name: PurePath) -> "HubPath":
        """A file or folder in this one."""
        inside = PurePosixPath(self.inside, name).as_posix()
        return HubPath(self.repository, self.revision, "" if inside == "." else inside)

    def __str__(self) -> str:
        revision = self.revision or ""
        # Of revisions with slashes the Hub itself writes only those of `refs` plainly.
        revision = revision and f"@{quote(revision, safe='/' if revision.startswith('refs/') else '')}"
        return f"hf://datasets/{self.repository}{revision}" + (f"/{self.inside}" if self.inside else "")


def parse(path: str | Path) -> HubPath | None:
    """What a path on the Hub means; None for a path of this machine.

    Raises:
        UsageError: it begins like one on the Hub and is none of a data set.
    """
    text = path if isinstance(path, str) else path.as_posix()
    scheme = _SCHEME.match(text)
    if scheme is None:
        return None
    text = f"hf://{text[scheme.end() :]}"
    match = _PLACE.fullmatch(text)
    parts = [part for part in ((match and match["inside"]) or "").split("/") if part not in ("", ".")]
    if match is None or ".." in parts:
        raise UsageError(
            f"{text}: expected a data set's hf://datasets/OWNER/NAME, with @REVISION and /PATH (no '..') where needed"
        )
    revision = match["revision"]
    return HubPath(match["repository"], None if revision is None else unquote(revision), "/".join(parts))


class Fetched(NamedTuple):
    """What a path on the Hub means on this machine.

    Attributes:
        path: the file or folder in the Hub's cache.
        place: the same path at its commit.
    """

    path: Path
    place: HubPath


class Listing(NamedTuple):
    """A revision of a repository.

    Attributes:
        commit: its commit.
        files: the files in it, with size and SHA-256 ("" where the Hub keeps none); offline those in the cache, with
            neither.
        folder: offline, their folder in the cache.
    """

    commit: str
    files: Mapping[str, tuple[int, str]]
    folder: Path | None


def fetch(place: HubPath, configs: Sequence[str], any_shards: bool, offline: bool = False) -> Fetched:
    """Download the predictions that a path means, and the images that they name.

    Args:
        place: a file, or a folder with `<config>.jsonl`, `<config>.parquet` or `<config>/*.parquet`, or the folder of
            one config's shards.
        configs: those that are wanted of a folder.
        any_shards: take Parquet files that lie in the folder itself, whatever it is called.
        offline: ask nobody; take what the cache has.

    Raises:
        UsageError: no such repository, revision or file, or it can't be reached.
    """
    listing = look(place, offline)
    offline = listing.folder is not None
    wanted = choose(place, listing.files, configs, any_shards)
    folder = _download(place, listing, wanted, offline)
    images, absent = set[str](), list[str]()
    for file in wanted:
        for name in _image_names(folder / file):
            found = [path for path in _places(file, name) if path in listing.files]
            images.update(found[:1])
            absent += [] if found else [name]
    if offline and absent:
        # Nothing tells an image that the system did not produce from one that was not downloaded.
        raise UsageError(
            f"{place}: offline, and {len(absent)} images that it names are not in the Hub's cache (the first is "
            f"{shorten(absent[0])}); run once without --offline and HF_HUB_OFFLINE"
        )
    _download(place, listing, sorted(images), offline)
    if not offline and place.revision != listing.commit:
        # What the revision means now, as the library itself would note it: offline it is found again.
        write_text(folder.parent.parent / "refs" / (place.revision or "main"), listing.commit)
    return Fetched(folder / place.inside, HubPath(place.repository, listing.commit, place.inside))


def is_offline() -> bool:
    """Whether the environment says that nobody is to be asked."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def look(place: HubPath, offline: bool) -> Listing:
    """The repository at the revision that a path means.

    Raises:
        UsageError: there is none, or it can't be reached.
    """
    from huggingface_hub import HfApi
    from huggingface_hub import snapshot_download

    repository, revision = place.repository, place.revision
    if offline or is_offline():
        with told(place, "offline, and the Hub's cache has not got it; run once without --offline and HF_HUB_OFFLINE"):
            folder = Path(snapshot_download(repository, repo_type="dataset", revision=revision, local_files_only=True))
        files = (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        return Listing(folder.name, dict.fromkeys(files, (0, "")), folder)
    with told(place, REMEDY):
        info = HfApi().dataset_info(repository, revision=revision, timeout=PATIENCE, files_metadata=True)
    known = {file.rfilename: (file.size or 0, file.lfs.sha256 if file.lfs else "") for file in info.siblings or ()}
    return Listing(str(info.sha), known, None)


@contextmanager
def told(place: HubPath, remedy: str) -> Iterator[None]:
    """Turns what the Hub's library raises into one message; the types differ between its versions and have no base."""
    try:
        yield
    except Exception as error:
        cause = shorten(" ".join(str(error).split()), 200)
        raise UsageError(f"{place}: can't be had: {type(error).__name__}: {cause}; {remedy}") from error


def choose(place: HubPath, files: Iterable[str], configs: Sequence[str], any_shards: bool) -> list[str]:
    """The predictions files that a path means, as `fetch`, by their names.

    Raises:
        UsageError: there are none.
    """
    if place.inside in files:
        return [place.inside]
    top = f"{place.inside}/" if place.inside else ""
    names = {f"{top}{config}.{ending}" for config in configs for ending in ("jsonl", "parquet")}
    folders = {f"{top}{config}" for config in configs}
    found = [name for name in files if name in names or (_is_shard(name) and _folder(name) in folders)]
    if not found and (any_shards or PurePosixPath(place.inside).name in configs):
        found = [name for name in files if _is_shard(name) and _folder(name) == place.inside]
    if not found:
        there = sorted({name[len(top) :].split("/")[0] for name in files if name.startswith(top)})
        raise UsageError(
            f"{place}: expected a predictions file, or a folder with one of {', '.join(configs)} as .jsonl, .parquet "
            f"or a folder of Parquet files, got {', '.join(map(shorten, there[:12])) or 'nothing there'}"
        )
    return sorted(found)


def _is_shard(name: str) -> bool:
    return name.endswith(".parquet") and not PurePosixPath(name).name.startswith(".")


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _image_names(file: Path) -> set[str]:
    """The image paths that a file's rows give: outputs, and inputs where a row has no id to be joined by.

    Without those that the reader refuses, and without error sentences.
    """
    found = set[str]()
    for _, row in rows_of(file, Findings(file, "predictions")):
        keys = ["image", "output_image"]
        keys += [] if row.get("id") or row.get("sample_id") else ["input_image", "input_images"]
        for value in map(row.get, keys):
            found.update(name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str))
    return {name for name in found if name and not is_error_text(name) and not _leads_out(name)}


def _leads_out(name: str) -> bool:
    windows = PureWindowsPath(name)
    return ".." in windows.parts or bool(windows.drive or windows.root)


def _places(file: str, name: str) -> list[str]:
    """Where in the repository an image may lie: in the file's folder, then in that folder's parent."""
    folder = PurePosixPath(file).parent
    return list(dict.fromkeys(str(place / name) for place in (folder, folder.parent)))


def _download(place: HubPath, listing: Listing, names: Sequence[str], offline: bool) -> Path:
    """The revision's folder in the cache, with these files."""
    from huggingface_hub import hf_hub_download

    def one(name: str) -> Path:
        with told(
            HubPath(place.repository, place.revision, name),
            "run once without --offline and HF_HUB_OFFLINE" if offline else "run again: what is here is kept",
        ):
            path = hf_hub_download(
                place.repository, name, repo_type="dataset", revision=listing.commit, local_files_only=offline
            )
        return Path(path).parents[len(PurePosixPath(name).parts) - 1]

    with ThreadPoolExecutor(THREADS) as pool:
        folders = list(pool.map(one, names))
    return folders[0] if folders else Path()
