"""`medgen-bench show`: a record in words, and its images beside the systems' outputs in one PNG."""

from collections.abc import Iterator
from collections.abc import Sequence
from difflib import get_close_matches
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from typing import NamedTuple

from medgen_metrics.failures import Unscored

from .atomic import write_bytes
from .errors import UsageError
from .image_source import as_input
from .join import id_config
from .join import sample_key
from .jsonl import Findings
from .jsonl import shorten
from .prediction import Prediction
from .predictions import read_predictions
from .records import Record
from .records import Records
from .records import load_records
from .scoring.jobs import jobs
from .scoring.jobs import sources
from .show_sheet import Panel
from .show_sheet import sheet
from .terminal import printable
from .terminal import say

if TYPE_CHECKING:
    from PIL import Image
    from rich.console import Console


class Output(NamedTuple):
    """What a system gave for the record."""

    system: str
    prediction: Prediction


def show(
    record_id: str,
    *,
    edition: str = "paper",
    data_dir: Path | None = None,
    predictions: Sequence[Path] = (),
    out: Path = Path("out"),
    image_roots: Sequence[Path] = (),
    to: Path | None = None,
) -> Path:
    """Print a record and what systems answered, and write their pictures side by side.

    Args:
        record_id: a record's id, or its `release_id`.
        edition: paper, release or sample.
        data_dir: folder of a local copy.
        predictions: folders or files of predictions; default all in `out/predictions`.
        out: folder of predictions, and of the PNG unless `to` is given.
        image_roots: folders that prediction images may lie in.
        to: the PNG; default `out/show/<id>.png`.

    Returns:
        The PNG.

    Raises:
        UsageError: no such record, with near matches, or predictions that are no such file.
        Failure: the PNG can't be written.
    """
    from rich.console import Console

    records, position = find(record_id, edition, data_dir)
    record = records[position]
    outputs = list(_outputs(record, records, predictions, out, image_roots))
    console = Console()
    _print(console, record, records.config, outputs)
    path = to if to is not None else out / "show" / f"{record.id}.png"
    file = BytesIO()
    sheet(panels(record, outputs), heading(record, records.config)).save(file, "PNG")
    write_bytes(path, file.getvalue())
    console.print(str(path), markup=False, highlight=False, soft_wrap=True)
    return path


def find(record_id: str, edition: str, data_dir: Path | None) -> tuple[Records, int]:
    """The config's records and the record's position among them.

    Raises:
        UsageError: no config has it; the message has near matches.
    """
    import medgen_bench

    known: list[str] = []
    # The task that an id begins with says where to look; loading the rest may take minutes.
    likely = id_config(record_id)
    for config in [likely] if likely else medgen_bench.CONFIGS:
        records = load_records(config, edition, data_dir)
        if record_id in records.index:
            return records, records.index[record_id]
        key = sample_key(record_id)
        for position, release_id in enumerate(records.column("release_id")):
            if sample_key(release_id) == key:
                return records, position
        known += records.ids
        known += records.column("release_id") if ":" in record_id else []
    near = get_close_matches(record_id[:120], known, n=5, cutoff=0.6)
    matches = f"; near matches: {', '.join(near)}" if near else ""
    raise UsageError(
        f"unknown id {shorten(record_id)} in {likely or 'vqa, edit, gen'}, edition {edition}{matches}. Ids stand in "
        f'load_dataset("medgen-bench", …)["id"]'
    )


def _outputs(
    record: Record, records: Records, predictions: Sequence[Path], out: Path, image_roots: Sequence[Path]
) -> Iterator[Output]:
    """What each system gave; those without a row for the record are left out."""
    systems = sorted((out / "predictions").glob("*"))
    paths = list(predictions) or [folder for folder in systems if sources(folder, records.config)]
    for job in jobs(paths, records.config) if paths else ():
        # Another record's bad row is no reason to show nothing of this one.
        findings = Findings(job.path, "predictions")
        found = read_predictions(job.path, records, image_roots=image_roots, findings=findings)
        if findings.count:
            said = f"{findings.count} bad rows in {job.place} are left out; `medgen-bench validate` names them"
            say(said)
        if (prediction := found.by_id.get(record.id)) is not None:
            yield Output(job.system, prediction)


