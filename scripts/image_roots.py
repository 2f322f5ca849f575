"""Which image files a predictions file may name: relative paths below allowed roots, links only into them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from pathlib import PurePosixPath
from pathlib import PureWindowsPath

from .errors import UsageError


class PathRefused(Exception):
    """A path that must not be followed; the message says why and what to do."""


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
        if not name or "\0" in name:
            raise PathRefused(f"expected a relative path, got {name!r}")
        posix, windows = PurePosixPath(name), PureWindowsPath(name)
        if posix.is_absolute() or windows.drive or windows.root:
            raise PathRefused("absolute paths are refused; write it relative and name its folder with --image-root")
        if ".." in posix.parts or ".." in windows.parts:
            raise PathRefused("paths with '..' are refused; write it relative and name its folder with --image-root")
        for root in self.roots:
            path = root / posix
            try:
                target = path.resolve(strict=True)
            except (OSError, RuntimeError, ValueError):  # absent, a name too long, a loop of links
                continue
            if not any(target.is_relative_to(allowed) for allowed in self.roots):
                raise PathRefused(
                    f"it is a link to {str(target)!r}, outside the allowed folders; allow with --image-root"
                )
            if target.is_file():
                return path
        return None

    def __str__(self) -> str:
        return ", ".join(str(root) for root in self.roots)
