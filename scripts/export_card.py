"""The README.md of an export: YAML by which `datasets` loads it with its features, and words for people."""

from collections.abc import Mapping
from typing import Any

from .export_shards import Written

_ABOUT = {
    "paper": "The paper's edition, *inferred*: the public release without the task disease-prediction.",
    "release": "The public release.",
    "sample": "The illustrative sample of the project medgen-bench. **It is no part of MedGEN-Bench**, and scores on\n"
    "it say nothing about a system's rank there. Sources and licences: [SOURCES.md](SOURCES.md).",
}

# Of the release no licence is stated here: it is its authors' to give.
_SAMPLE_LICENCE = {"license": "other", "license_name": "per-source", "license_link": "SOURCES.md"}


def card(written: Mapping[str, Written], features: Mapping[str, Any], sizes: Mapping[str, int], edition: str) -> str:
    """The text of README.md.

    Args:
        written: config -> its shards, in the order in which they are to be listed.
        features: config -> `datasets.Features`.
        sizes: config -> bytes of its files.
        edition: paper, release or sample.
    """
    import datasets
    from datasets.info import DatasetInfosDict
    from datasets.utils.metadata import MetadataConfigs
    from huggingface_hub import DatasetCardData

    data: Any = DatasetCardData(
        pretty_name=f"MedGEN-Bench, {edition} edition",
        task_categories=["visual-question-answering", "image-to-image", "image-text-to-text"],
        tags=["medical", "benchmark"],
    )
    for name, value in _SAMPLE_LICENCE.items() if edition == "sample" else ():
        data[name] = value
    infos = {
        config: datasets.DatasetInfo(
            features=features[config],
            splits=datasets.SplitDict(
                {"test": datasets.SplitInfo("test", num_bytes=shards.bytes, num_examples=shards.records)}
            ),
            download_size=sizes[config],
            dataset_size=shards.bytes,
        )
        for config, shards in written.items()
    }
    DatasetInfosDict(infos).to_dataset_card_data(data)
    files = {config: {"data_files": [{"split": "test", "path": f"{config}/test-*"}]} for config in written}
    MetadataConfigs(files).to_dataset_card_data(data)
    counts = "\n".join(f"| {config} | {shards.records:,} | {shards.images:,} |" for config, shards in written.items())
    first = next(iter(written))
    return f"""---
{data}
---

# MedGEN-Bench

{_ABOUT[edition]}

Written by `medgen-bench export`: one split, `test`; images are embedded, byte for byte as in the source; ids and groups
are those of `medgen_bench.load`. Texts and images keep the licences of their sources.

```python
from datasets import load_dataset

records = load_dataset("medgen-bench", "{first}", split="test")  # where this folder, medgen-bench, lies
```

With the project installed the same folder is `medgen_bench.load("{first}", edition="{edition}",
data_dir="medgen-bench")`, and `--edition {edition} --data-dir medgen-bench` on the command line.

| config | records | images |
|---|---|---|
{counts}
"""
