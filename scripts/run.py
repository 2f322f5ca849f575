"""`medgen-bench run`: a system's outputs, `out/predictions/<system>/<config>.jsonl` and images beside it.

Rows are appended to a journal as they come; at the end the file is written whole, one row a record in the data set's
order. A run that was stopped continues with the records that have no row yet.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from datetime import timezone
from io import BytesIO
from pathlib import Path
from typing import Any

from medgen_metrics.signature import digest

from .atomic import write_bytes
from .atomic import write_text
from .errors import Failure
from .errors import UsageError
from .lock import hold
from .predictions import to_line
from .progress import progress
from .records import Record
from .records import Records
from .records import load_records
from .scoring.results import versions
from .subset import select
from .systems import build
from .systems.base import System


def run(
    system: str,
    config: str,
    *,
    edition: str = "paper",
    data_dir: Path | None = None,
    out: Path = Path("out"),
    limit: int | None = None,
    seed: int = 0,
) -> Path:
    """Run a system over a config.

    Args:
        system: a name of `medgen_scripts.systems.SYSTEMS`.
        config: vqa, edit or gen.
        edition: paper, release or sample.
        data_dir: folder of a local copy.
        out: predictions go to `out/predictions/<system>`.
        limit: only so many records; a later run with more, or with all, continues.
        seed: of random systems and of the selection.

    Returns:
        The predictions file.

    Raises:
        UsageError: bad usage, or a predictions file that another definition of the system or somebody else wrote.
        Failure: predictions can't be written.
    """
    records = load_records(config, edition, data_dir)
    built = build(system, records, seed)
    selection = select(records.ids, records.column("task"), records.column("modality"), limit=limit, seed=seed)
    folder = out / "predictions" / built.name
    with hold(folder, "run", "producing predictions"):
        return _Run(built, records, folder).over(selection.positions)


class _Run:
    def __init__(self, system: System, records: Records, folder: Path) -> None:
        self.system = system
        self.records = records
        self.folder = folder
        self.path = folder / f"{records.config}.jsonl"
        self.journal = folder / f".{records.config}.journal.jsonl"
        self.manifest = folder / "manifest.json"
        self.definition = digest([system.name, dict(system.definition)])

    def over(self, positions: tuple[int, ...]) -> Path:
        """Answer the records at `positions` that have no row yet, and write the file."""
        rows = self._earlier()
        todo = [position for position in positions if not self._is_done(rows.get(self.records.ids[position]))]
        if not todo and self.path.is_file():
            return self.path
        self._note_start()
        label = f"{self.system.name} {self.records.config}"
        with progress(label, len(todo)) as advance, self._open_journal() as journal:
            for position in todo:
                row = self._answer(self.records[position])
                rows[row["id"]] = row
                try:
                    journal.write(to_line(row))
                except OSError as error:
                    raise Failure(
                        f"{self.journal}: can't be written: {error.strerror}; make room and run again to continue"
                    ) from error
                advance()
        ordered = [rows[record_id] for record_id in self.records.ids if record_id in rows]
        write_bytes(self.path, b"".join(map(to_line, ordered)))
        self.journal.unlink()
        return self.path

    def _answer(self, record: Record) -> dict[str, Any]:
        try:
            response = self.system.respond(record)
        except Exception as error:
            # One record's failure is that record's row; the run goes on.
            kind = type(error).__name__
            return {"id": record.id, "text": None, "image": None, "error": {"kind": kind, "message": str(error)}}
        row: dict[str, Any] = {"id": record.id, "text": response.text, "image": None}
        if response.image is not None:
            file = BytesIO()
            response.image.save(file, "PNG")
            row["image"] = f"images/{record.id}.png"
            write_bytes(self.folder / row["image"], file.getvalue())
        if response.meta:
            row["meta"] = dict(response.meta)
        return row

    def _open_journal(self) -> Any:
        try:
            # Unbuffered: a row is out of this process once it is written.
            return self.journal.open("ab", buffering=0)
        except OSError as error:
            raise Failure(f"{self.journal}: can't be written: {error.strerror}; give another --out") from error

    def _is_done(self, row: Mapping[str, Any] | None) -> bool:
        if row is None or "error" in row:
            return False
        return row["image"] is None or (self.folder / row["image"]).is_file()

    def _earlier(self) -> dict[str, dict[str, Any]]:
        """Rows of earlier runs under the same definition and edition, by id."""
        entry = self._manifest().get(self.records.config)
        if entry is None:
            if self.path.exists():
                raise UsageError(f"{self.path}: not written by `medgen-bench run`; give another --out, or move it away")
            return {}
        if entry["definition"] != self.definition or entry["edition"] != self.records.edition:
            self.journal.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
            return {}
        rows = {}
        for path in (self.path, self.journal):
            content = path.read_bytes() if path.is_file() else b""
            # What follows the last newline was torn by a kill.
            whole = content[: content.rfind(b"\n") + 1]
            if whole != content:
                write_bytes(path, whole)
            rows.update({row["id"]: row for row in map(json.loads, whole.splitlines())})
        return rows

    def _manifest(self) -> dict[str, Any]:
        if not self.manifest.is_file():
            return {}
        try:
            return dict(json.loads(self.manifest.read_bytes())["configs"])
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(
                f"{self.manifest}: expected the manifest of an earlier run, got {error!r}; move it away"
            ) from error

    def _note_start(self) -> None:
        entry = {
            "definition": self.definition,
            "edition": self.records.edition,
            "system": dict(self.system.definition),
            "versions": versions(),
            "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        }
        configs = {**self._manifest(), self.records.config: entry}
        content = {"system": self.system.name, "track": self.system.track, "configs": configs}
        write_text(self.manifest, json.dumps(content, indent=2) + "\n")
