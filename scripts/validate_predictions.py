"""`validate` of predictions: rows, images, and outputs that are suspiciously like something else."""

import re
from collections import Counter
from collections import defaultdict
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from pathlib import PurePosixPath
from typing import Any

from medgen_metrics.failures import SYSTEM
from medgen_metrics.failures import is_error_text
from medgen_metrics.failures import is_refusal
from medgen_metrics.groups import near_pairs
from medgen_metrics.serving import faults

from .backends.base import URL_REFUSED
from .errors import UsageError
from .jsonl import Findings
from .jsonl import Place
from .jsonl import shorten
from .prediction import GIVES
from .prediction import Prediction
from .predictions import Predictions
from .predictions import read_predictions
from .progress import progress
from .records import Record
from .records import Records
from .remote_path import AnyPath
from .systems import ORACLES
from .validate_picture import Seen
from .validate_picture import see
from .validate_report import Report

THREADS = 8
ENDINGS = {
    "PNG": {".png"},
    "JPEG": {".jpg", ".jpeg"},
    "MPO": {".jpg", ".jpeg", ".mpo"},  # a JPEG of several pictures
    "TIFF": {".tif", ".tiff"},
    "GIF": {".gif"},
    "BMP": {".bmp"},
    "WEBP": {".webp"},
}
# Kinds of `error`: reasons that scores know, and what else `run` writes.
_ERRORS = {*SYSTEM, *faults.KINDS, URL_REFUSED}
_EXCEPTION = re.compile(r"Exception|[A-Z]+[a-z0-9]+[A-Z]\w*|[A-Z]{2,}[a-z]\w*")  # by its class's name
# A reference text this long is not met word by word by chance.
_LONG_TEXT = 12


class _ByKind(Findings):
    """Bad rows as findings of a report."""

    def __init__(self, path: AnyPath, report: Report) -> None:
        super().__init__(path, "predictions")
        self.report = report

    def add(self, line: Place | None, message: str) -> None:
        super().add(line, message)
        kind = next((kind for kind in ("unknown id", "duplicate id") if message.startswith(kind)), "bad row")
        self.report.add(kind, f"{self.where(line)}: {message}")


def validate_predictions(path: AnyPath, records: Records, image_roots: Sequence[Path] = (), system: str = "") -> Report:
    """Look at one predictions file.

    Args:
        path: ours or the public evaluator's.
        records: all records of its config.
        image_roots: folders that its image paths are relative to.
        system: whose they are; of the built-in ones in `systems.ORACLES` outputs that equal their own references are
            told as a notice, of any other as errors.

    Raises:
        UsageError: no such file, or not one that can be read line by line.
    """
    report = Report(f"{path}: {records.config} predictions, edition {records.edition}")
    findings = _ByKind(path, report)
    try:
        found = read_predictions(path, records, image_roots=image_roots, findings=findings)
    except UsageError as error:
        # Nothing but bad rows: they are what is to be said. A file that can't be opened is another matter.
        if not path.exists():
            raise
        report.add("bad row", str(error))
        return report
    _Check(report, records, found, system).run()
    return report


