"""Finding the JSONL layouts below a folder, by looking."""

import os
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from . import folder
from . import prepared
from .common import config_of_format
from .files import Shard
from .paths import allowed_roots


@dataclass
class Found:
    """What there is below a folder.

    Attributes:
        shards: files of records.
        strangers: files of a prepared view's name that hold no records, with the reason.
        problems: files that can't be read.
        differences: where a manifest states other files or numbers of records.
    """

    shards: list[Shard] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def find(top: Path) -> Found:
    """The files of both layouts at any depth below `top`; links between folders are not followed."""
    found = Found()
    allowed = allowed_roots(top)
    for here, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(here, name) for name in sorted({folder.FILE, *prepared.FILES} & set(files))):
            name = path.relative_to(top)
            config = config_of_format(path.parents[1].name) if path.name == folder.FILE else None
            if path.name == folder.FILE and config is None:
                continue
            if not any(path.resolve().is_relative_to(root) for root in allowed):
                found.problems.append(f"{name}: a link out of the folder, to {path.resolve()}; copy the file instead")
            elif config is not None:
                found.shards.append(Shard(path, config, "folder"))
            elif prepared.is_data(path):
                found.shards.append(Shard(path, prepared.FILES[path.name], "prepared"))
                # A copy of the data that the view was made from, where there usually is a link.
                folders[:] = [name for name in folders if name != "source"]
            else:
                found.strangers.append(f"{name} (not records with instruction and input images)")
    for root in sorted({shard.root for shard in found.shards if shard.layout == "folder"}):
        try:
            found.differences.extend(folder.differences(root))
        except ValueError as error:  # noqa: PERF203
            found.problems.append(str(error))
    return found
