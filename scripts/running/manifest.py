"""`manifest.json` beside the predictions: what made them, when, and what it consumed."""

import json
import platform
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import Any

from filelock import FileLock

from ..atomic import write_text
from ..errors import UsageError
from ..scoring.results import versions
from ..subset import Subset

FORMAT = "medgen-bench/predictions@1"

Entry = dict[str, Any]


class Manifest:
    """The manifest of one system's folder.

    Args:
        folder: `out/predictions/<system>`.
        header: what it says of the system, whatever the config.
    """

    def __init__(self, folder: Path, header: Mapping[str, Any]) -> None:
        self.path = folder / "manifest.json"
        self._lock = folder / ".manifest.lock"
        self._header = header

    def entry(self, config: str) -> Entry | None:
        """What it says of a config; None where no run of it was begun.

        Raises:
            UsageError: the file is something else.
        """
        return self._configs().get(config)

    def update(self, config: str, change: Callable[[Entry], Entry]) -> None:
        """Change what it says of a config; other runs write here too."""
        with FileLock(self._lock, timeout=60):
            configs = self._configs()
            content = {
                "format": FORMAT,
                **self._header,
                "configs": {**configs, config: change(configs.get(config, {}))},
            }
            write_text(self.path, json.dumps(content, indent=2) + "\n")

    def _configs(self) -> dict[str, Entry]:
        if not self.path.is_file():
            return {}
        try:
            configs = json.loads(self.path.read_bytes())["configs"]
            return {name: dict(entry) for name, entry in configs.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{self.path}: expected the manifest of an earlier run, got {error!r}; move it away"
            ) from error


def read_header(folder: Path, config: str) -> dict[str, Any] | None:
    """What the manifest in a folder says of the system whose predictions of a config these are: track, components, ….

    None where there is no manifest of ours, or none of that config.
    """
    try:
        content = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        return None
    if config not in (content.get("configs") or {}):
        return None
    return {name: value for name, value in content.items() if name not in ("format", "configs")}


def about_run(selection: Subset, edition: str, records: int) -> Entry:
    """What is said of any run at its start."""
    return {
        "edition": edition,
        "records": records,
        "subset": {name: getattr(selection, name) for name in ("name", "limit", "seed", "digest")},
        "versions": {"python": platform.python_version(), **versions()},
        "host": f"{platform.system()} {platform.machine()}",
        "started": now(),
    }


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What differs between two definitions, each as `name: was, now`."""
    was, will = dict(_flat(before)), dict(_flat(after))
    return [
        f"{name} was {was.get(name, 'not set')!r:.80}, is {will.get(name, 'not set')!r:.80}"
        for name in {**was, **will}
        if was.get(name) != will.get(name)
    ]


def now() -> str:
    """The time, in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _flat(value: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, entry in value.items():
        if isinstance(entry, Mapping) and entry:
            yield from _flat(entry, f"{above}{name}.")
        else:
            yield f"{above}{name}", entry