class _Check:
    def __init__(self, report: Report, records: Records, found: Predictions, system: str) -> None:
        self.report = report
        self.system = system
        self.by_design: set[str] = set()  # records for which an oracle gave their reference
        self.records = records
        self.found = found
        self.groups = dict(zip(records.ids, records.column("group"), strict=True))

    def run(self) -> None:
        """All checks."""
        for notice in self.found.notices:
            self.report.add("notice", notice)
        gives = GIVES[self.records.config]
        self._rows()
        if "image" in gives:
            self._images()
        if self.by_design:
            self.report.add(
                "notice",
                f"{self.system} hands out references, it is built in to do so and not ranked: "
                f"{len(self.by_design):,} of {len(self.found.by_id):,} outputs equal their own"
                + (f" (texts of fewer than {_LONG_TEXT} words aren't compared)" if "text" in gives else ""),
            )

    def _leak(self, record_id: str, message: str) -> None:
        """An output that is its record's reference."""
        if self.system in ORACLES:
            self.by_design.add(record_id)
        else:
            self.report.add("output equals a reference", message)

    def _rows(self) -> None:
        gives = GIVES[self.records.config]
        tasks: Counter[str] = Counter()
        without: list[str] = []
        for record_id, task in zip(self.records.ids, self.records.column("task"), strict=True):
            if record_id in self.found.by_id:
                tasks[task] += 1
            else:
                without.append(record_id)
        answers = self.records.column("answer") if "text" in gives else [None] * len(self.records)
        for record_id, answer in zip(self.records.ids, answers, strict=True):
            if (row := self.found.by_id.get(record_id)) is not None:
                self._row(row, gives, answer)
        for record_id in without:
            self.report.add("no row", record_id)
        self.report.counts = {
            "records": len(self.records),
            "rows joined": len(self.found.by_id),
            "joined by": dict(self.found.join),
            "by task": dict(tasks),
            "failed rows replaced by later ones": self.found.superseded,
            "rows of a task that the edition lacks": self.found.outside,
        }

    def _row(self, row: Prediction, gives: Sequence[str], answer: str | None) -> None:
        for kind, value, reason in (
            ("text", row.text, row.text_reason),
            ("image", row.image, row.image_reason),
        ):
            if kind not in gives:
                continue
            if reason is not None:
                said = "error message as output" if reason == "error_text" else "no output"
                self.report.add(said, f"{row.id}: {kind}: {shorten(row.error) if row.error else reason}")
            elif kind == "text" and not str(value).strip():
                self.report.add("empty output", f"{row.id}: text {shorten(value)}")
        if (called := self._unknown_kind(row)) is not None:
            self.report.add("error of unknown kind", f"{row.id} ({shorten(called)})")
        if row.several_images:
            self.report.add("several output images", f"{row.id}: {row.several_images}; the first is taken")
        if "text" not in gives or row.text is None or row.text_reason is not None:
            return
        if is_refusal(row.text):
            self.report.add("refusal", f"{row.id}: {shorten(row.text)}")
        words = row.text.split()
        if answer is not None and len(words) >= _LONG_TEXT and words == answer.split():
            self._leak(row.id, f"{row.id}: text, word by word: {shorten(row.text)}")

    def _unknown_kind(self, row: Prediction) -> str | None:
        """What a row calls its error, where that is no kind that is known: it counts as `error_text`, nothing else."""
        # the public evaluator's rows have sentences, and no kinds
        if row.error is None or self.found.layout != "medgen-bench" or is_error_text(row.error):
            return None
        kind = row.error.partition(": ")[0]
        return None if kind in _ERRORS or _EXCEPTION.fullmatch(kind) else kind

    def _images(self) -> None:
        """Each output beside its record's pictures, all references, and all other outputs."""
        position = self.records.index
        rows = [row for row in self.found.by_id.values() if row.image is not None]
        outputs: dict[str, Seen] = {}
        inputs: dict[str, set[bytes]] = {}
        references: dict[str, set[bytes]] = {}
        of_reference: dict[bytes, list[str]] = defaultdict(list)
        total = len(self.records) + len(rows)
        with progress(f"validate {self.records.config}", total) as advance, ThreadPoolExecutor(THREADS) as pool:
            for row, seen in _map(pool, _see_file, rows, advance):
                outputs[row.id] = seen
            for record, (theirs, ours) in _map(pool, _pictures, self.records, advance):
                inputs[record.id], references[record.id] = theirs, ours
                for pixels in ours:
                    of_reference[pixels].append(record.id)
        for row in sorted(rows, key=lambda row: position[row.id]):
            seen = outputs[row.id]
            self._named(row, seen)
            if seen.hollow is not None:
                self.report.add(seen.hollow, row.id)
            if seen.fault is not None:
                self.report.add("unreadable output", f"{row.id}: {row.image}: {seen.fault}")
            elif seen.pixels in inputs[row.id]:
                # Also where the reference equals the input: handing it through is then no leak.
                self.report.add("output equals the input", f"{row.id}: {row.image}")
            elif seen.pixels in references[row.id]:
                self._leak(row.id, f"{row.id}: {row.image}: its own, pixel by pixel")
            elif others := of_reference.get(seen.pixels or b""):
                self.report.add(
                    "output equals a reference", f"{row.id}: {row.image}: that of {others[0]}; are rows shifted?"
                )
        self._alike({record_id: seen for record_id, seen in outputs.items() if seen.fault is None})

    def _named(self, row: Prediction, seen: Seen) -> None:
        """Whether the file's name says another record or another format."""
        assert row.image is not None
        name = PurePosixPath(row.image.name)
        stem = name.stem
        if stem != row.id and stem in self.records.index:
            self.report.add("output named for another record", f"{row.id}: {row.image}")
        endings = ENDINGS.get(seen.format or "")
        # An embedded image may have no name.
        if endings and name.name and name.suffix.lower() not in endings:
            self.report.add("file name of another format", f"{row.id}: {row.image} holds {seen.format}")

    def _alike(self, outputs: dict[str, Seen]) -> None:
        """Outputs that several records share though they share no picture (`group`)."""
        by_pixels: dict[bytes | None, list[str]] = defaultdict(list)
        for record_id, seen in outputs.items():
            by_pixels[seen.pixels].append(record_id)
        for same in by_pixels.values():
            if len({self.groups[record_id] for record_id in same}) > 1:
                more = f" and {len(same) - 3} more" if len(same) > 3 else ""
                self.report.add("same output for several records", f"{', '.join(same[:3])}{more}")
        hashed = [(same[0], outputs[same[0]].hash) for same in by_pixels.values() if outputs[same[0]].hash]
        if not hashed:
            return
        for a, b in near_pairs([value or b"" for _, value in hashed]):
            first, second = hashed[a][0], hashed[b][0]
            if self.groups[first] != self.groups[second]:
                self.report.add("nearly the same output for several records", f"{first}, {second}")


def _see_file(row: Prediction) -> Seen:
    assert row.image is not None
    try:
        return see(row.image.read_bytes())
    except OSError as error:
        return Seen(None, None, f"unreadable: {error.strerror}", None)


def _pictures(record: Record) -> tuple[set[bytes], set[bytes]]:
    """The pixels of a record's input and of its reference images."""
    inputs, outputs = (
        {see(picture.data, near=False).pixels for picture in pictures}
        for pictures in (record.input_images, record.output_images)
    )
    return {pixels for pixels in inputs if pixels}, {pixels for pixels in outputs if pixels}


def _map(
    pool: ThreadPoolExecutor, work: Callable[[Any], Any], items: Iterable[Any], advance: Callable[[int], None]
) -> Iterator[tuple[Any, Any]]:
    """Items with what became of them, a few at a time, so that memory holds few of them."""
    left = iter(items)
    while part := list(islice(left, 4 * THREADS)):
        yield from zip(part, pool.map(work, part), strict=True)
        advance(len(part))
