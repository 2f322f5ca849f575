"""What a run of models leaves in the manifest: of the system, of itself, of what it wrote."""

import uuid
from collections import Counter
from collections.abc import Mapping
from time import monotonic
from typing import Any

from medgen_metrics.serving.usage import Usage
from medgen_metrics.signature import digest

from ..systems.file import SystemFile
from .manifest import Entry
from .manifest import Manifest
from .manifest import now
from .prompts import Templates
from .store import Written


def header(system: SystemFile, name: str, *, blind: bool) -> Entry:
    """What is said of a system, whatever the config.

    Args:
        system: which.
        name: by which its predictions go.
        blind: whether images are held back.
    """
    return {
        "system": name,
        "shape": system.shape,
        "track": system.track,
        "takes": ["text"] if blind else list(system.takes),
        "gives": list(system.gives),
        "components": {role: one.resolved().label for role, one in system.components.items()},
        # a file of one's own claims nothing
        "verified": system.verified if "verified" in system.model_fields_set else None,
        "blind": blind,
        "alias_of": system.alias_of,
        "file": system.described(),
        "file_digest": system.digest,
    }


class Account:
    """One run's entry among those of its config.

    Args:
        manifest: of the system.
        config: which.
    """

    def __init__(self, manifest: Manifest, config: str) -> None:
        self._manifest = manifest
        self._config = config
        self._id = uuid.uuid4().hex[:8]
        self._began = monotonic()

    def begins(
        self,
        about: Entry,
        identity: Entry,
        templates: Templates,
        models: Mapping[str, Any],
        *,
        shard: str | None,
        anew: bool,
    ) -> None:
        """Note the run at its start.

        Args:
            about: edition, records, versions, ….
            identity: all that determines the answers.
            templates: what the models are told.
            models: role -> what its back end says of itself.
            shard: the share of the records.
            anew: whether earlier runs' rows are gone.
        """
        entry = {
            "definition": digest(identity),
            "system": identity,
            "prompts": {"version": templates.version, "digest": templates.digest},
            **about,
        }
        run = {"id": self._id, "started": now(), "ended": "under way", "shard": shard, "models": dict(models)}

        def change(before: Entry) -> Entry:
            return {**before, **entry, "runs": [*([] if anew else before.get("runs", [])), run]}

        self._manifest.update(self._config, change)

    def ended(self, how: str, answered: int, failed: Counter[str], usage: Usage) -> None:
        """Note how it ended, and what it used: failed attempts too, which the rows don't tell."""
        told = {
            "ended": how,
            "seconds": round(monotonic() - self._began, 1),
            "answered": answered,
            "failed": dict(failed),
            "usage": usage.as_dict(),
        }

        def change(entry: Entry) -> Entry:
            runs = [{**run, **told} if run["id"] == self._id else run for run in entry.get("runs", [])]
            return {**entry, "runs": runs}

        self._manifest.update(self._config, change)

    def wrote(self, written: Written) -> None:
        """Note what the predictions file holds."""
        told = {
            "rows": written.rows,
            "failed": written.failed,
            "digest": written.digest,
            "usage": written.usage.as_dict(),
            "finished": now(),
        }
        self._manifest.update(self._config, lambda entry: {**entry, **told})
