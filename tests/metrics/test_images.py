"""Intake: every way to give an image, and every way in which one can be bad."""

import io
import math
import os
import sys
import types
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

# --- what is accepted -----------------------------------------------------------------------------------------------


def test_the_same_pixels_however_they_are_given(tmp_path: Path) -> None:
    image = Image.fromarray(PIXELS)
    path = tmp_path / "a file\nwith ünicode.png"
    image.save(path)
    chw = torch.from_numpy(PIXELS).permute(2, 0, 1)
    sources = [
        image,
        path,
        str(path),
        encoded(image),
        bytearray(encoded(image)),
        PIXELS,
        PIXELS[::-1][::-1],
        np.dstack([PIXELS, GREY]),
        PIXELS / 255,
        (PIXELS / 255).astype(np.float32),
        chw,
        chw.float() / 255,
        (chw.double() / 255).requires_grad_(),
        [image, Image.new("RGB", (3, 3))],
    ]
    for source in sources:
        np.testing.assert_array_equal(pixels_of(source), PIXELS)


def test_half_precision_tensors_are_rounded_to_their_nearest_level() -> None:
    for dtype in (torch.float16, torch.bfloat16):
        got = pixels_of(torch.from_numpy(PIXELS).permute(2, 0, 1).to(torch.float64).div(255).to(dtype))
        assert np.abs(got.astype(int) - PIXELS).max() <= 1


def test_grey_becomes_rgb() -> None:
    for source in (GREY, GREY[..., None], Image.fromarray(GREY), torch.from_numpy(GREY), torch.from_numpy(GREY)[None]):
        np.testing.assert_array_equal(pixels_of(source), np.dstack([GREY] * 3))


@pytest.mark.parametrize("pages", [1, 3])
@pytest.mark.parametrize("format_", ["PNG", "TIFF", "GIF", "WEBP"])
def test_an_image_edited_after_it_was_opened_is_read_as_edited(format_: str, pages: int, tmp_path: Path) -> None:
    path = tmp_path / "image"
    first, *others = [Image.fromarray(PIXELS + np.uint8(page)) for page in range(pages)]
    first.save(path, format_, **({"save_all": True, "append_images": others} if others else {}))
    with Image.open(path) as image:
        image.paste(1, (0, 0, 9, 9))
        edited = np.asarray(image.convert("RGB"))
        np.testing.assert_array_equal(pixels_of(image), edited)
        np.testing.assert_array_equal(np.asarray(image.convert("RGB")), edited)
    with Image.open(path) as image:
        assert not np.array_equal(np.asarray(image.convert("RGB")), edited)


def test_transparency_is_dropped_and_the_caller_keeps_it() -> None:
    rgba = Image.fromarray(np.dstack([PIXELS, GREY]))
    np.testing.assert_array_equal(pixels_of(encoded(rgba)), PIXELS)
    palette = Image.fromarray(PIXELS).quantize(8)
    expected = np.asarray(palette.convert("RGB"))
    palette.info["transparency"] = bytes(range(8))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(pixels_of(palette), expected)
        np.testing.assert_array_equal(pixels_of(encoded(palette, transparency=3)), expected)
    assert palette.info["transparency"] == bytes(range(8))
    grey_alpha = Image.merge("LA", [Image.fromarray(GREY), Image.fromarray(GREY)])
    np.testing.assert_array_equal(pixels_of(encoded(grey_alpha)), np.dstack([GREY] * 3))


def test_palette_one_bit_and_cmyk() -> None:
    palette = Image.fromarray(PIXELS).quantize(16)
    np.testing.assert_array_equal(pixels_of(encoded(palette)), np.asarray(palette.convert("RGB")))
    bits = Image.fromarray(GREY > 127)
    assert bits.mode == "1"
    np.testing.assert_array_equal(pixels_of(encoded(bits)), np.dstack([(GREY > 127) * np.uint8(255)] * 3))
    cmyk = Image.fromarray(PIXELS).convert("CMYK")
    assert np.abs(pixels_of(encoded(cmyk, "TIFF")).astype(int) - PIXELS).max() <= 1


@pytest.mark.parametrize("orientation", range(1, 9))
def test_turned_as_exif_says(orientation: int) -> None:
    # independent of Pillow's own transposition: the eight cases of the EXIF standard on an array
    turned = {
        1: PIXELS,
        2: PIXELS[:, ::-1],
        3: PIXELS[::-1, ::-1],
        4: PIXELS[::-1],
        5: PIXELS.transpose(1, 0, 2),
        6: np.rot90(PIXELS, -1),
        7: PIXELS[::-1, ::-1].transpose(1, 0, 2),
        8: np.rot90(PIXELS),
    }[orientation]
    exif = Image.Exif()
    exif[0x0112] = orientation
    for format_ in ("PNG", "TIFF"):
        np.testing.assert_array_equal(pixels_of(encoded(Image.fromarray(PIXELS), format_, exif=exif)), turned)
    jpeg = Image.open(io.BytesIO(encoded(Image.fromarray(PIXELS), "JPEG", exif=exif)))
    assert read(jpeg).size == (turned.shape[1], turned.shape[0])


def test_broken_exif_declares_no_orientation() -> None:
    jpeg = encoded(Image.fromarray(PIXELS), "JPEG", exif=b"Exif\0\0" + bytes(range(40)))
    assert read(jpeg).size == (16, 12)


def test_first_of_several_images_is_noted(tmp_path: Path) -> None:
    pages = [Image.fromarray(PIXELS), Image.fromarray(255 - PIXELS)]
    for format_, options in (("TIFF", {}), ("GIF", {}), ("PNG", {}), ("WEBP", {"lossless": True})):
        content = encoded(pages[0], format_, save_all=True, append_images=pages[1:], **options)
        picture = read(content)
        assert picture.several, format_
        assert picture.image is not None
        if format_ != "GIF":
            np.testing.assert_array_equal(np.asarray(picture.image), PIXELS)
        assert not read(encoded(pages[0], format_)).several
    assert read(pages).several
    assert not read(pages[:1]).several


# --- what is bad ----------------------------------------------------------------------------------------------------


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


def test_an_image_is_read_while_another_thread_imports_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert read(np.zeros((8, 9, 3), np.uint8)).size == (9, 8)
