from pathlib import Path
from typing import Any

import pytest

from medgen_scripts.image_roots import ImageRoots
from medgen_scripts.join import Ladder
from medgen_scripts.join import Unjoined
from medgen_scripts.join import category_config
from medgen_scripts.join import id_config
from medgen_scripts.records import Records

from .given import record
from .given import records
from .scored import png

OPTIONS = "\nOptions:\nA. left lung\nB. right lung"


@pytest.fixture
def found() -> Records:
    return records(
        [
            record("style-transfer", 1, release_id="medgen:image_editing:train-00000-of-00002:000007"),
            record("style-transfer", 2, release_id="tableiv:ImageEditing:style-transfer:000002"),
            record("style-transfer", 3, release_id="medgen:ImageEditing:style-transfer:000003"),
            record("noise-reconstruction", 4, instruction="Remove the noise."),
            record("noise-reconstruction", 5, instruction="Remove the noise."),
            record("noise-reconstruction", 6, instruction="Remove  the\nnoise."),
        ]
    )


@pytest.fixture
def ladder(found: Records, tmp_path: Path) -> Ladder:
    for number in (4, 5, 6, 40):
        (tmp_path / f"{number}.png").write_bytes(png(number))
    return Ladder(found, ImageRoots.of(tmp_path / "rows.jsonl"))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"id": "style-transfer-000000000001"}, (0, "id")),
        ({"id": "style-transfer-000000000001", "sample_id": "tableiv:ImageEditing:style-transfer:2"}, (0, "id")),
        ({"sample_id": "style-transfer-000000000002"}, (1, "id")),
        ({"sample_id": "style-transfer-000000000002", "instruction": "Another.", "category": "ImageEdit"}, (1, "id")),
        ({"sample_id": "medgen:image_editing:train-00000-of-00002:000007"}, (0, "sample_id")),
        ({"id": "medgen:image_editing:train-00000-of-00002:7"}, (0, "sample_id")),
        ({"sample_id": "tableiv:ImageEditing:style-transfer:000002"}, (1, "sample_id")),
        ({"sample_id": "medgen:imageediting:style-transfer:2"}, (1, "sample_id")),
        ({"sample_id": "tableiv:ImageEditing:style-transfer:3"}, (2, "sample_id")),
        ({"metadata": {"unique_id": "tableiv:ImageEditing:style-transfer:000002"}}, (1, "sample_id")),
        (
            {"sample_id": "tableiv:ImageEditing:style-transfer:2", "instruction": "Do what  number 2 says."},
            (1, "sample_id"),
        ),
        ({"instruction": "Remove the noise.", "input_image": "5.png"}, (4, "instruction")),
        ({"instruction": "Remove the noise.", "input_image": ["6.png"]}, (5, "instruction")),
        (
            {"sample_id": "elsewhere:1", "instruction": "Remove the noise.", "input_images": ["4.png"]},
            (3, "instruction"),
        ),
    ],
)
def test_the_first_rung_that_holds_is_taken(row: dict[str, Any], expected: tuple[int, str], ladder: Ladder) -> None:
    assert ladder.join(row) == expected


def test_files_named_by_their_content_need_not_be_here(ladder: Ladder, found: Records) -> None:
    name = f"images/assets/ab/{found.input_digests(4)[0]}.png"
    assert ladder.join({"instruction": "Remove the noise.", "input_image": name}) == (4, "instruction")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({}, "expected an id .* got none"),
        ({"id": 7}, "expected an id .* got none"),
        (
            {"id": "style-transfer-000000000009"},
            r"unknown id 'style-transfer-000000000009' in edit, edition release; 3 near matches: style-transfer-0.*"
            r'Use ids from load_dataset\("medgen-bench", "edit", edition="release"\)',
        ),
        ({"id": "multiple-choice-000000000001"}, "is of config vqa, expected edit; give --config vqa"),
        ({"id": "style-transfer-000000000001", "category": "VQA"}, "expected a row of config edit, got one of vqa"),
        (
            {"sample_id": "tableiv:ImageEditing:style-transfer:2", "instruction": "Do something else."},
            "is record style-transfer-000000000002, whose instruction is 'Do what number 2 says.', but the row's is "
            "'Do something else.'; it was made from another release",
        ),
        ({"instruction": "Never asked."}, "no record of edit, edition release has the instruction 'Never asked.'"),
        ({"instruction": "Remove the noise."}, "expected input_image"),
        (
            {"instruction": "Remove the noise.", "input_image": "40.png"},
            "3 records .* have its instruction, none its input",
        ),
        ({"instruction": "Remove the noise.", "input_image": "7.png"}, "'7.png' is not under .* with --image-root"),
        ({"instruction": "Remove the noise.", "input_image": "../7.png"}, "paths with '..' are refused"),
    ],
)
def test_what_belongs_to_no_record_says_why(row: dict[str, Any], said: str, ladder: Ladder) -> None:
    with pytest.raises(Unjoined, match=said):
        ladder.join(row)


