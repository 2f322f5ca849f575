"""Making the sample again: the real rebuild, and what it says when something is not as locked."""

import io
import os
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from medgen_scripts import make_sample
from medgen_scripts.errors import Failure
from medgen_scripts.sample_records import build
from medgen_scripts.sample_records import record
from medgen_scripts.sample_records import sources

# One worker builds the records once for all of these tests.
pytestmark = pytest.mark.xdist_group("sample-rebuild")

WHEELS = Path(__file__).resolve().parent.parent.parent / sources.DEFAULT_CACHE


@pytest.fixture(scope="module")
def rebuilt() -> list[build.Built]:
    """All records, made from the source images. Their packages are fetched before the tests (`make test`)."""
    if not WHEELS.is_dir() and not os.environ.get("CI"):
        pytest.skip("needs the source images: python -m medgen_scripts.make_sample --fetch-only")
    return make_sample.make(make_sample.FOLDER, WHEELS)


@pytest.fixture
def copy(tmp_path) -> Path:
    """A copy of the sample to spoil."""
    return Path(shutil.copytree(make_sample.FOLDER, tmp_path / "sample"))


@pytest.fixture
def package(tmp_path) -> sources.Source:
    """A file in a wheel in tmp_path/wheels."""
    cache = tmp_path / "wheels"
    cache.mkdir()
    with zipfile.ZipFile(cache / "some_data-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("some_data/scan.bin", b"scan")
    digest = "a1f6e4d7c6b50c3c6b5fc4a1b4d7ac0f"
    there = sources.Package("some-data", "1.0", "MIT")
    return replace(sources.SOURCES["ct-abdomen"], package=there, member="some_data/scan.bin", sha256=digest)


def test_a_rebuild_gives_the_locked_ids_texts_and_pixels(rebuilt):
    assert make_sample.differences(rebuilt, make_sample.FOLDER) == []


def test_a_rebuild_written_elsewhere_equals_the_lock_too(rebuilt, tmp_path):
    make_sample.write(rebuilt, tmp_path)
    assert make_sample.stored_differences(tmp_path) == []
    assert (tmp_path / "lock.json").read_bytes() == (make_sample.FOLDER / "lock.json").read_bytes()


def test_a_changed_text_and_a_changed_pixel_are_found(rebuilt, copy):
    first, second = rebuilt[0], rebuilt[-1]
    worded = replace(first, row={**first.row, "instruction": first.row["instruction"] + " Really?"})
    painted = replace(second, pixels={**second.pixels, "output": ["0" * 64]})
    found = make_sample.differences([worded, *rebuilt[1:-1], painted], copy)
    assert [entry for entry in found if first.row["id"] in entry] == [
        f"{first.row['id']}: texts of the rebuilt record differ from the lock's"
    ]
    assert [entry for entry in found if second.row["id"] in entry] == [
        f"{second.row['id']}: output of the rebuilt record differ from the lock's"
    ]
    assert make_sample.differences(rebuilt[1:], copy)[0] == "81 records were built, the lock has 82"


def test_a_stored_image_that_was_touched_is_found(copy):
    rows = list(make_sample.read(copy))
    spoilt = [row for row in rows if row["release_id"].startswith("sample:edit:")]
    image = build.decode(spoilt[3]["output_images"][0]["bytes"]).copy()
    image[5, 5] = 255 - image[5, 5]
    buffer = io.BytesIO()
    Image.fromarray(image).save(buffer, "PNG")
    spoilt[3]["output_images"][0]["bytes"] = buffer.getvalue()
    (copy / "edit.parquet").write_bytes(make_sample._parquet(spoilt, "edit"))
    assert make_sample.stored_differences(copy) == [
        f"{spoilt[3]['id']}: pixels of the stored record differ from the lock's"
    ]


def test_another_png_encoder_changes_nothing():
    """Ids are made of file bytes, so the bytes of an earlier build are kept where the pixels are the same."""
    image = np.random.default_rng(1).integers(0, 255, (20, 30), dtype=np.uint8)
    loose = io.BytesIO()
    Image.fromarray(image).save(loose, "PNG", compress_level=0)
    assert build.Encoder([])(image) != loose.getvalue()
    assert build.Encoder([loose.getvalue()])(image) == loose.getvalue()
    assert np.array_equal(build.decode(build.Encoder([])(image)), image)


def test_pixel_digest_tells_shapes_apart():
    image = np.zeros((4, 6), dtype=np.uint8)
    digests = {build.pixel_digest(array) for array in (image, image.T, image.reshape(2, 4, 3), image.reshape(8, 3))}
    assert len(digests) == 4


def test_a_file_that_is_not_the_one_used_is_an_error(package, tmp_path):
    with pytest.raises(Failure, match=r"expected sha256 a1f6.*Delete the wheel"):
        sources.read(package, tmp_path / "wheels")


def test_an_installed_copy_is_read_where_it_is_the_same_file(tmp_path):
    content = sources.read(sources.SOURCES["fundus-patch"], tmp_path / "none")
    assert content.startswith(b"\x89PNG")
    assert not (tmp_path / "none").exists()


def test_an_index_out_of_reach_is_said_plainly(package, tmp_path, monkeypatch):
    def offline(command: list[str], **_: object) -> subprocess.CompletedProcess:
        assert command[-1] == "some-data==1.0"
        return subprocess.CompletedProcess(command, 1, "", "WARNING: retrying\nERROR: No matching distribution found")

    monkeypatch.setattr(sources.subprocess, "run", offline)
    with pytest.raises(Failure, match=r"could not download some-data==1\.0 into .*empty: ERROR: No matching.*by hand"):
        sources.read(package, tmp_path / "empty")
    monkeypatch.setitem(sources.SOURCES, "ct-abdomen", package)
    result = CliRunner().invoke(_app(), ["--fetch-only", "--cache", str(tmp_path / "empty")])
    assert result.exit_code == 1
    assert "could not download" in result.output


def _app():
    import typer

    app = typer.Typer()
    app.command()(make_sample.main)
    return app


def test_a_misspelt_field_of_an_authored_record_is_named(tmp_path, monkeypatch):
    (tmp_path / "edit.yaml").write_text("- task: x\n  subtask: y\n  views: [a]\n  instruktion: z\n  support: s\n")
    monkeypatch.setattr(record, "FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"edit\.yaml: record 1: .*instruktion"):
        record.load("edit")
