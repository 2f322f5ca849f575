"""Export: peak memory and time for a release made up at a size, `python -m tests.bench.export 6600 4`.

Takes twice that size in the temporary folder (`TMPDIR`), so `make bench` runs it small.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import medgen_bench

from .. import builders

_RUN = """
import resource, sys
from pathlib import Path
from medgen_scripts.export import export
export(Path(sys.argv[2]), edition="release", data_dir=Path(sys.argv[1]))
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_release(root: Path, records: int, size: int) -> None:
    """A release of `records` records and about `size` bytes of images in the public layout, one or two a record.

    Images are PNGs of a small picture with noise behind its end, as bulky as wanted and quick to decode; row groups
    hold 100 records, as the library that made the release writes them.
    """
    random = np.random.default_rng(0)
    total = sum(medgen_bench.RECORDS.values())
    images = records * (2 - medgen_bench.RECORDS["vqa"] / total)
    padding = max(0, round(size / images) - len(builders.png(0)))
    number = 0
    for config, share in medgen_bench.RECORDS.items():
        tasks = [task for task, of in medgen_bench.TASKS.items() if of.config == config]
        folder = root / "MedGEN_raw" / "parquet" / builders.FOLDERS[config]
        folder.mkdir(parents=True)
        schema = builders.public_schema(config)
        with pq.ParquetWriter(folder / "train-00000-of-00001.parquet", schema, compression="none") as file:
            left = round(records * share / total)
            while left > 0:
                rows = []
                for _ in range(min(left, 100)):
                    files = [builders.png(number + k) + random.bytes(padding) for k in (0, 10**6)]
                    row = builders.public_row(tasks[number % len(tasks)], number)
                    row |= {"input_images": builders.images(files[0]), "output_images": builders.images(files[1])}
                    rows.append({name: row[name] for name in schema.names})
                    number += 1
                file.write_table(pa.Table.from_pylist(rows, schema=schema))
                left -= len(rows)


def run(records: int = 330, gigabytes: float = 0.2) -> Iterator[str]:
    """Peak resident memory of the exporting process, and its time."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "release"), Path(folder, "medgen-bench")
        write_release(source, records, round(gigabytes * 1e9))
        environment = {**os.environ, "HF_HOME": str(Path(folder, "home"))}
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _RUN, str(source), str(out)],
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        seconds = time.perf_counter() - start
        written = [path.stat().st_size for path in out.rglob("*.parquet")]
    unit = 1 if sys.platform == "darwin" else 1024
    peak = int(done.stdout.split()[-1]) * unit
    shards = f"{sum(written) / 1e9:.2f} GB in {len(written)} shards, the largest {max(written) / 1e6:.0f} MB"
    yield f"{records:,} records, {shards}: peak {peak / 1e6:,.0f} MB, {seconds:.0f} s"


if __name__ == "__main__":
    for line in run(*(kind(value) for kind, value in zip((int, float), sys.argv[1:], strict=False))):
        print(line)
