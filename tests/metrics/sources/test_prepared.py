from typing import Any

import pytest

from medgen_metrics.sources.prepared import candidates

SHEET = "images/vqa_contact_sheets/0123456789abcdef01234567.jpg"
ADAPTER = {"source_data_jsonl": "VQA/blank-filling/data.jsonl", "original_input_image": ["a.png", "b/c.png"]}


def first(row: dict[str, Any]) -> list[str]:
    return [names[0] for names in candidates(row)["input_images"]]


def test_lists_come_before_single_paths() -> None:
    assert first({"input_images": ["1.png", "2.png"], "input_image": SHEET}) == ["1.png", "2.png"]
    assert first({"input_image": "3.png"}) == ["3.png"]
    assert first({"input_image": ["4.png"]}) == ["4.png"]
    outputs = candidates({"ground_truth_image": "5.png", "ground_truth_images": []})["output_images"]
    assert outputs == [("5.png",)]
    assert candidates({}) == {"input_images": [], "output_images": []}


@pytest.mark.parametrize("row", [{"input_image": SHEET}, {"input_image": SHEET, "input_images": [SHEET]}])
def test_a_contact_sheet_gives_way_to_its_images(row: dict[str, Any]) -> None:
    found = candidates({**row, "eval_adapter": ADAPTER})["input_images"]
    assert [names[0] for names in found] == ["source/VQA/blank-filling/a.png", "source/VQA/blank-filling/b/c.png"]
    with pytest.raises(ValueError, match=r"a contact sheet, whose images eval_adapter.original_input_image"):
        candidates(row)


def test_a_path_behind_the_link_is_taken_as_it_is() -> None:
    row = {"input_image": "source/VQA/blank-filling/a.png", "eval_adapter": ADAPTER}
    assert candidates(row)["input_images"] == [("source/VQA/blank-filling/a.png",)]


@pytest.mark.parametrize("value", [3, {"a": 1}, [1], [""], ["a.png", None]])
def test_what_is_no_list_of_paths_is_named(value: Any) -> None:
    with pytest.raises(ValueError, match="input_images: expected a list of relative paths, got"):
        candidates({"input_images": value})
