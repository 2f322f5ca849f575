"""`medgen-bench run`: a system's outputs, `out/predictions/<system>/<config>.jsonl` and images beside it.

Rows are appended to a journal as they come; at the end the file is written whole, one row a record in the data set's
order. A run that was stopped continues with the records that have no row yet; what failed is tried again.
"""

import hashlib
import json
import platform
import sys
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from datetime import timezone
from io import BytesIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING
from typing import Any

from filelock import FileLock

from medgen_metrics.signature import digest

from .atomic import write_bytes
from .atomic import write_text
from .errors import Failure
from .errors import UsageError
from .jsonl import Findings
from .jsonl import JsonLines
from .lock import hold
from .predictions import GIVES
from .predictions import to_line
from .progress import progress
from .records import Record
from .records import Records
from .records import load_records
from .scoring.results import versions
from .subset import Subset
from .subset import choose
from .systems import build
from .systems.base import System

if TYPE_CHECKING:
    from PIL.Image import Image

FORMAT = "medgen-bench/predictions@1"

Row = dict[str, Any]


def run(
    system: str,
    config: str,
    *,
    edition: str = "paper",
    data_dir: Path | None = None,
    out: Path = Path("out"),
    limit: int | None = None,
    seed: int = 0,
    subset: str | None = None,
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
        subset: `lite`, a fixed selection; not beside `limit`.

    Returns:
        The predictions file.

    Raises:
        UsageError: bad usage, a config that the system can't serve, or a predictions file that somebody else wrote.
        Failure: predictions can't be written.
    """
    records = load_records(config, edition, data_dir)
    built = build(system, records, seed)
    lacking = [kind for kind in GIVES[config] if kind not in built.gives]
    if lacking:
        raise UsageError(
            f"{built.name} gives {' and '.join(built.gives)}, but config {config} asks for {lacking[0]} too"
        )
    strata = (records.column("task"), records.column("modality"))
    selection = choose(config, records.ids, *strata, limit=limit, seed=seed, name=subset)
    if about := selection.notice(config):
        _say(about)
    folder = out / "predictions" / built.name
    held = hold(folder, config, f"producing {config} predictions")
    try:
        return _Run(built, records, folder).over(selection)
    finally:
        held.release()


class _Run:
    def __init__(self, system: System, records: Records, folder: Path) -> None:
        self.system = system
        self.records = records
        self.folder = folder
        self.path = folder / f"{records.config}.jsonl"
        self.journal = folder / f".{records.config}.journal.jsonl"
        self.manifest = folder / "manifest.json"
        self.definition = digest([system.name, dict(system.definition)])

    def over(self, selection: Subset) -> Path:
        """Answer the selected records that have no row yet, and write the file."""
        rows = self._earlier()
        todo = [position for position in selection.positions if not self._is_done(rows.get(self.records.ids[position]))]
        if not todo and self.path.is_file():
            return self.path
        started = monotonic()
        entry = self._describe(selection)
        self._note(entry)
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
        content = b"".join(map(to_line, ordered))
        write_bytes(self.path, content)
        self.journal.unlink()
        failed = [row for row in ordered if "error" in row]
        self._note(
            {
                **entry,
                "rows": len(ordered),
                "failed": len(failed),
                "digest": hashlib.sha256(content).hexdigest(),
                "finished": _now(),
                "seconds": round(monotonic() - started, 1),
            }
        )
        self._tell(ordered, failed)
        return self.path

    def _answer(self, record: Record) -> Row:
        try:
            response = self.system.respond(record)
            png = None if response.image is None else _png(response.image)
            row: Row = {"id": record.id, "text": response.text, "image": None, "meta": dict(response.meta)}
            to_line(row)
        except Exception as error:
            # One record's failure is that record's row; the run goes on.
            kind = type(error).__name__
            return {"id": record.id, "text": None, "image": None, "error": {"kind": kind, "message": str(error)}}
        if png is not None:
            row["image"] = f"images/{record.id}.png"
            row["meta"]["image_sha256"] = hashlib.sha256(png).hexdigest()
            # The image is there before the row that names it.
            write_bytes(self.folder / row["image"], png)
        if not row["meta"]:
            del row["meta"]
        return row

    def _tell(self, ordered: Sequence[Row], failed: Sequence[Row]) -> None:
        """Say what failed; fail where nothing else happened."""
        if not failed:
            return
        first = failed[0]
        message = (
            f"{self.path}: {len(failed)} of {len(ordered)} records failed, the first is {first['id']}: "
            f"{first['error']['kind']}: {first['error']['message']}; the same command tries them again"
        )
        if len(failed) == len(ordered):
            raise Failure(message)
        _say(message)

    def _open_journal(self) -> Any:
        try:
            # Unbuffered: a row is out of this process once it is written.
            return self.journal.open("ab", buffering=0)
        except OSError as error:
            raise Failure(f"{self.journal}: can't be written: {error.strerror}; give another --out") from error

    def _is_done(self, row: Mapping[str, Any] | None) -> bool:
        if row is None or "error" in row:
            return False
        return row.get("image") is None or (self.folder / row["image"]).is_file()

    def _earlier(self) -> dict[str, Row]:
        """Rows of earlier runs under the same definition and edition, by id."""
        entry = self._manifest().get(self.records.config)
        if entry is None:
            if self.path.exists():
                raise UsageError(f"{self.path}: not written by `medgen-bench run`; give another --out, or move it away")
            return {}
        changed = [
            f"{name} {was!r}, now {now!r}"
            for name, was, now in (
                ("edition", entry.get("edition"), self.records.edition),
                ("definition", entry.get("definition"), self.definition),
            )
            if was != now
        ]
        if changed:
            if self.path.exists():
                _say(f"{self.path}: starting anew, since the earlier run had {' and '.join(changed)}")
            self.journal.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
            return {}
        rows = {**self._rows_of(self.path), **self._rows_of(self.journal)}
        left_out = [record_id for record_id in rows if record_id not in self.records.index]
        if left_out:
            _say(f"{self.path}: {len(left_out)} rows of records that the data no longer holds are left out")
        if self.journal.is_file():
            # Rewritten, so that nothing is appended to a line that a kill has torn.
            write_bytes(self.journal, b"".join(map(to_line, self._rows_of(self.journal).values())))
        return {record_id: row for record_id, row in rows.items() if record_id in self.records.index}

    def _rows_of(self, path: Path) -> dict[str, Row]:
        if not path.is_file():
            return {}
        findings = Findings(path, "an earlier run's predictions; delete the file to start anew")
        rows: dict[str, Row] = {}
        for number, row in JsonLines(path, findings):
            if isinstance(row.get("id"), str):
                rows[row["id"]] = dict(row)
            else:
                findings.add(number, "expected a row with an id")
        findings.raise_if_any()
        return rows

    def _manifest(self) -> dict[str, Any]:
        if not self.manifest.is_file():
            return {}
        try:
            configs = json.loads(self.manifest.read_bytes())["configs"]
            return {name: dict(entry) for name, entry in configs.items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(
                f"{self.manifest}: expected the manifest of an earlier run, got {error!r}; move it away"
            ) from error

    def _describe(self, selection: Subset) -> dict[str, Any]:
        return {
            "definition": self.definition,
            "edition": self.records.edition,
            "system": dict(self.system.definition),
            "records": len(self.records),
            "subset": {
                "name": selection.name,
                "limit": selection.limit,
                "seed": selection.seed,
                "digest": selection.digest,
            },
            "versions": {"python": platform.python_version(), **versions()},
            "host": f"{platform.system()} {platform.machine()}",
            "started": _now(),
        }

    def _note(self, entry: Mapping[str, Any]) -> None:
        # Runs of other configs write here too.
        with FileLock(self.folder / ".manifest.lock", timeout=60):
            content = {
                "format": FORMAT,
                "system": self.system.name,
                "track": self.system.track,
                "takes": list(self.system.takes),
                "gives": list(self.system.gives),
                "configs": {**self._manifest(), self.records.config: entry},
            }
            write_text(self.manifest, json.dumps(content, indent=2) + "\n")


# What PNG holds as it is; other modes (CMYK, YCbCr, …) become RGB, as they do when they are scored.
_PNG_MODES = ("1", "L", "LA", "I;16", "P", "RGB", "RGBA")


def _png(image: "Image") -> bytes:
    """The picture as PNG, without loss.

    Raises:
        ValueError: floating-point or 32-bit pixels, which PNG can't hold.
    """
    if image.mode in ("F", "I"):
        raise ValueError(f"expected an image of 8 or 16 bits, got mode {image.mode}")
    file = BytesIO()
    (image if image.mode in _PNG_MODES else image.convert("RGB")).save(file, "PNG")
    return file.getvalue()


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def _say(message: str) -> None:
    print(f"medgen-bench: {message}", file=sys.stderr)