def test_ambiguity_is_an_error(tmp_path: Path) -> None:
    twice = [{"bytes": png(1), "path": None}]
    ladder = Ladder(
        records(
            [
                record("style-transfer", 1, release_id="same", instruction="Twice.", input_images=twice),
                record("style-transfer", 2, release_id="same", instruction="Twice.", input_images=twice),
            ]
        ),
        ImageRoots.of(tmp_path / "rows.jsonl"),
    )
    (tmp_path / "1.png").write_bytes(png(1))
    both = "style-transfer-000000000001, style-transfer-000000000002"
    with pytest.raises(Unjoined, match=f"sample_id 'same' names 2 records: {both}"):
        ladder.join({"sample_id": "same"})
    with pytest.raises(Unjoined, match=f"2 records have its instruction and input image: {both}; say which with id"):
        ladder.join({"instruction": "Twice.", "input_image": "1.png"})


def test_questions_join_whether_or_not_their_options_stand_in_the_instruction(tmp_path: Path) -> None:
    image = [{"bytes": png(1), "path": None}]
    question = "Which lung?"
    ladder = Ladder(
        records(
            [
                record(
                    "multiple-choice",
                    1,
                    instruction=question + OPTIONS,
                    choices=["A. left lung", "B. right lung"],
                    input_images=image,
                ),
                record(
                    "multiple-choice", 2, instruction=question, choices=["A. upper", "B. lower"], input_images=image
                ),
            ]
        ),
        ImageRoots.of(tmp_path / "rows.jsonl"),
    )
    (tmp_path / "1.png").write_bytes(png(1))
    row = {"instruction": question, "input_image": "1.png"}
    assert ladder.join({**row, "choice": ["A. upper", "B. lower"]}) == (1, "instruction")
    assert ladder.join({**row, "choice": ["A. left lung", "B. right lung"]}) == (0, "instruction")
    with pytest.raises(Unjoined, match="2 records have its instruction and input image"):
        ladder.join(row)


def test_several_input_images_join_in_their_order(tmp_path: Path) -> None:
    pair = [{"bytes": png(number), "path": None} for number in (1, 2)]
    ladder = Ladder(
        records(
            [
                record("question-answering", 1, instruction="Compare.", input_images=pair),
                record("question-answering", 2, instruction="Compare.", input_images=pair[::-1]),
            ]
        ),
        ImageRoots.of(tmp_path / "rows.jsonl"),
    )
    for number in (1, 2):
        (tmp_path / f"{number}.png").write_bytes(png(number))
    sheet = {"instruction": "Compare.", "input_image": "images/vqa_contact_sheets/0123.jpg"}
    assert ladder.join({**sheet, "input_images": ["1.png", "2.png"]}) == (0, "instruction")
    assert ladder.join({**sheet, "input_images": ["2.png", "1.png"]}) == (1, "instruction")


@pytest.mark.parametrize(
    ("row", "config"),
    [
        ({"category": "VQA"}, "vqa"),
        ({"category": "ImageEdit"}, "edit"),
        ({"category": "MMGeneration"}, "gen"),
        ({"paper_format": "ImageEditing"}, "edit"),
        ({"paper_format": "MultimodalGeneration"}, "gen"),
        ({"category": "Audio"}, None),
        ({"category": 3}, None),
        ({}, None),
    ],
)
def test_public_rows_name_their_config(row: dict[str, Any], config: str | None) -> None:
    assert category_config(row) == config


def test_our_ids_name_their_config() -> None:
    assert id_config("multiple-choice-0123456789ab") == "vqa"
    assert id_config("3d-to-2d-projection-0123456789ab-2") == "gen"
    assert id_config("something-0123456789ab") is None
