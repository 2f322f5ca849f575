"""A built-in baseline over a config: one record after the other, in this process, for nothing."""

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from medgen_metrics.signature import digest

from ..backends import pictures
from ..errors import UsageError
from ..jsonl import to_line
from ..prediction import GIVES
from ..progress import progress
from ..records import Record
from ..records import Records
from ..systems import build
from ..terminal import say
from . import images
from .found_rows import Row
from .manifest import Manifest
from .manifest import about_run
from .manifest import now
from .options import RunOptions
from .selection import selected
from .selection import share
from .store import Store
from .telling import tell_failed

_MODELS_ONLY = (
    "blind",
    "concurrency",
    "image_concurrency",
    "max_cost",
    "max_requests",
    "prices",
    "log_requests",
    "max_attempts",
)


class BaselineRun:
    """One run.

    Args:
        name: of `medgen_scripts.systems.SYSTEMS`.
        records: of the config.
        options: see `RunOptions`.

    Raises:
        UsageError: the baseline can't be run so.
    """

    def __init__(self, name: str, records: Records, options: RunOptions) -> None:
        given = [option for option in _MODELS_ONLY if getattr(options, option)]
        if given:
            named = ", ".join(f"--{option.replace('_', '-')}" for option in given)
            raise UsageError(f"{name} asks no model: expected none of {named}")
        self.system = build(name, records, options.seed)
        lacking = [kind for kind in GIVES[records.config] if kind not in self.system.gives]
        if lacking:
            raise UsageError(
                f"{self.system.name} gives {' and '.join(self.system.gives)}, but config {records.config} asks for "
                f"{lacking[0]} too"
            )
        self.records = records
        self.options = options
        self.selection = selected(records, options)
        folder = options.out / "predictions" / self.system.name
        self.store = Store(folder, records, options.shard)
        self.manifest = Manifest(
            folder,
            {
                "system": self.system.name,
                "track": self.system.track,
                "takes": list(self.system.takes),
                "gives": list(self.system.gives),
            },
        )
        self.definition = digest([self.system.name, dict(self.system.definition)])

    def run(self) -> Path:
        """Answer the selected records that have no row yet, and write the file."""
        if about := self.selection.notice(self.records.config):
            say(about)
        if self.options.dry_run:
            self.store.read()
            print(f"{self.system.name}: {len(self._todo()):,} records would be answered, in this process. Nothing was.")
            return self.store.path
        self.store.hold()
        try:
            return self._run()
        finally:
            self.store.release()

    def _run(self) -> Path:
        config = self.records.config
        self._take_over()
        todo = self._todo()
        if not todo and self.store.is_whole:
            return self.store.path
        started = monotonic()
        entry = {
            "definition": self.definition,
            "system": dict(self.system.definition),
            **about_run(self.selection, self.records.edition, len(self.records)),
        }
        self.manifest.update(config, lambda _: entry)
        self.store.open()
        with progress(f"{self.system.name} {config}", len(todo)) as advance:
            for position in todo:
                self.store.add(self._answer(self.records[position]))
                advance()
        written = self.store.finish()
        told = {
            "rows": written.rows,
            "failed": written.failed,
            "digest": written.digest,
            "finished": now(),
            "seconds": round(monotonic() - started, 1),
        }
        self.manifest.update(config, lambda entry: {**entry, **told})
        tell_failed(self.store.path, written, "the same command tries them again")
        return self.store.path

    def _take_over(self) -> None:
        """Rows of before, if they are of the same definition and edition; they cost nothing, so others are replaced."""
        entry = self.manifest.entry(self.records.config)
        self.store.refuse_others(entry)
        if entry is None:
            return
        changed = [
            f"{name} {was!r}, now {is_now!r}"
            for name, was, is_now in (
                ("edition", entry.get("edition"), self.records.edition),
                ("definition", entry.get("definition"), self.definition),
            )
            if was != is_now
        ]
        if changed or self.options.fresh:
            if self.store.path.exists() and changed:
                say(f"{self.store.path}: starting anew, since the earlier run had {' and '.join(changed)}")
            self.store.clear()
            return
        self.store.read()
        if outside := self.store.outside:
            say(f"{self.store.path}: {outside} rows of records that the data no longer holds are left out")

    def _todo(self) -> Sequence[int]:
        # what failed is tried again: it costs nothing
        places = {p: self.store.earlier(self.records.ids[p]) for p in share(self.selection.positions, self.options)}
        return [position for position, place in places.items() if place is None or place.failed]

    def _answer(self, record: Record) -> Row:
        try:
            response = self.system.respond(record)
            png = None if response.image is None else pictures.png(response.image)
            meta: dict[str, Any] = dict(response.meta)
            row: Row = {"id": record.id, "text": response.text, "image": None, "meta": meta}
            to_line(row)
        except Exception as error:
            # One record's failure is that record's row; the run goes on.
            told = {"kind": type(error).__name__, "message": str(error), "attempts": 1}
            return {"id": record.id, "text": None, "image": None, "error": told}
        if png is not None:
            # The image is there before the row that names it.
            row["image"] = self.store.add_image(record.id, png)
            meta["image_sha256"] = images.sha256(png)
        if not meta:
            del row["meta"]
        return row
