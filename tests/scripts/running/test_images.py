import io

import numpy as np
import pytest
from PIL import Image

from medgen_scripts.records import Picture
from medgen_scripts.running import images
from medgen_scripts.running.images import BadImage

from ...builders import encoded


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels).convert(mode)


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "LA", "1"])
def test_pixels_are_kept_as_they_are(mode: str) -> None:
    image = noise(17, 11, mode)
    kept = images.keep(encoded(image), [])
    with Image.open(io.BytesIO(kept.png)) as again:
        assert (again.format, again.mode, again.size) == ("PNG", mode, (17, 11))
        assert again.tobytes() == image.tobytes()
    assert kept.flags == ()


def test_jpeg_is_kept_as_it_decodes_upright_and_without_what_else_it_holds() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "a description with a secret"
    data = encoded(noise(40, 20), "JPEG", exif=exif)
    kept = images.keep(data, [])
    with Image.open(io.BytesIO(kept.png)) as again, Image.open(io.BytesIO(data)) as sent:
        assert again.size == kept.size == (20, 40)
        assert np.array_equal(np.asarray(again), np.rot90(np.asarray(sent), -1))
        assert not again.getexif()
    assert b"secret" not in kept.png
    text = Image.new("L", (3, 3))
    text.putpixel((1, 1), 9)
    from PIL.PngImagePlugin import PngInfo

    told = PngInfo()
    told.add_text("prompt", "a secret prompt")
    assert b"secret" not in images.keep(encoded(text, pnginfo=told), []).png


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"", "not_an_image"), (b"<html>no</html>", "not_an_image"), (encoded(noise(64, 64))[:-900], "unreadable")],
)
def test_what_is_no_image_is_refused(data: bytes, kind: str) -> None:
    with pytest.raises(BadImage) as raised:
        images.keep(data, [])
    assert raised.value.kind == kind


def test_a_huge_image_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(BadImage) as raised:
        images.keep(encoded(noise(11, 11)), [])
    assert raised.value.kind == "too_large"


def test_the_input_again_one_colour_and_several_frames_are_flagged() -> None:
    source = noise(30, 20, "L")
    inputs = [Picture(encoded(source))]
    assert images.keep(encoded(source.convert("RGB"), "BMP"), inputs).flags == ("unchanged",)
    changed = source.copy()
    changed.putpixel((3, 3), (source.getpixel((3, 3)) + 1) % 256)  # type: ignore[operator]
    assert images.keep(encoded(changed), inputs).flags == ()
    assert images.keep(encoded(Image.new("RGB", (5, 5), (1, 2, 3))), inputs).flags == ("uniform",)
    frames = encoded(noise(9, 9, "P"), "GIF", save_all=True, append_images=[Image.new("P", (9, 9))])
    kept = images.keep(frames, [])
    assert kept.flags == ("several",)
    with Image.open(io.BytesIO(kept.png)) as again:
        assert getattr(again, "n_frames", 1) == 1


def test_the_size_asked_for_follows_the_aspect_ratio() -> None:
    sizes = ((1024, 1024), (1536, 1024), (1024, 1536), (512, 512))
    for (width, height), expected in {
        (300, 200): (1536, 1024),
        (200, 300): (1024, 1536),
        (800, 810): (1024, 1024),
        (100, 100): (512, 512),
        (1000, 180): (1536, 1024),
    }.items():
        assert images.size_for(Picture(encoded(noise(width, height))), sizes) == expected
    assert images.size_for(Picture(encoded(noise(9, 9))), None) is None
    exif = Image.Exif()
    exif[0x0112] = 6
    assert images.size_for(Picture(encoded(noise(300, 200), "JPEG", exif=exif)), sizes) == (1024, 1536)


def test_inputs_go_as_they_are_unless_they_are_too_large_or_too_many() -> None:
    pictures = [Picture(encoded(noise(40, 20))), Picture(encoded(noise(10, 10)))]
    assert images.sent(pictures, None, None) == (tuple(picture.data for picture in pictures), False)
    (large, small), is_sheet = images.sent(pictures, 20, 2)
    assert not is_sheet
    assert small == pictures[1].data
    with Image.open(io.BytesIO(large)) as image:
        assert image.size == (20, 10)
    (one,), is_sheet = images.sent(pictures, None, 1)
    assert is_sheet
    with Image.open(io.BytesIO(one)) as image:
        assert image.width > 50