def _print(console: "Console", record: Record, config: str, outputs: Sequence[Output]) -> None:
    """The record in words. Texts of data and models are printed as they are but for control characters."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    rows = {
        "id": record.id,
        "release id": record.release_id,
        "config": config,
        "task": record.task if record.subtask is None else f"{record.task}: {record.subtask}",
        "modality": record.modality,
        "source": record.source or "",
        "group": record.group,
        "instruction": record.instruction,
        "choices": "\n".join(record.choices),
        "reference answer": record.answer or "",
        "input images": "\n".join(_about(picture.data) for picture in record.input_images),
        "reference images": "\n".join(_about(picture.data) for picture in record.output_images),
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, Text(printable(value, "\n\t")))
    for system, prediction in outputs:
        said = [prediction.text or ""] if prediction.text_reason is None else []
        said += [str(prediction.image)] if prediction.image is not None else []
        reasons = {reason for reason in (prediction.text_reason, prediction.image_reason) if reason}
        if not any(said) or prediction.error:
            said.append(f"({prediction.error or ', '.join(sorted(reasons))})")
        table.add_row(printable(f"system {system}"), Text(printable("\n".join(filter(None, said)), "\n\t")))
    console.print(table)


def _about(data: bytes) -> str:
    image, note = _opened(data)
    return note if image is None else f"{note}, {len(data):,} bytes"


def heading(record: Record, config: str) -> list[tuple[str, str]]:
    """The record's texts, as they stand above the pictures."""
    told = {line.strip() for line in record.instruction.splitlines()}
    lines = {
        "record": f"{record.id}, {config}, {record.modality}",
        "instruction": record.instruction,
        # Most instructions end in their options.
        "choices": "\n".join(record.choices) if not told.issuperset(record.choices) else "",
        "reference answer": record.answer or "",
    }
    return [(name, text) for name, text in lines.items() if text]


def panels(record: Record, outputs: Sequence[Output]) -> list[Panel]:
    """What goes on the sheet, in order: inputs, references, and of each system its picture, answer or failure."""
    made = []
    for name, pictures in (("input image", record.input_images), ("reference image", record.output_images)):
        for number, picture in enumerate(pictures, start=1):
            label = name if len(pictures) == 1 else f"{name} {number}"
            made.append(Panel(label, *_opened(picture.data)))
    for system, prediction in outputs:
        image, note = None, ""
        if prediction.image is not None:
            image, note = _opened(as_input(prediction.image))
        elif record.output_images:
            note = prediction.image_reason or "missing"
        text = (prediction.text or "") if prediction.text_reason is None else ""
        if record.answer is not None and not text.strip():
            reason = prediction.text_reason or "empty"
            note = ", ".join(dict.fromkeys(filter(None, (note, f"no answer: {reason}"))))
        if prediction.error:
            note = ": ".join(filter(None, (note, prediction.error)))
        made.append(Panel(f"system {system}", image, note, text))
    return made


def _opened(source: bytes | Path | None) -> "tuple[Image.Image | None, str]":
    """A picture as it is shown, with its size and depth; or None and why not."""
    import numpy as np
    from PIL import Image

    from medgen_metrics.images import read

    try:
        picture = read(source)
    except Unscored as error:
        return None, printable(str(error))
    note = "{}x{}, {}".format(*picture.size, picture.depth)
    if picture.image is not None:
        return picture.image, note
    levels = picture.levels
    assert levels is not None
    # For the eye only: scores are never taken from a picture's own range.
    low, span = float(levels.min()), float(np.ptp(levels)) or 1.0
    stretched = ((levels - low) * (255 / span)).astype(np.uint8)
    return Image.fromarray(stretched).convert("RGB"), f"{note}, shown from {low:g} to {low + span:g}"
