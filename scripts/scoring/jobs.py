"""Which prediction files a `score` call means, and whose they are."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from pathlib import Path
from pathlib import PurePath
from pathlib import PurePosixPath
from typing import Any
from typing import TypeVar
from urllib.parse import urlsplit

from .. import predictions_hub
from .. import predictions_remote
from ..errors import UsageError
from ..jsonl import shorten
from ..predictions_hub import HubPath
from ..predictions_parquet import SHARD
from ..predictions_parquet import shards
from ..remote_path import AnyPath
from ..remote_path import RemotePath

P = TypeVar("P", bound=AnyPath)

CONFIGS = ("vqa", "edit", "gen")
MAX_NAME = 200
"""The most bytes of a system's name: with what is put around it (`.standard.json`) it stays a file name."""

# The public evaluator names its files <models>_vqa.jsonl, <models>_edit.jsonl, <models>_generate.jsonl.
_PUBLIC_NAME = re.compile(r"(?P<system>.+)_(?P<config>vqa|edit|gen|generate)")


@dataclass(frozen=True, slots=True)
class Job:
    """One config's predictions of one system.

    Attributes:
        path: a JSONL or Parquet file, or a folder of Parquet shards, on this machine or elsewhere.
        origin: where on the Hub it lies or was fetched from, with the commit as its revision; None elsewhere.
        given: the path that the user gave, one on the Hub with the commit that it meant.
    """

    system: str
    config: str
    path: AnyPath
    origin: HubPath | None = None
    given: str = field(default="", compare=False)

    @property
    def place(self) -> str:
        """The path as results and messages give it; of a name that is no text (other bytes than UTF-8) all is shown."""
        if self.origin is not None:
            return str(self.origin)
        if isinstance(self.path, RemotePath):
            return str(self.path)
        return os.fsencode(self.path).decode("utf-8", "backslashreplace")


def jobs(
    paths: Sequence[str | Path],
    config: str | None = None,
    system: str | None = None,
    *,
    offline: bool = False,
    download: bool = False,
) -> list[Job]:
    """Resolve what the user named.

    Predictions elsewhere are read where they lie, but for files that the Hub's cache has.

    Args:
        paths: folders `out/predictions/<system>` (every config in them), single files, folders of Parquet shards, or
            any of these in a data set of the Hub, `hf://datasets/owner/name[@revision][/path]`; or a file's https://
            address.
        config: only this config of folders; the config of files whose name doesn't say it.
        system: the system's name, where place or file name don't say it or another is wanted.
        offline: take predictions on the Hub from its cache alone.
        download: fetch predictions on the Hub into its cache first.

    Raises:
        UsageError: every path that is nothing of the kind, in one message.
    """
    found: list[Job] = []
    faults: list[str] = []
    for path in paths:
        try:
            found += [_checked(job) for job in _found(path, config, system, offline, download)]
        except UsageError as error:  # noqa: PERF203 - every bad path is reported, not the first
            faults.append(str(error))
    seen: dict[tuple[str, str], Job] = {}
    for job in found:
        other = seen.setdefault((job.system, job.config), job)
        if other.path.resolve() != job.path.resolve():
            faults.append(
                f"{job.place} and {other.place} are both {job.config} predictions of {job.system!r}; "
                f"score them in two calls with --system NAME"
            )
    if faults:
        raise UsageError("\n".join(faults))
    return list({(job.system, job.config): job for job in found}.values())


def given(todo: Sequence[Job]) -> list[str]:
    """The paths that mean these jobs again, on another process or later, though a branch on the Hub may have moved."""
    return list(dict.fromkeys(job.given for job in todo))


def sources(folder: P, config: str) -> list[P]:
    """What a folder of a system's predictions has of a config; more than one is a fault."""
    files: list[Any] = [folder / f"{config}.jsonl", folder / f"{config}.parquet"]
    found = [path for path in files if path.is_file()]
    inside: Any = folder / config
    return found + ([inside] if inside.is_dir() and any(inside.glob("*.parquet")) else [])


def _checked(job: Job) -> Job:
    """The job, if its system's name can name files.

    It becomes a folder below `out/scores` and a file in `out/results`: it must not lead out of them, nor hide there.
    """
    name = job.system
    is_sound = name.isprintable() and not name.startswith(".") and not set(name) & set("/\\")
    if not name or not is_sound or len(name.encode("utf-8", "surrogateescape")) > MAX_NAME:
        raise UsageError(
            f"{job.place}: expected a system name of 1 to {MAX_NAME} bytes, printable, without slashes and not "
            f"beginning with a full stop, got {shorten(name)}; name it with --system NAME"
        )
    return job


