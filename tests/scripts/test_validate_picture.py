"""What `validate` sees in one picture."""

import io

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngImageFile

from medgen_scripts.validate_picture import see
from medgen_scripts.validate_predictions import ENDINGS

from .. import builders


def test_alpha_is_looked_at_without_decoding_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[Image.Image] = []
    load = PngImageFile.load_prepare
    monkeypatch.setattr(PngImageFile, "load_prepare", lambda image: (decoded.append(image), load(image))[1])
    monkeypatch.setattr("medgen_scripts.validate_picture.perceptual_hash", lambda data: None)
    assert see(builders.encoded(Image.new("RGBA", (8, 8)))).hollow == "transparent output"
    assert len(decoded) == 1


def test_a_jpeg_of_several_pictures_is_no_format_that_names_dont_know() -> None:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "MPO", save_all=True, append_images=[Image.new("RGB", (8, 8), "red")])
    assert see(buffer.getvalue(), near=False).format in ENDINGS
