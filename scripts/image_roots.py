"""Which image files a predictions file may name: relative paths below allowed roots, links only into them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from medgen_metrics.sources.paths import PathRefused as PathRefused
from medgen_metrics.sources.paths import find_file
from medgen_metrics.sources.paths import relative

from .errors import UsageError
from .image_source import ImageSource
from .remote_file import RemoteFile
from .remote_images import RemoteImage
from .remote_path import AnyPath
from .remote_path import RemotePath

_REMEDY = "write it relative and name its folder with --image-root"


@dataclass(frozen=True, slots=True)
class ImageRoots:
    """Folders in which image paths are looked up, in order.

    Attributes:
        roots: resolved folders.
        linked: further folders that links may lead to: the contents of a hub cache, whose files are links.
        elsewhere: folders that aren't on this machine, then without `roots`.
    """

    roots: tuple[Path, ...]
    linked: tuple[Path, ...] = ()
    elsewhere: tuple[RemotePath, ...] = ()

    @classmethod
    def of(cls, file: AnyPath, given: Sequence[str | Path] = ()) -> "ImageRoots":
        """The roots for a predictions file: `given` (`--image-root`), else the file's folder and then its parent.

        For a folder of Parquet shards they are that folder and its parent. In a hub cache they end at the revision's
        folder.

        Raises:
            UsageError: a given root is no folder.
        """
        for root in given:
            if not Path(root).is_dir():
                raise UsageError(f"--image-root expects a folder, got {str(root)!r}")
        given_roots = [Path(root).resolve() for root in given]
        if isinstance(file, RemotePath):
            place = file if file.is_dir() else file.parent
            return cls(tuple(given_roots), (), () if given_roots else tuple(dict.fromkeys([place, place.parent])))
        is_folder = file.is_dir()
        if (snapshot := _snapshot(file if is_folder else file.parent)) is not None:
            folder = (file if is_folder else file.parent).resolve()
            roots = given_roots or [place for place in (folder, folder.parent) if place.is_relative_to(snapshot)]
            return cls(tuple(roots), (snapshot.parent.parent / "blobs",))
        folder = file.resolve() if is_folder else file.resolve().parent
        return cls(tuple(dict.fromkeys(given_roots or [folder, folder.parent])))

    def find(self, name: str) -> ImageSource | None:
        """The file that `name` means in the first root that has it, or None.

        Raises:
            PathRefused: an absolute path, one with `..`, or a link that leaves the allowed roots.
        """
        if self.elsewhere:
            below = relative(name, _REMEDY)
            found = next((path.file for root in self.elsewhere if (path := root / below).is_file()), None)
            return RemoteImage(found) if isinstance(found, RemoteFile) else found
        return find_file(name, self.roots, (*self.roots, *self.linked), _REMEDY, "allow with --image-root")

    def __str__(self) -> str:
        return ", ".join(str(root) for root in (*self.roots, *self.elsewhere))


def _snapshot(folder: Path) -> Path | None:
    """The resolved folder of the revision that a folder of a hub cache belongs to; None elsewhere."""
    resolved = folder.resolve()
    for place in (resolved, *resolved.parents):
        if place.parent.name == "snapshots" and (place.parent.parent / "blobs").is_dir():
            return place
    return None
