"""Loads what `builders` built, and compares images as they are stored."""

from pathlib import Path
from typing import Any

import datasets
import pyarrow.parquet as pq

import medgen_bench

from . import builders


def raw(dataset: Any) -> list[dict[str, Any]]:
    """Records with images as stored."""
    for column in {"input_images", "output_images"} & set(dataset.column_names):
        dataset = dataset.cast_column(column, datasets.List(datasets.Image(decode=False)))
    return list(dataset)


def load(folder: Path, config: str = "edit", edition: str = "release", **options: Any) -> list[dict[str, Any]]:
    return raw(medgen_bench.load(config, edition=edition, data_dir=folder, **options))


def export(
    folder: Path, release: Path, name: str = "{}/test-00000-of-00001.parquet"
) -> dict[str, list[dict[str, Any]]]:
    """Write the release in our layout; gives the records."""
    records = {config: load(release, config) for config in medgen_bench.CONFIGS}
    for config, part in records.items():
        path = folder / name.format(config)
        path.parent.mkdir(parents=True, exist_ok=True)
        table = builders.pa.Table.from_pylist(part, schema=builders.our_schema(config))
        pq.write_table(table, path, row_group_size=3)
    return records
