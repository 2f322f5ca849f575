"""Result files of every version of the public evaluator, joined to records loaded from every layout."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import pytest

import medgen_bench
from medgen_scripts.errors import UsageError
from medgen_scripts.predictions import Predictions
from medgen_scripts.predictions import read_predictions
from medgen_scripts.records import Records
from medgen_scripts.scoring.judging import judge_sample

from .. import builders
from .. import layouts

pytestmark = pytest.mark.filterwarnings("ignore:.*records; edition .* has:UserWarning")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same records in each layout."""
    top = tmp_path_factory.mktemp("layouts")
    release = builders.write_release(top / "release")
    folder = layouts.write_folder(top / "folder", builders.release_rows())
    for path in folder.glob("VQA/question-answering/data.jsonl"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows = [row | {"metadata": {"sample_id": f"case-{number}"}} for number, row in enumerate(rows)]
        layouts.write_lines(path, rows)
    return {
        "release": release,
        "folder": folder,
        "tableiv": layouts.write_view_of_folder(top / "tableiv", folder),
        "medgen": layouts.write_view_of_folder(top / "medgen", folder, "medgen"),
        "content": layouts.write_view_of_release(top / "content", release),
    }


@pytest.fixture(scope="module")
def loaded(places: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Records]:
    cache = str(tmp_path_factory.mktemp("cache"))
    found = {}
    for layout, place in places.items():
        for config in ("vqa", "edit"):
            builder = medgen_bench.MedGenBench(cache, config_name=config, edition="release", data_dir=place)
            builder.download_and_prepare()
            made: datasets.Dataset = builder.as_dataset(split="test")
            found[layout, config] = Records(made, config, "release")
    return found


def results(view: Path, config: str) -> list[dict[str, Any]]:
    """What inference writes: the input record and a response that says which record it was given."""
    rows = [json.loads(line) for line in (view / f"{config}.jsonl").read_text().splitlines()]
    return [row | {"response": row["instruction"], "output_image": "", "raw_response": "{}"} for row in rows]


def joined(path: Path, rows: list[dict[str, Any]], records: Records, *roots: Path) -> Predictions:
    """Read the rows as a file and look whether each went to its record."""
    found = read_predictions(layouts.write_lines(path, rows), records, image_roots=roots)
    assert len(found.by_id) == len(rows) == len(records)
    for record in records:
        said = found.by_id[record.id].text or ""
        assert medgen_bench.split_options(said)[0] == medgen_bench.split_options(record.instruction)[0]
    return found


@pytest.mark.parametrize("config", ["vqa", "edit"])
@pytest.mark.parametrize("layout", ["release", "folder", "tableiv", "medgen", "content"])
@pytest.mark.parametrize("view", ["tableiv", "medgen", "content"])
def test_results_of_each_version_join_records_of_each_layout(
    view: str, layout: str, config: str, places: dict[str, Path], loaded: dict[tuple[str, str], Records], tmp_path: Path
) -> None:
    rows = results(places[view], config)
    records = loaded[layout, config]
    found = joined(tmp_path / "x.jsonl", rows, records, places[view], places["folder"])
    same = (view == "content") == (layout in ("release", "content"))
    assert found.join == {"sample_id" if same else "instruction": len(rows)}


@pytest.mark.parametrize("view", ["tableiv", "medgen"])
def test_a_sample_id_alone_is_enough(
    view: str, places: dict[str, Path], loaded: dict[tuple[str, str], Records], tmp_path: Path
) -> None:
    rows = [{"sample_id": row["sample_id"], "response": row["response"]} for row in results(places[view], "edit")]
    for layout in ("folder", "tableiv", "medgen"):
        joined(tmp_path / f"{layout}.jsonl", rows, loaded[layout, "edit"])
    rows = [{"sample_id": row["sample_id"], "response": row["response"]} for row in results(places["content"], "vqa")]
    for layout in ("release", "content"):
        joined(tmp_path / f"{layout}.jsonl", rows, loaded[layout, "vqa"])


def test_rows_made_from_the_folder_itself_join(
    places: dict[str, Path], loaded: dict[tuple[str, str], Records], tmp_path: Path
) -> None:
    rows = [
        json.loads(line)
        for path in sorted(places["folder"].glob("VQA/*/data.jsonl"))
        for line in path.read_text().splitlines()
    ]
    rows = [row | {"response": row["instruction"]} for row in rows]
    found = joined(tmp_path / "x.jsonl", rows, loaded["folder", "vqa"], places["folder"])
    assert found.join == {"sample_id": 2, "instruction": 6}  # two have a name in their metadata
    found = joined(tmp_path / "x.jsonl", rows, loaded["release", "vqa"], places["folder"])
    assert found.join == {"instruction": 8}


def test_predictions_by_our_ids_fit_every_layout(loaded: dict[tuple[str, str], Records], tmp_path: Path) -> None:
    records = loaded["release", "edit"]
    rows = [{"id": record.id, "text": record.instruction, "image": None} for record in records]
    for layout in ("folder", "tableiv", "content"):
        assert joined(tmp_path / "x.jsonl", rows, loaded[layout, "edit"]).join == {"id": len(rows)}


def test_a_contact_sheet_without_its_images_is_told(
    places: dict[str, Path], loaded: dict[tuple[str, str], Records], tmp_path: Path
) -> None:
    sheets = [row for row in results(places["tableiv"], "vqa") if "sheet" in row["eval_adapter"]["input_strategy"]]
    rows = [{k: v for k, v in row.items() if k not in ("eval_adapter", "metadata")} for row in sheets]
    with pytest.raises(UsageError, match=r"2 bad rows(.|\n)*a contact sheet, whose images eval_adapter.original_input"):
        read_predictions(layouts.write_lines(tmp_path / "x.jsonl", rows), loaded["release", "vqa"])


def test_rows_of_the_public_evaluator_say_that_their_system_saw_a_sheet(
    places: dict[str, Path], loaded: dict[tuple[str, str], Records], tmp_path: Path
) -> None:
    """The judge is told (`judge_sample`), since it may be shown the images one by one."""
    rows = results(places["tableiv"], "vqa")
    records = loaded["tableiv", "vqa"]
    found = joined(tmp_path / "x.jsonl", rows, records, places["tableiv"])
    told = {record.id: found.by_id[record.id].meta.get("saw_sheet") for record in records}
    assert {record.id for record in records if len(record.input_images) > 1} == {
        name for name, saw in told.items() if saw is True
    }
    assert set(told.values()) == {True, None}
    several = next(record for record in records if len(record.input_images) > 1)
    assert judge_sample(several, found.by_id[several.id]).saw_sheet is True
    odd = replace(found.by_id[several.id], meta={"saw_sheet": "no"})
    assert judge_sample(several, odd).saw_sheet is None
