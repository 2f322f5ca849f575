"""Which files a data set or a predictions file may name: relative paths, and links only into allowed folders."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from pathlib import PurePosixPath
from pathlib import PureWindowsPath


class PathRefused(ValueError):
    """A path that must not be followed; the message says why and what to do."""


def allowed_roots(folder: Path) -> tuple[Path, ...]:
    """The folders, resolved, into which files of a data set in `folder` may link.

    They are the folder itself, what its entry `source` links to (the public evaluator's view links so to its data), and
    in a hub cache the repository's folder, whose snapshots are links.
    """
    cached = [path.parent for path in (folder, *folder.parents) if path.name == "snapshots"]
    roots = [folder.resolve(), *(path.resolve() for path in cached[:1])]
    with contextlib.suppress(OSError, RuntimeError):  # no such entry, or a loop of links
        roots.append((folder / "source").resolve(strict=True))
    return tuple(dict.fromkeys(roots))


def relative(name: str, remedy: str) -> PurePosixPath:
    """A path of data as one below some folder.

    Args:
        name: the path.
        remedy: what to do about another one, for the message.

    Raises:
        PathRefused: an absolute path, or one with `..`.
    """
    if not name or "\0" in name:
        raise PathRefused(f"expected a relative path, got {name!r}")
    posix, windows = PurePosixPath(name), PureWindowsPath(name)
    if posix.is_absolute() or windows.drive or windows.root:
        raise PathRefused(f"absolute paths are refused; {remedy}")
    if ".." in posix.parts or ".." in windows.parts:
        raise PathRefused(f"paths with '..' are refused; {remedy}")
    return posix


def find_file(name: str, places: Sequence[Path], allowed: Sequence[Path], remedy: str, link_remedy: str) -> Path | None:
    """The file that `name` means in the first of `places` that has it, or None.

    Args:
        name: a relative path as a file of data gives it.
        places: folders to look in, in order.
        allowed: resolved folders in which the file must really lie.
        remedy: what to do about an absolute path or one with `..`, for the message.
        link_remedy: what to do about a link that leads out.

    Raises:
        PathRefused: an absolute path, one with `..`, or a link that leaves `allowed`.
    """
    posix = relative(name, remedy)
    for place in places:
        path = place / posix
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # absent, a name too long, a loop of links
            continue
        if not any(target.is_relative_to(root) for root in allowed):
            raise PathRefused(f"it is a link to {str(target)!r}, outside the allowed folders; {link_remedy}")
        if target.is_file():
            return path
    return None
