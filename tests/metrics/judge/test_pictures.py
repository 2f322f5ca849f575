"""Pictures as the judge sees them: upright, scaled down at most, labelled legibly, drawn once."""

import base64
import io
import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st
from PIL import Image
from PIL import ImageDraw
from PIL import ImageFont

from medgen_metrics import images
from medgen_metrics.failures import Unscored
from medgen_metrics.judge import lettering
from medgen_metrics.judge import pictures
from medgen_metrics.judge.kept import Kept
from medgen_metrics.judge.pictures import Picture
from tests.metrics.judge.material import noise
from tests.metrics.judge.material import opened
from tests.metrics.judge.material import png


def shown(data: bytes, label: str = "Output", **options: Any) -> Image.Image:
    return opened(Picture(label, (data,), "output", **options).data).convert("RGB")


def test_pixels_are_those_of_the_image_above_a_white_strip() -> None:
    data = noise(1, 300, 200)
    image = np.asarray(shown(data))
    assert (image[:200] == np.asarray(opened(data))).all()
    strip = image[200:]
    assert strip.shape[1] == 300
    assert (strip[1:, 0] == 255).all()
    assert strip[1:].min() < 50, "the label is dark"


@pytest.mark.parametrize(
    ("width", "height"), [(128, 128), (1955, 1841), (4000, 90), (60, 3000), (1024, 1024), (1, 1), (1, 4000), (4000, 1)]
)
def test_nothing_sent_is_longer_than_the_side_and_nothing_is_scaled_up(width: int, height: int) -> None:
    label = "Reference"
    image = Image.new("RGB", (width, height), (200, 30, 30))
    result = pictures.label(image, label, 1024)
    assert max(result.size) <= 1024
    pixels = np.asarray(result).astype(int)
    red = (pixels[..., 0] - pixels[..., 1]) > 100
    rows, across = red.any(axis=1).nonzero()[0], red.any(axis=0).nonzero()[0]
    seen = across[-1] - across[0] + 1, rows[-1] - rows[0] + 1
    assert seen[0] <= width
    assert seen[1] <= height
    # as large as the side allows, its aspect kept to the pixel
    scale = max(seen) / max(width, height)
    assert abs(seen[0] - max(1, width * scale)) <= 1
    assert abs(seen[1] - max(1, height * scale)) <= 1
    if max(width, height) <= 900:
        assert seen == (width, height)
    else:
        assert max(result.size) >= 1020


@pytest.mark.parametrize("side", [128, 300, 1024])
@given(width=st.integers(1, 700), height=st.integers(1, 700), text=st.sampled_from(["Input", "Input 12", "Reference"]))
@settings(max_examples=25, deadline=None)
def test_any_size_fits(side: int, width: int, height: int, text: str) -> None:
    result = pictures.label(Image.new("RGB", (width, height)), text, side)
    assert max(result.size) <= side


def drawn_label(text: str, size: int) -> np.ndarray:
    font = ImageFont.load_default(size)
    canvas = Image.new("L", (40 * size, 3 * size), 255)
    ImageDraw.Draw(canvas).text((size, size), text, fill=0, font=font)
    dark = np.asarray(canvas) < 128
    rows, across = dark.any(axis=1).nonzero()[0], dark.any(axis=0).nonzero()[0]
    return dark[rows[0] : rows[-1] + 1, across[0] : across[-1] + 1]


@pytest.mark.parametrize(("width", "height"), [(128, 128), (512, 512), (1955, 1841), (1, 1), (1500, 120), (40, 900)])
def test_the_label_is_legible_and_grows_with_the_picture(width: int, height: int) -> None:
    """The strip holds the whole text, letter for letter as the font sets it, at 16 pixels or 5 % of the side."""
    result = pictures.label(Image.new("RGB", (width, height), "white"), "Reference", 1024)
    pixels = np.asarray(result.convert("L"))
    top = max((pixels == 128).all(axis=1).nonzero()[0])  # the rule between picture and strip
    dark = pixels[top + 1 :] < 128
    rows, across = dark.any(axis=1).nonzero()[0], dark.any(axis=0).nonzero()[0]
    height_of_text = rows[-1] - rows[0] + 1
    assert across[0] > 0
    assert across[-1] < result.width - 1, "no letter touches the edge"
    found = dark[rows[0] : rows[-1] + 1, across[0] : across[-1] + 1]
    sizes = [size for size in range(16, 80) if drawn_label("Reference", size).shape[0] == height_of_text]
    widths = [abs(drawn_label("Reference", size).shape[1] - found.shape[1]) for size in sizes]
    assert min(widths) <= 2, "as wide as the word is in that font, so no letter is cut off"
    side = math.sqrt(width * height) * min(1, 1024 / max(width, height))
    assert min(sizes) <= max(16, 0.055 * side)
    assert max(sizes) >= max(16, 0.04 * side)


