import hashlib
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medgen_bench
from medgen_scripts.errors import UsageError
from medgen_scripts.records import Picture
from medgen_scripts.records import load_records

from .given import record
from .given import records
from .scored import png
from .scored import rows
from .scored import write_data


def test_bytes_come_as_they_are_and_nothing_is_decoded() -> None:
    not_a_picture = b"these are no pixels"
    found = records([record("style-transfer", 1, input_images=[{"bytes": not_a_picture, "path": "a.png"}])])
    assert found[0].input_images == (Picture(not_a_picture, "a.png"),)
    assert found[0].output_images[0].data == png(1001)
    assert found.input_digests(0) == (hashlib.sha256(not_a_picture).hexdigest(),)


def test_columns_a_config_lacks_are_empty() -> None:
    edit = records([record("style-transfer", 1)])[0]
    assert edit.answer is None
    vqa = records([record("multiple-choice", 2, choices=["A. one", "B. two"])])[0]
    assert (vqa.output_images, vqa.choices, vqa.answer) == ((), ("A. one", "B. two"), "answer 2")


def test_a_picture_is_opened_upright() -> None:
    image = Image.new("L", (4, 2))
    image.putpixel((0, 0), 255)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned: to be seen, it is rotated by 90 degrees clockwise
    file = BytesIO()
    image.save(file, "PNG", exif=exif)
    opened = Picture(file.getvalue()).open()
    assert opened.size == (2, 4)
    assert np.asarray(opened)[0, 1] == 255


def test_records_are_those_of_the_data_set(tmp_path: Path) -> None:
    found = load_records("edit", "release", write_data(tmp_path, 7))
    expected = list(rows("edit", 7))
    assert found.ids == [row["id"] for row in expected]
    assert found.column("modality") == [row["modality"] for row in expected]
    assert found.index[found.ids[3]] == 3
    assert [item.input_images[0].data for item in found] == [row["input_images"][0]["bytes"] for row in expected]


def test_loading_a_sample_copies_no_image_into_the_cache() -> None:
    # Casting image columns to undecoded ones rewrites the data set; Arrow's own rows are read instead.
    found = load_records("edit", "sample")
    assert found._dataset.cache_files == medgen_bench.load("edit", "sample").cache_files


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("video", "sample"), "unknown config 'video'; expected one of vqa, edit, gen"),
        (("edit", "final"), "unknown edition 'final'; expected one of paper, release, sample"),
        (("edit", "release", "/no/such/folder"), "/no/such/folder: no such folder"),
    ],
)
def test_what_can_not_be_loaded_is_bad_usage(arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        load_records(*arguments)
