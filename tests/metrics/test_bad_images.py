"""Every way in which an image can be bad."""

import math
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from PIL import Image

from medgen_metrics.failures import REASONS
from medgen_metrics.failures import Unscored
from medgen_metrics.images import read
from medgen_metrics.pixel import PixelTier

from ..builders import encoded
from .image_files import GREY
from .image_files import PIXELS
from .image_files import pixels_of
from .image_files import png_file
from .image_files import reason


def test_missing(tmp_path: Path) -> None:
    for source in (None, [], tmp_path / "none.png", str(tmp_path / "none.png"), "", "a" * 300, "nul\0byte"):
        assert reason(lambda source=source: read(source))[0] == "missing"
    assert reason(lambda: read("Edit Error: quota exceeded"))[0] == "error_text"


def test_damaged_files_are_unreadable(tmp_path: Path) -> None:
    png, jpeg = encoded(Image.fromarray(PIXELS)), encoded(Image.fromarray(PIXELS), "JPEG")
    tiff = encoded(Image.fromarray(PIXELS), "TIFF")[:-500]
    damaged = [b"", png[:-40], png[:30], png[:9], jpeg[: len(jpeg) // 2], tiff]
    path = tmp_path / "damaged.png"
    for content in damaged:
        assert reason(lambda content=content: read(content))[0] == "unreadable"
        path.write_bytes(content)
        assert reason(lambda: read(path))[0] == "unreadable"
    assert reason(lambda: read(tmp_path))[0] == "unreadable"
    assert reason(lambda: read(Image.new("RGB", (0, 4))))[0] == "unreadable"
    assert reason(lambda: read(np.zeros((0, 4, 3), np.uint8)))[0] == "unreadable"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    assert reason(lambda: read(tmp_path / "pipe.png"))[0] == "unreadable"


def test_text_named_png_is_not_an_image(tmp_path: Path) -> None:
    path = tmp_path / "answer.png"
    path.write_text("The lesion has been removed.")
    assert reason(lambda: read(path))[0] == "not_an_image"


def test_formats_that_run_programs_are_not_read() -> None:
    eps = encoded(Image.fromarray(PIXELS), "EPS")
    assert reason(lambda: read(eps))[0] == "not_an_image"


def test_a_decompression_bomb_is_too_large() -> None:
    bomb = png_file(60_000, 60_000, depth=8, colour=0, rows=b"\0" * 1000)
    assert reason(lambda: read(bomb))[0] == "too_large"
    huge = np.broadcast_to(np.uint8(0), (20_000, 20_000))
    assert reason(lambda: read(huge))[0] == "too_large"


@pytest.mark.parametrize(("width", "height"), [(9_460, 9_460), (12_000, 12_000), (13_377, 13_377)])
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_what_pillow_only_warns_of_is_too_large(width: int, height: int) -> None:
    claimed = png_file(width, height, depth=8, colour=2, rows=b"\0" * 1000)
    assert reason(lambda: read(claimed)) == (
        "too_large",
        f"{width}x{height} pixels; expected at most {Image.MAX_IMAGE_PIXELS:,}",
    )


def test_a_warning_that_is_made_an_error_is_too_large() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reason(lambda: read(png_file(12_000, 12_000, depth=8, colour=0, rows=b"\0" * 1000)))[0] == "too_large"


def test_the_largest_allowed_size_is_not_refused_for_it() -> None:
    claimed = png_file(9_459, 9_459, depth=8, colour=0, rows=b"\0" * 1000)
    assert reason(lambda: read(claimed))[0] == "unreadable"  # its rows are truncated


def test_the_limit_stands_where_pillows_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", None)
    monkeypatch.setattr("medgen_metrics.images.MAX_PIXELS", 12 * 16 - 1)
    assert reason(lambda: read(encoded(Image.fromarray(PIXELS)))) == ("too_large", "16x12 pixels; expected at most 191")


def test_values_that_are_not_finite_are_unreadable() -> None:
    for bad in (np.nan, np.inf):
        array = PIXELS / 255
        array[3, 3, 1] = bad
        assert reason(lambda array=array: read(array))[0] == "unreadable"
        assert reason(lambda array=array: read(torch.from_numpy(array).permute(2, 0, 1)))[0] == "unreadable"
        image = Image.fromarray(array[..., 1].astype(np.float32))
        assert reason(lambda image=image: read(encoded(image, "TIFF")))[0] == "unreadable"


@pytest.mark.parametrize(
    ("source", "got"),
    [
        (3, "int"),
        ({"bytes": b""}, "dict"),
        (np.zeros((4, 4), np.int32), r"int32 of shape \(4, 4\)"),
        (np.zeros((3, 8, 8)), r"float64 of shape \(3, 8, 8\)"),
        (np.zeros((1, 8, 8, 3), np.uint8), "of shape"),
        (np.zeros((4, 4), bool), "bool"),
        (torch.zeros(8, 8, 3), r"float32 of shape \(8, 8, 3\)"),
        (torch.zeros(3, 8, 8, dtype=torch.int64), "int64"),
        ([Image.new("L", (2, 2)), 7], "int"),
    ],
)
def test_a_wrong_type_is_an_error_that_names_its_position(source: Any, got: str) -> None:
    with pytest.raises(TypeError, match=rf"^predictions\[4\].*{got}"):
        read(source, "predictions[4]")


def test_floats_outside_their_range_are_an_error() -> None:
    for source in (PIXELS.astype(float), torch.full((3, 4, 4), -0.5)):
        with pytest.raises(ValueError, match=r"^predictions\[4\]: expected floats in \[0, 1\]; got values from"):
            read(source, "predictions[4]")
    np.testing.assert_array_equal(pixels_of(np.full((4, 4), 1 + 1e-7)), 255)


@given(st.binary(max_size=400), st.sampled_from(["", "PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP"]), st.data())
@settings(max_examples=300, deadline=None)
def test_whatever_the_bytes_are_there_is_an_image_or_a_reason(noise: bytes, format_: str, data: st.DataObject) -> None:
    content = noise
    if format_:
        whole = bytearray(encoded(Image.fromarray(PIXELS), format_))
        start = data.draw(st.integers(0, len(whole)))
        whole[start : start + len(noise)] = noise
        content = bytes(whole[: data.draw(st.integers(0, len(whole)))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            outcome = str(min(read(content).size) > 0)
        except Unscored as error:
            outcome = error.reason
    assert outcome in ("True", "unreadable", "not_an_image", "too_large")


def seeds() -> list[bytes]:
    """A file of each format and of the modes that are read in ways of their own."""
    image, pages = Image.fromarray(PIXELS), [Image.fromarray(255 - PIXELS)]
    exif = Image.Exif()
    exif[0x0112] = 6
    return [
        encoded(image),
        encoded(image.quantize(9), transparency=3),
        encoded(Image.fromarray(GREY.astype(np.uint16) * 200)),
        encoded(image, exif=exif, save_all=True, append_images=pages),
        encoded(image, "JPEG", exif=exif, icc_profile=bytes(200)),
        encoded(image.convert("CMYK"), "JPEG", progressive=True),
        encoded(image, "TIFF", save_all=True, append_images=pages),
        encoded(image, "TIFF", compression="tiff_lzw"),
        encoded(Image.fromarray(GREY / np.float32(255)), "TIFF"),
        encoded(image, "GIF", save_all=True, append_images=pages),
        encoded(image, "WEBP", save_all=True, append_images=pages),
        encoded(image, "BMP"),
        encoded(image, "PPM"),
        encoded(image, "JPEG2000"),
    ]


SEEDS = seeds()


@given(st.sampled_from(SEEDS), st.data())
@settings(max_examples=200, deadline=None)
def test_a_damaged_image_is_scored_or_has_a_reason(whole: bytes, data: st.DataObject) -> None:
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, min(len(content), 150)) | st.integers(0, len(content)))
        length = data.draw(st.sampled_from([0, 1, 4, 30, len(content)]))
        content[place : place + length] = data.draw(st.binary(max_size=8) | st.just(b"\xff\xff\xff\xff"))
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        patch.setattr("medgen_metrics.images.MAX_PIXELS", 100_000)
        damaged, sound = bytes(content), encoded(Image.fromarray(PIXELS))
        for row in PixelTier(metrics=("ssim", "psnr")).score([damaged, sound], [sound, damaged]):
            assert all(map(math.isfinite, row.values.values()))
            assert row.values.keys() >= {"ssim", "psnr"} - row.reasons.keys()
            assert set(row.reasons.values()) <= set(REASONS)
