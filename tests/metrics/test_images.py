"""Intake: every way to give an image."""

import io
import sys
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from medgen_metrics.images import read

from ..builders import encoded
from .image_files import GREY
from .image_files import PIXELS
from .image_files import pixels_of


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


def test_an_image_is_read_while_another_thread_imports_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    assert read(np.zeros((8, 9, 3), np.uint8)).size == (9, 8)
