"""Which image files a predictions file may name: relative paths below allowed roots, links only into them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from medgen_metrics.sources.paths import PathRefused as PathRefused
from medgen_metrics.sources.paths import find_file

from .errors import UsageError


@dataclass(frozen=True, slots=True)
class ImageRoots:
    """Folders in which image paths are looked up, in order.

    Attributes:
        roots: resolved folders.
    """

    roots: tuple[Path, ...]

    @classmethod
    def of(cls, file: Path, given: Sequence[str | Path] = ()) -> "ImageRoots":
        """The roots for a predictions file: `given` (`--image-root`), else the file's folder and then its parent.

        Raises:
            UsageError: a given root is no folder.
        """
        for root in given:
            if not Path(root).is_dir():
                raise UsageError(f"--image-root expects a folder, got {str(root)!r}")
        folder = file.resolve().parent
        roots = [Path(root).resolve() for root in given] or [folder, folder.parent]
        return cls(tuple(dict.fromkeys(roots)))

    def find(self, name: str) -> Path | None:
        """The file that `name` means in the first root that has it, or None.

        Raises:
            PathRefused: an absolute path, one with `..`, or a link that leaves the allowed roots.
        """
        remedy = "write it relative and name its folder with --image-root"
        return find_file(name, self.roots, self.roots, remedy, "allow with --image-root")

    def __str__(self) -> str:
        return ", ".join(str(root) for root in self.roots)
