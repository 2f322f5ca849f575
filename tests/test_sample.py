"""The embedded sample as it is shipped: complete, consistent with its lock, its card and its provenance."""

import io
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from PIL import Image

import medgen_bench
from medgen_scripts import make_sample
from medgen_scripts import transforms
from medgen_scripts.sample_records import build
from medgen_scripts.sample_records.sources import SOURCES
from medgen_scripts.sample_records.views import VIEWS

FOLDER = make_sample.FOLDER
CARD = FOLDER.parent / "README.md"
ROWS = [
    {"config": config, "output_images": [], "answer": None, **row}
    for config in medgen_bench.CONFIGS
    for row in pq.read_table(FOLDER / f"{config}.parquet").to_pylist()
]
PROVENANCE = json.loads((FOLDER / "provenance.json").read_text("utf-8"))
TASKS = [name for name in medgen_bench.TASKS if name != "disease-prediction"]


def images(row: dict) -> list[dict]:
    return [*row["input_images"], *row["output_images"]]


def pixels(image: dict) -> np.ndarray:
    return build.decode(image["bytes"])


def test_it_is_as_large_as_promised():
    tasks = Counter(row["task"] for row in ROWS)
    modalities = Counter(row["modality"] for row in ROWS)
    assert len(ROWS) >= 60
    assert set(tasks) == set(TASKS)
    assert min(tasks.values()) >= 3
    assert set(modalities) == set(medgen_bench.MODALITIES) - {"Other"}
    assert min(modalities.values()) >= 8
    assert min(len({r["group"] for r in ROWS if r["modality"] == modality}) for modality in modalities) >= 2
    assert sum(len(row["input_images"]) > 1 for row in ROWS if row["config"] == "vqa") >= 2
    assert sum(file.stat().st_size for file in FOLDER.glob("*.parquet")) <= 8_000_000


def test_rows_lie_in_the_config_of_their_task_and_have_its_columns():
    for config in medgen_bench.CONFIGS:
        schema = pq.read_schema(FOLDER / f"{config}.parquet")
        assert schema.names == list(medgen_bench.features(config))
    for row in ROWS:
        assert medgen_bench.TASKS[row["task"]].config == row["config"]
        assert medgen_bench.canonical_modality(row["modality"]) == row["modality"]


def test_stored_rows_are_what_the_lock_says():
    assert make_sample.stored_differences(FOLDER) == []


def test_ids_are_those_of_the_definition_and_differ():
    for row in ROWS:
        files = [[image["bytes"] for image in row[name]] for name in ("input_images", "output_images")]
        assert row["id"] == medgen_bench.record_id(row["task"], row["instruction"], *files)
    assert len({row["id"] for row in ROWS}) == len({row["release_id"] for row in ROWS}) == len(ROWS)
    assert len({(row["instruction"], row["id"][-12:]) for row in ROWS}) == len(ROWS)


def test_images_are_small_8_bit_pngs_without_text_in_the_file():
    for row in ROWS:
        for image in images(row):
            decoded = Image.open(io.BytesIO(image["bytes"]))
            assert decoded.format == "PNG"
            assert decoded.mode in ("L", "RGB")
            assert max(decoded.size) <= 560
            assert decoded.info == {}
            assert re.fullmatch(r"sample-[a-z]+-\d\d-(input|reference)-\d\.png", image["path"])


def test_each_reference_differs_from_its_input():
    for row in ROWS:
        if row["config"] == "vqa":
            continue
        (before,), (after,) = row["input_images"], row["output_images"]
        assert build.pixel_digest(pixels(before)) != build.pixel_digest(pixels(after)), row["id"]


@pytest.mark.parametrize("config", ["edit", "gen"])
def test_provenance_says_how_each_pair_was_made(config):
    """What `before` and `after` name turns the one picture into the other, pixel by pixel, from the shipped files."""
    tried = Counter()
    for row in ROWS:
        made = PROVENANCE[row["id"]]
        if row["config"] != config or made["reference"] != made["views"][0] or (made["before"] and made["after"]):
            continue
        source, result = pixels(row["input_images"][0]), pixels(row["output_images"][0])
        steps = made["after"]
        if made["before"]:
            source, result, steps = result, source, made["before"]
        for step in steps:
            source = transforms.apply(step["transform"], source, **step["parameters"])
        assert np.array_equal(source, result), row["id"]
        tried[row["task"]] += 1
    assert len(tried) == {"edit": 5, "gen": 3}[config], tried


def test_closed_questions_can_be_answered():
    letters = Counter()
    for row in ROWS:
        if row["task"] == "multiple-choice":
            assert row["answer"] in row["choices"]
            assert medgen_bench.split_options(row["instruction"])[1] == row["choices"]
            assert len(set(row["choices"])) == 4
            letters[row["answer"][0]] += 1
        else:
            assert row["choices"] == []
        if row["task"] == "blank-filling":
            assert row["instruction"].count("____") == 1
            assert row["answer"].isalpha()
            assert row["answer"].lower() not in row["instruction"].lower()
    assert max(letters.values()) <= 3, "one letter must not pay"


