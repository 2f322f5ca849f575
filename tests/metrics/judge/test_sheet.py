"""Several images on one sheet."""

import numpy as np
import pytest
from PIL import Image

from medgen_metrics.judge import pictures
from medgen_metrics.judge.pictures import Picture
from medgen_metrics.judge.sheet import columns
from medgen_metrics.judge.sheet import sheet
from tests.metrics.judge.material import opened
from tests.metrics.judge.material import png


@pytest.mark.parametrize(("count", "across"), [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3), (9, 3), (10, 3), (30, 3)])
def test_sheets_have_the_public_releases_columns(count: int, across: int) -> None:
    assert columns(count) == across


def test_a_sheet_shows_each_image_once_in_order_below_its_bar() -> None:
    colours = [(200, 0, 0), (0, 200, 0), (0, 0, 200), (200, 200, 0), (0, 200, 200)]
    shown_images = [Image.new("RGB", (150 - 10 * index, 100), colour) for index, colour in enumerate(colours)]
    pixels = np.asarray(sheet(shown_images, 1024, 900)).astype(int)
    centres = []
    for colour, image in zip(colours, shown_images, strict=True):
        rows, across = (np.abs(pixels - colour).sum(axis=2) == 0).nonzero()
        assert len(rows) == image.width * image.height, "whole, and at its own size"
        centres.append((rows.mean(), across.mean()))
        above = pixels[: rows.min(), int(across.mean())].sum(axis=1)
        assert (above[-60:] == 96).any(), "a dark bar stands above it"
    assert centres[0][0] == pytest.approx(centres[1][0], abs=1)
    assert centres[0][1] < centres[1][1] < centres[2][1]
    assert centres[3][0] > centres[0][0]
    assert centres[3][1] == pytest.approx(centres[0][1], abs=1)


@pytest.mark.parametrize("count", [2, 3, 20])
@pytest.mark.parametrize("size", [(100, 100), (1000, 900), (2000, 200)])
def test_a_sheet_is_laid_out_at_the_size_at_which_it_is_sent(
    count: int, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One resampling an image at most: the sheet itself is never scaled."""
    made = []
    lay_out = pictures.sheet
    monkeypatch.setattr(pictures, "sheet", lambda *given: made.append(lay_out(*given)) or made[-1])
    picture = Picture("Input", tuple(png(Image.new("L", size, 40 + index)) for index in range(count)), "input")
    assert max(picture.width, picture.height) <= 1024
    sent = np.asarray(opened(picture.data).convert("RGB"))
    assert (sent[: made[0].height, : made[0].width] == np.asarray(made[0])).all()


def test_a_sheet_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        sheet([], 100, 100)
