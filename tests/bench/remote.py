"""Predictions scored where they lie: 500 MB of images in Parquet on a Hub of loopback, beside the same file here."""

import json
import os
import random
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ..servers.hub import Hub
from . import command
from . import made

RECORDS = 500
BYTES = 1_000_000  # an image
GROUP = 100  # rows of a row group: 100 MB, as `datasets` writes them
REPEATS = 2
COMMIT = "a" * 40


def run() -> Iterator[str]:
    """What is fetched and held, and CPU time against the file here; without LPIPS, beside which all this is little."""
    with tempfile.TemporaryDirectory() as name, Hub() as hub:
        folder = Path(name)
        data, system = made.write(folder, RECORDS, 256, unlike=True)
        file = _parquet(folder / "here" / "mine", system)
        hub.add("datasets", "me/mine", COMMIT, {"edit.parquet": file.read_bytes()})
        os.environ.update({**hub.environment(folder / "home"), "MEDGEN_OFFLINE": "1"})
        there = Path("hf://datasets/me/mine")
        command.spent(_score(data, file, folder / "first", "--limit", 1))  # builds the data set's cache
        total = file.stat().st_size / 1e6

        def fetched(label: str, *arguments: object) -> str:
            hub.log.clear()
            command.spent(_score(data, there, folder / label, *arguments))
            served = [request for request in hub.downloads() if request.path.endswith(".parquet")]
            size = sum(request.size for request in served) / 1e6
            return f"{label}: {len(served):,} requests, {size:,.0f} MB, {size / total:.2f} of the file"

        yield f"{RECORDS} images, {total:,.0f} MB, {RECORDS // GROUP} row groups"
        yield fetched("all records, one process")
        yield fetched("all records, two processes", "--processes", 2)
        yield fetched("--limit 10", "--limit", 10)
        kept = sum(path.stat().st_size for path in (folder / "home" / "hub").rglob("*") if path.is_file()) / 1e6
        yield f"on disk afterwards, in the Hub's cache: {kept:,.1f} MB"
        ratios = []
        start = command.spent(_score(data, file, folder / "start", "--limit", 1)).cpu
        for turn in range(REPEATS):
            cpu = [command.spent(_score(data, path, folder / f"{turn}-{path.name}")).cpu for path in (there, file)]
            ratios.append((cpu[0] - start) / (cpu[1] - start))
        yield f"CPU time there / here, start-up apart: {statistics.median(ratios):.2f}"
        peaks = [command.own_memory(_score(data, path, folder / f"m-{path.name}")) / 1024 for path in (there, file)]
        yield f"memory at the peak, without mapped files: there {peaks[0]:,.0f} MB, here {peaks[1]:,.0f} MB"


def _score(data: Path, predictions: Path, out: Path, *arguments: object) -> list[str]:
    return command.score((data, predictions), out, "--tiers", "pixel", *arguments)


def _parquet(folder: Path, system: Path) -> Path:
    """The outputs embedded, each with noise behind the PNG's end, which is not read but counts in size and digest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rows = [json.loads(line) for line in (system / "edit.jsonl").open()]
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    schema = pa.schema({"id": pa.string(), "image": kind})
    how = {"compression": "none", "use_content_defined_chunking": True}  # as `datasets` does it: pages of about 1 MB
    with pq.ParquetWriter(folder / "edit.parquet", schema, **how) as writer:
        for first in range(0, len(rows), GROUP):
            part = rows[first : first + GROUP]
            images = [(system / row["image"]).read_bytes() for row in part]
            padded = [png + random.Random(first + at).randbytes(BYTES - len(png)) for at, png in enumerate(images)]
            cells = [{"bytes": png, "path": row["image"]} for png, row in zip(padded, part, strict=True)]
            writer.write_table(pa.table({"id": [row["id"] for row in part], "image": cells}, schema))
    return folder / "edit.parquet"
