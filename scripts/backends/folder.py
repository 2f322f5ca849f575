"""Outputs that are there already: a folder of files named by record id, `<id>.png` (or .jpg, …) and `<id>.txt`.

They go the way of any other system's: decoded, checked, written without loss, with a manifest beside them.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

import anyio.to_thread

from medgen_metrics.serving.faults import CallFailed

from ..errors import UsageError
from .base import Ask
from .base import Gave
from .base import Options
from .in_process import InProcess
from .in_process import complete
from .in_process import shown

if TYPE_CHECKING:
    from ..systems.file import Component

IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp")
TEXT = ".txt"


def make(component: "Component", options: Options) -> "Folder":
    """See `base.make`.

    Raises:
        UsageError: no such folder, nothing of use in it, or two images of one record.
    """
    return Folder(component, options)


class Folder(InProcess):
    """A folder of outputs, `model` of the component; a record without a file has failed, as `missing`."""

    gives = frozenset({"text", "image"})
    is_counted = False

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, batch=4)
        self._folder = Path(self.component.model).expanduser()
        try:
            with os.scandir(self._folder) as entries:
                names = sorted(entry.name for entry in entries if entry.is_file())
        except OSError as error:
            raise UsageError(f"{self._folder}: expected a folder of outputs: {error.strerror}") from error
        self._images = _by_id(names, IMAGES, self._folder)
        self._texts = _by_id(names, (TEXT,), self._folder)
        if not self._images and not self._texts:
            raise UsageError(
                f"{self._folder}: expected files named by record id ({', '.join(IMAGES)} or {TEXT}), got none"
            )

    def describe(self) -> dict[str, Any]:
        """See `base.Backend`: a digest of the files' names, sizes and times, not the folder's name."""
        told = hashlib.sha256()
        for name in sorted([*self._images.values(), *self._texts.values()]):
            about = (self._folder / name).stat()
            told.update(f"{name}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
        return shown(self.component, model=self._folder.resolve().name, files=told.hexdigest()[:16])

    async def _ask(self, ask: Ask) -> Gave:
        return complete(await anyio.to_thread.run_sync(self._read, ask), ask)

    def _read(self, ask: Ask) -> Gave:
        image, text = self._images.get(ask.id), self._texts.get(ask.id)
        if (image if "image" in ask.wants else text) is None:
            raise CallFailed("missing", f"no file {ask.id}{IMAGES[0] if 'image' in ask.wants else TEXT}, or the like")
        return Gave(
            text=None if text is None else (self._folder / text).read_text(encoding="utf-8").strip(),
            image=None if image is None or "image" not in ask.wants else (self._folder / image).read_bytes(),
        )

    async def check(self, ping: bool = False) -> list[str]:
        """See `base.Backend`: the folder was read when this was made."""
        return []

    async def aclose(self) -> None:
        """See `base.Backend`."""


def _by_id(names: list[str], endings: tuple[str, ...], folder: Path) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for name in names:
        stem, ending = os.path.splitext(name)
        if ending.lower() not in endings:
            continue
        if stem in found:
            raise UsageError(f"{folder}: expected one file a record, got {found[stem]} and {name}")
        found[stem] = name
    return found