def test_open_answers_are_there_and_reports_have_their_sections():
    for row in ROWS:
        assert row["instruction"].isascii()
        if row["config"] == "edit":
            continue
        assert row["answer"].strip() == row["answer"] != ""
        if row["task"] == "report-generation":
            sections = re.findall(r"^([A-Z]+): ", row["answer"], re.MULTILINE)
            assert sections == ["EXAMINATION", "TECHNIQUE", "FINDINGS", "IMPRESSION"]


def test_every_image_has_an_origin_with_terms_and_none_is_of_the_forbidden_ones():
    text = (FOLDER / "SOURCES.md").read_text("utf-8")
    used = {VIEWS[name].source for made in PROVENANCE.values() for name in [*made["views"], made["reference"]] if name}
    assert used == set(SOURCES), "a source that nothing uses must not be listed"
    for source in SOURCES.values():
        assert source.origin
        assert source.terms
        assert source.package.licence
        assert source.member in text
        assert not source.member.rsplit("/", 1)[1].startswith("693_")
    for row in ROWS:
        assert row["id"] in text
        assert PROVENANCE[row["id"]]["support"]


def test_the_conditions_of_each_package_license_are_shipped():
    text = (FOLDER / "LICENSES.md").read_text("utf-8")
    sources = (FOLDER / "SOURCES.md").read_text("utf-8")
    for source in SOURCES.values():
        name, licence = source.package.distribution, source.package.licence
        heading = f"## {name} ({licence})"
        assert heading in text or f"{name}: Apache License 2.0, https://" in sources
        part = text.partition(heading)[2].partition("## ")[0]
        assert (licence == "Apache-2.0") == ("AS IS" not in part)
    assert text.count("Redistributions of source code must retain") == 3
    assert text.count("The above copyright notice and this permission notice shall be included") == 2
    card = CARD.read_text("utf-8")
    assert sum(source.terms.startswith("No explicit license") for source in SOURCES.values()) == 7
    assert "Seven files have no explicit license" in card


def test_texts_are_in_one_spelling():
    british = re.compile(r"colour|grey|centre|haemat|licence|labelled|neighbour")
    texts = [row["instruction"] + (row["answer"] or "") for row in ROWS]
    texts += [CARD.read_text("utf-8"), (FOLDER / "SOURCES.md").read_text("utf-8")]
    assert [found for text in texts if (found := british.search(text))] == []


def test_the_card_counts_what_is_there():
    card = CARD.read_text("utf-8")
    table = dict(re.findall(r"^\| ([A-Z][\w -]+) \| (\d+ \| \d+ \| \d+) \|$", card, re.MULTILINE))
    for modality in {row["modality"] for row in ROWS}:
        rows = [row for row in ROWS if row["modality"] == modality]
        names = {n for row in rows for n in [*PROVENANCE[row["id"]]["views"], PROVENANCE[row["id"]]["reference"]] if n}
        counts = (len(rows), len({row["group"] for row in rows}), len({VIEWS[name].source for name in names}))
        assert table[modality] == " | ".join(map(str, counts))
    assert f"| `sample` | {len(ROWS)} in {len(TASKS)} tasks |" in card
    for said in ("illustration", "not part of MedGEN-Bench", "not reviewed by clinicians", "population template"):
        assert said in " ".join(card.replace("**", "").split())


@pytest.mark.parametrize("config", medgen_bench.CONFIGS)
def test_plain_datasets_reads_the_files_and_the_card(config, tmp_path):
    """By the Parquet reader and by the card's YAML, without this project: images decode, features are ours."""
    path = str(FOLDER / f"{config}.parquet")
    plain = load_dataset("parquet", data_files={"test": path}, split="test", cache_dir=str(tmp_path / "a"))
    by_card = load_dataset(str(CARD.parent), config, split="test", cache_dir=str(tmp_path / "b"))
    assert plain.features == by_card.features == medgen_bench.features(config)
    expected = [row for row in ROWS if row["config"] == config]
    assert list(plain["id"]) == list(by_card["id"]) == [row["id"] for row in expected]
    assert np.array_equal(np.asarray(plain[0]["input_images"][0]), pixels(expected[0]["input_images"][0]))


def test_the_sample_folder_holds_nothing_else():
    names = {path.name for path in Path(FOLDER).iterdir() if not path.name.startswith("__")}
    texts = {"lock.json", "provenance.json", "SOURCES.md", "LICENSES.md"}
    assert names == {"vqa.parquet", "edit.parquet", "gen.parquet"} | texts