def test_without_a_scalable_font_nothing_is_labelled(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import features

    monkeypatch.setattr(features, "check", lambda name: False)
    lettering._font.cache_clear()
    with pytest.raises(RuntimeError, match="FreeType"):
        pictures.label(Image.new("RGB", (10, 10)), "Input", 1024)


# --- intake -----------------------------------------------------------------------------------------------------------


def test_images_are_turned_upright() -> None:
    image = Image.new("RGB", (200, 100), (0, 0, 255))
    image.paste((255, 0, 0), (0, 0, 200, 20))
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees clockwise: the top goes to the right
    buffer = io.BytesIO()
    image.save(buffer, "PNG", exif=exif)
    pixels = np.asarray(shown(buffer.getvalue()))
    assert pixels.shape[1] == 100
    assert tuple(pixels[100, 95]) == (255, 0, 0)
    assert tuple(pixels[100, 5]) == (0, 0, 255)


def test_alpha_is_dropped_and_not_painted_over() -> None:
    pixels = np.full((100, 100, 4), (10, 200, 30, 0), dtype=np.uint8)
    assert tuple(np.asarray(shown(png(pixels)))[50, 50]) == (10, 200, 30)


def test_16_bit_levels_go_through_the_fixed_map() -> None:
    levels = np.arange(100 * 100, dtype=np.uint16).reshape(100, 100) * 6
    picture = Picture("Output", (png(levels),), "output")
    assert picture.drawn.depths == ("16-bit",)
    assert (np.asarray(opened(picture.data))[:100] == levels // 256).all()


def tiff(levels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(levels).save(buffer, "TIFF")
    return buffer.getvalue()


@pytest.mark.parametrize(("role", "reason"), [("output", "unreadable"), ("input", "reference_missing")])
def test_values_without_a_range_are_a_reason(role: str, reason: str) -> None:
    data = tiff(np.full((20, 20), 300.0, dtype=np.float32))
    with pytest.raises(Unscored, match=r"Label.*no declared range") as caught:
        _ = Picture("Label", (data,), role).data
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("data", "reason"), [(b"", "unreadable"), (b"<html>", "not_an_image"), (noise(1)[:200], "unreadable")]
)
def test_a_bad_output_is_the_systems_reason_and_a_bad_record_never(data: bytes, reason: str) -> None:
    with pytest.raises(Unscored) as caught:
        _ = Picture("Output", (data,), "output").data
    assert caught.value.reason == reason
    with pytest.raises(Unscored, match="Input, image 2") as caught:
        _ = Picture("Input", (noise(1), data), "input").data
    assert caught.value.reason == "reference_missing"


# --- encoding ---------------------------------------------------------------------------------------------------------


def test_png_keeps_every_level_and_grey_takes_one_channel() -> None:
    grey = np.random.default_rng(2).integers(0, 256, (60, 90), dtype=np.uint8)
    picture = Picture("Input", (png(grey),), "input")
    assert opened(picture.data).mode == "L"
    assert (np.asarray(opened(picture.data))[:60] == grey).all()
    assert (picture.width, picture.height) == opened(picture.data).size


def test_jpeg_is_near_and_says_so() -> None:
    smooth = np.tile(np.linspace(0, 255, 300, dtype=np.uint8), (200, 1))
    picture = Picture("Input", (png(np.dstack([smooth, smooth[:, ::-1], smooth])),), "input", format="jpeg")
    image = opened(picture.data)
    assert image.format == "JPEG"
    assert np.abs(np.asarray(image)[:200, :, 0].astype(int) - smooth).mean() < 2
    head, _, body = picture.url.partition(",")
    assert head == "data:image/jpeg;base64"
    assert base64.b64decode(body) == picture.data


@pytest.mark.parametrize(("options", "message"), [({"format": "webp"}, "image_format"), ({"side": 100}, "image_side")])
def test_options_are_checked(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Picture("Input", (noise(1),), "input", **options)


def test_a_digest_names_all_that_determines_the_picture() -> None:
    first = Picture("Input", (noise(1),), "input")
    assert first.digest == Picture("Input", (noise(1),), "output").digest
    others = [
        Picture("Output", (noise(1),), "input"),
        Picture("Input", (noise(2),), "input"),
        Picture("Input", (noise(1), noise(1)), "input"),
        Picture("Input", (noise(1),), "input", side=512),
        Picture("Input", (noise(1),), "input", format="jpeg"),
    ]
    assert len({first.digest, *(other.digest for other in others)}) == 6


def test_the_same_picture_is_encoded_once_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    encode = pictures.encode
    monkeypatch.setattr(pictures, "encode", lambda *given: calls.append(1) or encode(*given))
    monkeypatch.setattr(pictures, "_drawn", Kept(1 << 20, lambda drawn: len(drawn.data)))
    data = noise(77, 200, 200)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: Picture("Input", (data,), "input").data, range(40)))
    assert len(set(found)) == 1
    assert len(calls) == 1
    Picture("Output", (data,), "output").drawn  # noqa: B018
    assert len(calls) == 2, "another label is another picture"


def test_the_digest_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "read", lambda *_: pytest.fail("an image was read"))
    assert Picture("Input", (noise(5),), "input").digest
