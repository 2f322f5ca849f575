"""`validate` of a data set: every record of every layout, its texts and the decoding of each of its images."""

import hashlib
import warnings
from collections import Counter
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from medgen_metrics.failures import Unscored
from medgen_metrics.failures import is_error_text
from medgen_metrics.options import read_options
from medgen_metrics.options import whole_option

from .errors import UsageError
from .jsonl import shorten
from .progress import progress
from .records import IMAGE_COLUMNS
from .validate_expected import expected
from .validate_report import Report

if TYPE_CHECKING:
    from medgen_metrics.sources.files import Shard

THREADS = 8

_NO_IMAGES = {".json", ".jsonl", ".md", ".txt", ".parquet", ".gitattributes"}


def validate_data(edition: str, data_dir: Path | None) -> Report:
    """Look at all records of an edition.

    Args:
        edition: paper, release or sample.
        data_dir: folder of a local copy in any layout; default `MEDGEN_BENCH_DIR`, else the Hub.

    Raises:
        UsageError: no data set there, or files that can't be read at all.
    """
    import pyarrow as pa

    import medgen_bench
    from medgen_metrics.sources.files import read

    try:
        source = medgen_bench.Source.resolve("vqa", edition, data_dir)
        shards = _shards(source)
    except medgen_bench.DataError as error:
        raise UsageError(str(error)) from error
    report = Report(f"{source.folder or medgen_bench.HUB_REPO}, edition {edition}, layout {shards[0].layout}")
    check = _Check(report, edition)
    with (
        progress("validate", sum(piece.rows for shard in shards for piece in shard.pieces)) as advance,
        ThreadPoolExecutor(THREADS) as pool,
    ):
        for shard in shards:
            try:
                for _, number, raw in read(shard.pieces):
                    check.take(shard, number, raw, pool)
                    advance()
            except (OSError, pa.ArrowException) as error:  # noqa: PERF203 - the other files are looked at too
                report.add("unreadable file", f"{shard.name} ({shard.config}): {error}; copy or download it again")
    check.finish(shards)
    return report


def _shards(source: Any) -> "list[Shard]":
    import medgen_bench

    if source.folder is not None:
        return medgen_bench.find_shards(source.folder)
    return [shard for config in medgen_bench.CONFIGS for shard in source._replace(config=config).shards()]


