"""Images in Parquet cells: read when asked for, their neighbours kept for a while, changes noticed."""

import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from medgen_scripts import image_source
from medgen_scripts.errors import Failure
from medgen_scripts.image_source import EmbeddedImage
from medgen_scripts.image_source import as_input

from . import parquet


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [{"image": {"bytes": bytes([number]) * 1000, "path": None}, "n": number} for number in range(12)]
    return parquet.write(tmp_path / "edit.parquet", rows, row_group_size=4)


def image(file: Path, number: int) -> EmbeddedImage:
    return EmbeddedImage(file, number // 4, number % 4, "image", name="a.png", place=number + 1)


def test_images_are_read_in_any_order_and_from_several_threads(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_source, "CACHE_BYTES", 5000)
    order = [7, 0, 11, 3, 4, 8, 1, 10] * 5
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: image(file, number).read_bytes(), order))
    assert found == [bytes([number]) * 1000 for number in order]
    held = image_source._GROUPS._held
    assert sum(column.nbytes for column in held.values()) <= 5000


def test_a_file_that_was_changed_is_noticed(file: Path) -> None:
    assert image(file, 5).read_bytes() == b"\5" * 1000
    parquet.write(file, [{"image": {"bytes": b"new", "path": None}}, {"image": None}])
    os.utime(file, ns=(1, 1))
    assert image(file, 0).read_bytes() == b"new"
    for number in (1, 3, 5):
        with pytest.raises(Failure, match=r"changed|no longer readable"):
            image(file, number).read_bytes()
    file.write_bytes(b"no Parquet")
    with pytest.raises(Failure, match="no longer readable as Parquet"):
        image(file, 0).read_bytes()
    file.unlink()
    with pytest.raises(Failure, match="No such file"):
        image(file, 0).read_bytes()


def test_damaged_images_are_the_files_fault_and_no_output(file: Path, tmp_path: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4:60] = b"\xff" * 56
    damaged = tmp_path / "damaged.parquet"
    damaged.write_bytes(content)
    with pytest.raises(Failure, match=r"damaged.parquet:2: image \(a.png\): .* no longer .*; the file is damaged"):
        image(damaged, 1).read_bytes()


def test_metrics_take_a_path_as_it_is_and_an_embedded_image_as_bytes(file: Path) -> None:
    assert as_input(None) is None
    assert as_input(file) == file
    assert as_input(image(file, 2)) == b"\2" * 1000
    assert str(image(file, 2)) == f"{file}:3: image (a.png)"


def test_python_holds_one_image_at_a_time(tmp_path: Path) -> None:
    size = 200_000
    rows = [{"image": {"bytes": bytes([number]) * size, "path": None}} for number in range(60)]
    file = parquet.write(tmp_path / "edit.parquet", rows, row_group_size=4)
    image(file, 0).read_bytes()
    tracemalloc.start()
    try:
        for number in range(60):
            image(file, number).read_bytes()
        assert tracemalloc.get_traced_memory()[1] < 4 * size
    finally:
        tracemalloc.stop()
