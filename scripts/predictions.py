"""Predictions files: reading ours and the public evaluator's, every bad row reported in one pass."""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from medgen_metrics.failures import SYSTEM
from medgen_metrics.failures import is_error_text
from medgen_metrics.sources.prepared import shows_sheet

from .errors import UsageError
from .image_roots import ImageRoots
from .image_roots import PathRefused
from .image_source import EmbeddedImage
from .image_source import ImageSource
from .join import RUNGS
from .join import Ladder
from .join import OtherConfig
from .join import Unjoined
from .jsonl import Findings
from .jsonl import JsonLines
from .jsonl import Place
from .jsonl import shorten
from .prediction import GIVES
from .prediction import Prediction
from .predictions_parquet import ParquetRows
from .predictions_parquet import is_parquet
from .records import Records
from .remote_path import AnyPath

_OURS = frozenset({"text", "image"})
_PUBLIC = frozenset({"response", "output_image", "raw_response", "sample_id", "category"})


@dataclass(frozen=True, slots=True)
class Predictions:
    """A predictions file, joined to records.

    Attributes:
        path: the file, or the folder of Parquet shards.
        layout: `medgen-bench` or `public`.
        digest: SHA-256 of the file (of a folder, of its files' digests), 64 hex digits.
        by_id: record id -> prediction; a record without a row is absent.
        join: rung of the ladder -> rows joined by it.
        superseded: failed rows that a later row of the same record replaces.
        outside: rows of a task that the edition does not have.
        notices: what was passed over and must be said.
    """

    path: AnyPath
    layout: str
    digest: str
    by_id: Mapping[str, Prediction]
    join: Mapping[str, int]
    superseded: int = 0
    outside: int = 0
    notices: tuple[str, ...] = ()


def read_predictions(
    path: AnyPath, records: Records, *, image_roots: Sequence[str | Path] = (), findings: Findings | None = None
) -> Predictions:
    """Read a predictions file in our format or the public evaluator's result format.

    Args:
        path: a JSONL file, a Parquet file with the same columns, or a folder of Parquet shards.
        records: the records of the file's config; all of the edition, not a subset.
        image_roots: folders that its image paths are relative to; default the file's folder, then its parent.
        findings: takes the bad rows, which then raise nothing and are left out.

    Raises:
        UsageError: bad rows (all of them in one message), no rows, no such file, or images named but none there.
    """
    strict = findings is None
    findings = findings or Findings(path, "predictions")
    lines = rows_of(path, findings)
    reader = _Reader(records, ImageRoots.of(path, image_roots), findings, lines.unit)
    for place, row in lines:
        reader.take(place, row)
    reader.tell_strays(path)
    if strict:
        findings.raise_if_any()
    if reader.layout is None:
        raise UsageError("\n".join([f"{path}: expected {lines.expected}, got no row", *lines.notices]))
    try:
        reader.check_images(path)
    except UsageError as error:
        if strict:
            raise
        findings.add(None, str(error))
    return Predictions(
        path=path,
        layout=reader.layout,
        digest=lines.digest,
        by_id={record_id: prediction for record_id, (_, prediction) in reader.rows.items()},
        join={rung: reader.join[rung] for rung in RUNGS if reader.join[rung]},
        superseded=reader.superseded,
        outside=reader.outside,
        notices=(*lines.notices, *reader.notices(path)),
    )


def rows_of(path: AnyPath, findings: Findings) -> JsonLines | ParquetRows:
    """The rows of a predictions file, told apart by looking, bad ones to `findings`."""
    return ParquetRows(path, findings) if path.is_dir() or is_parquet(path) else JsonLines(path, findings)