class _Check:
    """Takes rows one by one; what must be known of all of them is small."""

    def __init__(self, report: Report, edition: str) -> None:
        self.report = report
        self.edition = edition
        self.configs: Counter[str] = Counter()
        self.tasks: Counter[str] = Counter()
        self.subtasks: Counter[tuple[str, str]] = Counter()
        self.modalities: Counter[str] = Counter()
        self.uses = self.slots = 0
        self.images: dict[bytes, str | None] = {}  # digest -> what is wrong with the picture
        self.ids: dict[str, str] = {}
        self.contents: dict[str, str] = {}

    def take(self, shard: "Shard", number: int, raw: Any, pool: ThreadPoolExecutor) -> None:
        """Look at one row."""
        import medgen_bench
        from medgen_metrics.sources.files import as_row

        place = shard.place(number)
        place = place if shard.config in place else f"{shard.config}: {place}"
        whole = True
        try:
            row = as_row(shard, number, raw)
        except (ValueError, OSError) as error:
            whole = False
            partly = self._without_images(shard, raw, place, str(error))
            if partly is None:
                self.configs[shard.config] += 1
                return
            row = partly
        try:
            task = medgen_bench.task_of(row, shard.config)
        except ValueError as error:
            self.report.add("bad record", f"{place}: {error}")
            self.configs[shard.config] += 1
            return
        if self.edition == "paper" and task == medgen_bench.RELEASE_ONLY_TASK:
            return
        self._count(shard.config, task, row, place)
        self._texts(task, row, place)
        files = {name: self._files(row, name, place) for name in IMAGE_COLUMNS}
        if whole:
            self._presence(shard.config, files, place)
        # A record without all of its images has no id to compare, and none of its images to count twice.
        self._decode(files, place, pool)
        if whole and all(None not in column for column in files.values()):
            self._identity(shard, task, row, files, place)

    def _without_images(self, shard: "Shard", raw: Any, place: str, error: str) -> dict[str, Any] | None:
        """Name each bad image of a JSONL row whose texts are fine; None where more is wrong than images."""
        from medgen_metrics.sources import folder
        from medgen_metrics.sources import prepared
        from medgen_metrics.sources.common import read_images
        from medgen_metrics.sources.common import texts

        images: dict[str, list[dict[str, Any]]] = {}
        faults = 0
        try:
            row = texts(raw)
            layout = {"folder": folder, "prepared": prepared}[shard.layout]
            for column, choices in layout.candidates(raw).items():
                images[column] = []
                for choice in choices:
                    try:
                        images[column] += read_images([choice], column, shard.path.parent, shard.root)
                    except (ValueError, OSError) as fault:  # noqa: PERF203 - every bad image is named
                        faults += 1
                        self.report.add(_kind(str(fault)), f"{place}: {fault}")
        except (ValueError, TypeError, AttributeError, KeyError):
            faults = 0  # a row without the columns of its layout
        if not faults:
            self.report.add("bad record", f"{place}: {error}")
            return None
        return row | images

    def _count(self, config: str, task: str, row: Mapping[str, Any], place: str) -> None:
        import medgen_bench

        self.configs[config] += 1
        self.tasks[task] += 1
        if row.get("subtask"):
            self.subtasks[task, row["subtask"]] += 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.modalities[medgen_bench.canonical_modality.__wrapped__(row.get("modality"))] += 1
        for warning in caught:
            self.report.add("unknown modality", f"{place}: {warning.message}")

    def _texts(self, task: str, row: Mapping[str, Any], place: str) -> None:
        import medgen_bench

        instruction, kind = row.get("instruction") or "", medgen_bench.TASKS[task].answer
        if not instruction.strip():
            self.report.add("empty instruction", place)
        if kind is None:
            return
        answer = row.get("answer") or ""
        if not answer.strip():
            self.report.add("empty answer", f"{place}: {task}")
            return
        if is_error_text(answer):
            self.report.add("error message as answer", f"{place}: {shorten(answer, 80)}")
            return
        choices = row.get("choices")
        if choices is None and kind in ("choice", "blank"):
            choices = medgen_bench.split_options(instruction)[1]
        if kind == "choice" and not choices:
            self.report.add("no options", f"{place}: a multiple-choice question, answer {shorten(answer)}")
        if kind == "open" or not choices:
            return
        try:
            found = whole_option(answer, read_options(choices))
        except ValueError as error:
            self.report.add("bad record", f"{place}: choices: {error}")
            return
        if found is None:
            self.report.add("options lack the answer", f"{place}: {shorten(answer)} is none of {shorten(choices, 160)}")

    def _files(self, row: Mapping[str, Any], column: str, place: str) -> list[bytes | None]:
        """The images of a column; None for one that has no bytes, which is noted."""
        files: list[bytes | None] = []
        for index, image in enumerate(row.get(column) or ()):
            data = image.get("bytes") if isinstance(image, dict) else None
            if not data:
                named = image.get("path") if isinstance(image, dict) else None
                kind = "empty image" if data is not None else "missing image"
                said = "no bytes" if named is None else f"no bytes, only the path {shorten(named)}"
                self.report.add(kind, f"{place}: {column}[{index}]: {said}; embed the image file")
            files.append(data or None)
        return files

    def _presence(self, config: str, files: Mapping[str, list[bytes | None]], place: str) -> None:
        if not files["input_images"]:
            self.report.add("no input image", place)
        if config != "vqa" and not files["output_images"]:
            self.report.add("no reference image", place)

    def _decode(self, files: Mapping[str, list[bytes | None]], place: str, pool: ThreadPoolExecutor) -> None:
        digests: dict[str, list[bytes]] = {}
        new: dict[bytes, bytes] = {}
        for column, listed in files.items():
            digests[column] = []
            for data in listed:
                if data is not None:
                    digest = hashlib.sha256(data).digest()
                    digests[column].append(digest)
                    if digest not in self.images:
                        new[digest] = data
        self.images |= zip(new, pool.map(fault_of, new.values()), strict=True)
        for column, listed_digests in digests.items():
            for index, digest in enumerate(listed_digests):
                if fault := self.images[digest]:
                    self.report.add("unreadable image", f"{place}: {column}[{index}]: {fault}")
            if len(set(listed_digests)) < len(listed_digests):
                self.report.add("same image twice in a record", f"{place}: {column}")
        self.uses += sum(map(len, digests.values()))
        self.slots += bool(digests["input_images"]) + len(digests["output_images"])
        if set(digests["input_images"]) & set(digests["output_images"]):
            self.report.add("reference equals an input", place)

    def _identity(
        self, shard: "Shard", task: str, row: Mapping[str, Any], files: Mapping[str, list[Any]], place: str
    ) -> None:
        import medgen_bench

        made = medgen_bench.record_id(task, row.get("instruction") or "", files["input_images"], files["output_images"])
        if made in self.contents:
            self.report.add("duplicate record", f"{place}: as {self.contents[made]}")
        else:
            self.contents[made] = place
        if shard.layout != "ours":
            return
        name = row["id"] or ""
        if name in self.ids:
            self.report.add("id stands twice", f"{place}: {shorten(name)}, first in {self.ids[name]}")
        else:
            self.ids[name] = place
        # Repeats are numbered behind the digest.
        if name != made and not (name.startswith(f"{made}-") and name[len(made) + 1 :].isdigit()):
            self.report.add("id does not fit the content", f"{place}: {shorten(name)}, by its content {made}")

    def finish(self, shards: "list[Shard]") -> None:
        """Counts, and where they are other than the edition's."""
        import medgen_bench
        from medgen_metrics.sources.files import missing

        report = self.report
        by_task: dict[str, Counter[str]] = defaultdict(Counter)
        for (task, subtask), count in self.subtasks.items():
            by_task[task][subtask] = count
        report.counts = {
            "records": sum(self.configs.values()),
            "by config": {name: self.configs[name] for name in medgen_bench.CONFIGS},
            "by task": {name: self.tasks[name] for name in medgen_bench.TASKS if self.tasks[name]},
            "by subtask": {
                shorten(f"{task}: {name}")[1:-1]: count
                for task in medgen_bench.TASKS
                for name, count in by_task[task].items()
            },
            "by modality": {name: self.modalities[name] for name in medgen_bench.MODALITIES if self.modalities[name]},
            "tasks": len(self.tasks),
            "subtasks": len(self.subtasks),
            "images, each use": self.uses,
            "images, one a VQA record": self.slots,
            "unique images": len(self.images),
        }
        if shards[0].layout == "folder":
            files = (path for path in shards[0].root.rglob("*") if path.is_file() or path.is_symlink())
            report.counts["image files"] = sum(path.suffix.lower() not in _NO_IMAGES for path in files)
        for name in filter(None, missing(shards).split(", ")):
            report.add("bad record", f"{name}: promised by the names of the other files, but not there")
        if self.edition != "sample":
            report.expected = expected(self.edition, "image files" in report.counts)
            self._size()
        self._edition(shards[0].path.parents[1])  # an export's files lie in a folder a config
        report.compare()

    def _size(self) -> None:
        """Less than half of an edition isn't it; of an export of one config, of that config."""
        report = self.report
        present = [name for name, count in report.counts["by config"].items() if count]
        got, wanted = report.counts["records"], sum(report.expected["by config"][name] for name in present)
        if 2 * got < wanted:
            of = "" if len(present) == len(report.expected["by config"]) else f" of {', '.join(present)}"
            report.add(
                "too few records",
                f"records: {got:,}, expected {wanted:,}{of}; copy or download the data again, or name the edition that "
                "it is (--edition sample)",
            )

    def _edition(self, folder: Path) -> None:
        """Where an export says that it is another edition."""
        from .export import edition_of

        told = edition_of(folder)
        if told is None or told == self.edition:
            return
        # The paper's edition is read from the release.
        kind = "notice" if (told, self.edition) == ("release", "paper") else "other edition than named"
        self.report.add(
            kind, f"{folder}: its export.json says edition {told}, looked at as {self.edition}; give --edition {told}"
        )


def fault_of(data: bytes) -> str | None:
    """What is wrong with an image file; None where it decodes."""
    from medgen_metrics.images import read

    try:
        read(data)
    except Unscored as error:
        return str(error)
    return None


def _kind(fault: str) -> str:
    """The kind of finding that `sources` words so."""
    for words, kind in (
        ("no such file", "missing image"),
        ("Permission denied", "unreadable image"),
        ("an empty file", "empty image"),
        ("refused", "image path out of the folder"),
        ("it is a link to", "image path out of the folder"),
        ("expected a relative path", "image path out of the folder"),
    ):
        if words in fault:
            return kind
    return "bad record"
