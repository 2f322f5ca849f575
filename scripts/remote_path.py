"""Paths among files elsewhere, in the manner of `pathlib`: what predictions are looked up by, wherever they lie."""

import io
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from pathlib import PurePosixPath
from typing import BinaryIO

from .remote_file import RemoteFile

TEXT_BUFFER = 2**20  # bytes of a JSONL file asked for at a time


@dataclass(frozen=True, eq=False)
class Tree:
    """Files below one place.

    Attributes:
        place: the place, as messages and results call it.
        files: by their paths below it.
        cached: the copy of a file that this machine has already, by that path; None without one.
    """

    place: str
    files: Mapping[str, RemoteFile]
    cached: Callable[[str], Path | None] = lambda name: None

    @cached_property
    def folders(self) -> frozenset[str]:
        """All folders, "" being the place itself."""
        return frozenset(
            "" if str(above) == "." else str(above) for name in self.files for above in PurePosixPath(name).parents
        )

    def copy_or_file(self, name: str) -> Path | RemoteFile:
        """The copy that this machine has, else the file elsewhere."""
        return self.cached(name) or self.files[name]


@dataclass(frozen=True, eq=False, slots=True)
class RemotePath:
    """A file or folder of a tree, or one that might be there; `inside` is its path below the tree's place."""

    tree: Tree
    inside: str = ""

    @property
    def name(self) -> str:
        return PurePosixPath(str(self)).name

    @property
    def stem(self) -> str:
        return PurePosixPath(self.name).stem

    @property
    def suffix(self) -> str:
        return PurePosixPath(self.name).suffix

    @property
    def parent(self) -> "RemotePath":
        return RemotePath(self.tree, self.inside.rpartition("/")[0])

    @property
    def file(self) -> Path | RemoteFile:
        """Where its bytes are."""
        return self.tree.copy_or_file(self.inside)

    def is_file(self) -> bool:
        return self.inside in self.tree.files

    def is_dir(self) -> bool:
        return self.inside in self.tree.folders

    def exists(self) -> bool:
        return self.is_file() or self.is_dir()

    def resolve(self) -> "RemotePath":
        return self

    def open(self, mode: str = "rb") -> BinaryIO:
        """The file for reading bytes."""
        file = self.file
        return file.open("rb") if isinstance(file, Path) else io.BufferedReader(file.open(), TEXT_BUFFER)

    def glob(self, pattern: str) -> Iterator["RemotePath"]:
        """The files that lie right in this folder and whose names match."""
        for name in self.tree.files:
            folder, _, last = name.rpartition("/")
            if folder == self.inside and fnmatchcase(last, pattern):
                yield RemotePath(self.tree, name)

    def relative_to(self, other: "AnyPath") -> PurePosixPath:
        return PurePosixPath(str(self)).relative_to(str(other))

    def __truediv__(self, name: str | PurePosixPath) -> "RemotePath":
        return RemotePath(self.tree, str(PurePosixPath(self.inside, name)))

    def __lt__(self, other: "RemotePath") -> bool:
        return str(self) < str(other)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self.tree.place}/{self.inside}" if self.inside else self.tree.place


AnyPath = Path | RemotePath