class _Reader:
    """Collects the rows of one file."""

    def __init__(self, records: Records, roots: ImageRoots, findings: Findings, unit: str) -> None:
        self.records = records
        self.roots = roots
        self.findings = findings
        self.unit = unit
        self.ladder = Ladder(records, roots)
        self.layout: str | None = None
        self.rows: dict[str, tuple[Place, Prediction]] = {}
        self.join: Counter[str] = Counter()
        self.superseded = 0
        self.outside = 0
        self.taken = 0
        self.strays: list[tuple[Place, OtherConfig]] = []
        self.images_named = 0
        self.images_absent: list[str] = []

    def take(self, line: Place, row: Mapping[str, Any]) -> None:
        """Join a row and keep it, or note what is wrong with it."""
        self.taken += 1
        layout = "medgen-bench" if row.keys() & _OURS or not row.keys() & _PUBLIC else "public"
        self.layout = self.layout or layout
        if layout != self.layout and "error" not in row:
            self.findings.add(line, f"expected the {self.layout} layout as in the rows before it, got {layout}")
            return
        try:
            position, rung = self.ladder.join(row, hints=not self.findings.full)
        except OtherConfig as stray:
            self.strays.append((line, stray))
            return
        except Unjoined as unjoined:
            if self._is_outside(row):
                self.outside += 1
            else:
                self.findings.add(line, str(unjoined))
            return
        record_id = self.records.ids[position]
        prediction = self._prediction(line, record_id, row)
        if prediction is None:
            return
        earlier = self.rows.get(record_id)
        if earlier is None:
            self.join[rung] += 1
        elif self._failed(earlier[1]) or self._failed(prediction):
            # Both formats append a new row when a failure is tried again: an answer outweighs a failure.
            self.superseded += 1
            if not self._failed(earlier[1]):
                return
        else:
            self.findings.add(
                line, f"duplicate id {record_id!r}, first on {self.unit} {earlier[0]}; keep one row a record"
            )
            return
        self.rows[record_id] = (line, prediction)

    def tell_strays(self, path: AnyPath) -> None:
        """Note rows of other configs: a few in the wrong file, or the whole file under the wrong config."""
        is_other = len(self.strays) == self.taken and len({stray.config for _, stray in self.strays}) == 1
        for line, stray in self.strays:
            if is_other:
                self.findings.add(line, str(stray))
            else:
                ending = "" if path.is_dir() else path.suffix or ".jsonl"
                self.findings.add(line, f"{stray.problem}; move the row to {stray.config}{ending}")

    def check_images(self, path: AnyPath) -> None:
        """Refuse a file none of whose images is there: that is a wrong root, not a system that failed."""
        if self.images_named and len(self.images_absent) == self.images_named:
            raise UsageError(
                f"{path}: none of the {self.images_named} images that it names exists under {self.roots} "
                f"(the first is {shorten(self.images_absent[0])}); name their folder with --image-root"
            )

    def notices(self, path: AnyPath) -> list[str]:
        """What was passed over, in words."""
        said = []
        if self.superseded:
            said.append(f"{path}: {self.superseded} failed rows are replaced by later rows of the same records")
        if self.outside:
            said.append(
                f"{path}: {self.outside} rows are of a task that edition {self.records.edition} does not have, left out"
            )
        if self.images_absent:
            said.append(
                f"{path}: {len(self.images_absent)} of {self.images_named} images do not exist under {self.roots}, "
                f"counted as missing; the first is {shorten(self.images_absent[0])}"
            )
        return said

    def _prediction(self, line: Place, record_id: str, row: Mapping[str, Any]) -> Prediction | None:
        text_key, image_key = ("text", "image") if self.layout == "medgen-bench" else ("response", "output_image")
        error = _error(row.get("error"))
        if error is None and text_key not in row and image_key not in row:
            self.findings.add(
                line, f"expected {text_key}, {image_key} or error, got only {', '.join(map(shorten, row))}"
            )
            return None
        text = row.get(text_key)
        if text is not None and not isinstance(text, str):
            self.findings.add(line, f"expected {text_key} to be a string or null, got {shorten(text)}")
            return None
        given = _images(row.get(image_key))
        if given is None:
            self.findings.add(
                line, f"expected {image_key} to be a path, a list of paths or null, got {shorten(row[image_key])}"
            )
            return None
        meta = row.get("meta") or {}
        if not isinstance(meta, dict):
            self.findings.add(line, f"expected meta to be an object, got {shorten(meta)}")
            return None
        if self.layout == "public" and shows_sheet(row):
            # its systems are shown one image a record
            meta = {"saw_sheet": True, **meta}
        failed = "missing" if error is None else _reason(row["error"])
        if text is not None and is_error_text(text):
            text_reason: str | None = "error_text"
        else:
            text_reason = failed if text is None or (not text.strip() and error is not None) else None
        first = given[0] if given else None
        named = [first] if isinstance(first, str) else []
        image: ImageSource | None = None
        image_reason = failed
        if named and is_error_text(named[0]):
            image_reason = "error_text"
        elif first is not None:
            try:
                image = self.roots.find(first) if isinstance(first, str) else first
            except PathRefused as refused:
                self.findings.add(line, f"{image_key} {shorten(first)}: {refused}")
                return None
            self.images_named += 1
            if image is None:
                image_reason = "missing"
                self.images_absent += named
        if error is None:
            error = next((said for said in (text, *named) if said and is_error_text(said)), None)
        return Prediction(
            id=record_id,
            text=text,
            image=image,
            text_reason=text_reason,
            image_reason=None if image is not None else image_reason,
            error=error,
            meta=meta,
            several_images=len(given) if len(given) > 1 else 0,
        )

    def _failed(self, prediction: Prediction) -> bool:
        """Whether a row is a failure that a later row may replace: something the config asks for is not there."""
        gives = GIVES[self.records.config]
        return ("text" in gives and prediction.text_reason is not None) or (
            "image" in gives and prediction.image_reason is not None
        )

    def _is_outside(self, row: Mapping[str, Any]) -> bool:
        """Whether a row says that it is of a known task of this config of which the edition has no record."""
        import medgen_bench

        names = [row.get(name) for name in ("paper_task", "task", "sub-category")]
        names += [row[name].rsplit("-", 1)[0] for name in ("id", "sample_id") if isinstance(row.get(name), str)]
        present = set(self.records.column("task"))
        tasks = [name.strip().lower().replace("_", "-") for name in names if isinstance(name, str)]
        known = [name for name in tasks if name in medgen_bench.TASKS]
        return bool(known) and known[0] not in present and medgen_bench.TASKS[known[0]].config == self.records.config


def _error(error: Any) -> str | None:
    """A row's `error` in words: ours is an object with kind and message, the public one a string."""
    if error is None or error == "":
        return None
    if isinstance(error, dict):
        return ": ".join(str(error[name]) for name in ("kind", "message") if error.get(name)) or "unnamed error"
    return str(error)


def _reason(error: Any) -> str:
    """The closed list's reason for a reported error: its kind where that is one of the reasons."""
    kind = error.get("kind") if isinstance(error, dict) else None
    return kind if kind in SYSTEM else "error_text"


def _images(value: Any) -> list[str | EmbeddedImage] | None:
    """The images of a row, paths or embedded ones, [] for none; None where it is neither."""
    if value is None or value == "":
        return []
    if isinstance(value, str | EmbeddedImage):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str | EmbeddedImage) and item for item in value):
        return value
    return None