def _named(system: str | None, name: str) -> str:
    return name if system is None else system


def _found(path: str | Path, config: str | None, system: str | None, offline: bool, download: bool) -> list[Job]:
    if (place := predictions_hub.parse(path)) is not None:
        return _on_hub(place, config, system, offline or predictions_hub.is_offline(), download)
    if predictions_remote.is_address(path):
        if offline or download:
            raise UsageError(
                f"{'--offline' if offline else '--download'} expects predictions on this machine or the Hub, got the "
                "address of a file; download it yourself and score the file"
            )
        file, address = predictions_remote.at_address(path)
        return [
            replace(job, given=address) for job in _of(file, PurePosixPath(urlsplit(str(file)).path), config, system)
        ]
    path = Path(path)
    # A name is that of the file or folder itself, whatever link led there.
    return [replace(job, given=str(path)) for job in _of(path, path.resolve(), config, system)]


def _on_hub(place: HubPath, config: str | None, system: str | None, offline: bool, download: bool) -> list[Job]:
    wanted = CONFIGS if config is None else (config,)
    logical = PurePosixPath(place.repository, place.inside)
    if offline or download:
        fetched = predictions_hub.fetch(place, wanted, any_shards=config is not None, offline=offline)
        at = fetched.place
        made = [
            replace(job, origin=at.below(PurePosixPath(job.path.relative_to(fetched.path))))
            for job in _of(fetched.path, logical, config, system)
        ]
    else:
        found = predictions_remote.on_hub(place, wanted, any_shards=config is not None)
        at = found.place
        by_card = [Job(_named(system, logical.name), name, path) for name, path in found.configs.items()]
        made = [
            replace(job, origin=predictions_hub.parse(str(job.path)))
            for job in by_card or _of(found.path, logical, config, system)
        ]
    return [replace(job, given=str(at)) for job in made]


def _of(path: AnyPath, named: PurePath, config: str | None, system: str | None) -> list[Job]:
    """The jobs of a path.

    Args:
        path: a file or a folder.
        named: the path from whose parts names are taken: that in the Hub's cache has others.
        config: as `jobs`.
        system: as `jobs`.
    """
    if path.is_dir():
        return _of_folder(path, named, config, system)
    if not path.is_file():
        raise UsageError(f"{path}: expected a predictions folder or a JSONL or Parquet file, got nothing there")
    shard = SHARD.fullmatch(named.stem)
    if shard is not None and int(shard["count"]) > 1:
        raise UsageError(f"{path}: expected all shards, got one of {int(shard['count'])}; name the folder of them")
    stem = named.stem if shard is None else shard["split"]
    if stem in CONFIGS:
        # A file in our layout: the folder is the system.
        return [Job(_named(system, named.parent.name), config or stem, path)]
    if shard is not None and named.parent.name in CONFIGS:
        # As `push_to_hub(config_name="edit")` writes it: edit/test-00000-of-00001.parquet
        return [Job(_named(system, named.parent.parent.name), config or named.parent.name, path)]
    match = _PUBLIC_NAME.fullmatch(stem)
    name = match["system"] if match else stem
    said = {"generate": "gen"}.get(match["config"], match["config"]) if match else None
    if config is None and said is None:
        raise UsageError(
            f"{path}: expected a name that ends in _vqa, _edit or _generate, or --config, got {path.name!r}; "
            f"add --config vqa|edit|gen"
        )
    return [Job(_named(system, name), config or said or "", path)]


def _of_folder(path: AnyPath, named: PurePath, config: str | None, system: str | None) -> list[Job]:
    wanted = [config] if config is not None else list(CONFIGS)
    found = {name: sources(path, name) for name in wanted}
    for name, places in found.items():
        if len(places) > 1:
            raise UsageError(
                f"{path}: expected {name} predictions once, got {', '.join(place.name for place in places)}; name one"
            )
    inside = [Job(_named(system, named.name), name, place) for name, places in found.items() for place in places]
    if inside:
        return inside
    said = named.name if named.name in CONFIGS else None
    if (config or said) and shards(path):
        # One config's shards.
        return [Job(_named(system, named.parent.name if said else named.name), config or said or "", path)]
    names = ", ".join(f"{name}.jsonl" for name in wanted)
    raise UsageError(
        f"{path}: expected a folder with {names}, got none of them, nor .parquet files or folders of such by these "
        "names; `medgen-bench run` writes such"
    )
