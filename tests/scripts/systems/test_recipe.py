import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.predictions import read_predictions
from medgen_scripts.records import Records
from medgen_scripts.records import load_records
from medgen_scripts.run import run
from medgen_scripts.systems.recipe import Recipe


@pytest.fixture(scope="module")
def records() -> Records:
    return load_records("edit", "sample")


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    text = resources.files("medgen_card.sample").joinpath("provenance.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def test_a_recipe_on_an_intact_input_gives_the_reference(records: Records, made: dict[str, Any]) -> None:
    system = Recipe("sample")
    exact = 0
    for record in records:
        recipe = made[record.id]
        image = system.respond(record).image
        if not recipe["after"]:
            assert image is None
            continue
        assert image is not None
        assert record.input_images[0].open().size == image.size
        if not recipe["before"]:
            assert np.array_equal(np.asarray(image), np.asarray(record.output_images[0].open()))
            exact += 1
    assert exact >= 10


def test_a_degraded_input_is_not_undone(records: Records, made: dict[str, Any]) -> None:
    both = [record for record in records if made[record.id]["before"] and made[record.id]["after"]]
    assert both
    for record in both:
        image = Recipe("sample").respond(record).image
        assert image is not None
        assert not np.array_equal(np.asarray(image), np.asarray(record.output_images[0].open()))


def test_run_writes_images_where_there_is_a_recipe(records: Records, made: dict[str, Any], tmp_path: Path) -> None:
    read = read_predictions(run("recipe", "edit", edition="sample", out=tmp_path), records)
    assert set(read.by_id) == set(records.ids)
    for id, prediction in read.by_id.items():
        assert (prediction.image is not None) == bool(made[id]["after"])


def test_other_editions_and_configs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected edition sample, .* got 'paper'; add --edition sample"):
        Recipe("paper")
    with pytest.raises(UsageError, match="recipe gives image, but config gen asks for text too"):
        run("recipe", "gen", edition="sample", out=tmp_path)
