"""Candidate and reference brought to one scale and one size."""

import io

import numpy as np
import pytest
from PIL import Image

from medgen_metrics.images import read
from medgen_metrics.pairs import pair

from ..builders import encoded
from .image_files import PIXELS
from .image_files import RNG
from .image_files import png_file
from .image_files import reason


def deep(levels: np.ndarray) -> bytes:
    return encoded(Image.fromarray(levels.astype(np.uint16)))


def test_sixteen_bit_pairs_share_one_fixed_map() -> None:
    levels = RNG.integers(0, 30_000, (9, 9)).astype(np.uint16)
    same = pair(read(deep(levels)), read(deep(levels)))
    np.testing.assert_array_equal(np.asarray(same.candidate), np.dstack([levels >> 8] * 3))
    scaled = pair(read(deep(2 * levels + 500)), read(deep(levels)))
    assert np.asarray(scaled.candidate).mean() > 1.8 * np.asarray(scaled.reference).mean()


def test_big_endian_and_tiff_sixteen_bit_are_the_same() -> None:
    levels = RNG.integers(0, 65_536, (9, 9)).astype(np.uint16)
    tiff = encoded(Image.fromarray(levels), "TIFF")
    found = pair(read(tiff), read(Image.open(io.BytesIO(deep(levels)))))
    np.testing.assert_array_equal(np.asarray(found.candidate), np.asarray(found.reference))


def test_a_window_maps_both_sides_and_leaves_eight_bits_alone() -> None:
    levels = np.array([[0, 1000, 1100, 1200, 5000]] * 5, np.uint16)
    found = pair(read(deep(levels)), read(np.full((5, 5), 128, np.uint8)), (1000, 1200))
    np.testing.assert_array_equal(np.asarray(found.candidate)[0, :, 0], [0, 0, 128, 255, 255])
    np.testing.assert_array_equal(np.asarray(found.reference), 128)


def test_different_depths_without_a_window_name_the_rule() -> None:
    levels = np.zeros((5, 5), np.uint16)
    eight, sixteen = read(np.zeros((5, 5), np.uint8)), read(deep(levels))
    real = read(encoded(Image.fromarray(np.zeros((5, 5), np.float32)), "TIFF"))
    for candidate, reference in ((eight, sixteen), (sixteen, eight), (real, sixteen), (real, eight)):
        found, detail = reason(lambda candidate=candidate, reference=reference: pair(candidate, reference))
        assert found == "unreadable"
        assert "images of different depth have no common scale unless the record gives a window" in detail


def test_float_files_have_their_declared_range_only() -> None:
    def tiff(values: np.ndarray) -> bytes:
        return encoded(Image.fromarray(values.astype(np.float32)), "TIFF")

    unit, hounsfield = np.linspace(0, 1, 36).reshape(6, 6), np.linspace(-1000, 1000, 36).reshape(6, 6)
    found = pair(read(tiff(unit)), read(tiff(unit)))
    np.testing.assert_array_equal(np.asarray(found.candidate)[..., 0], np.rint(unit.astype(np.float32) * 255))
    assert reason(lambda: pair(read(tiff(hounsfield)), read(tiff(unit))))[0] == "unreadable"
    # a fault of the reference is not the system's
    assert reason(lambda: pair(read(tiff(unit)), read(tiff(hounsfield))))[0] == "reference_missing"
    windowed = pair(read(tiff(hounsfield)), read(tiff(hounsfield)), (-1000, 1000))
    np.testing.assert_array_equal(np.asarray(windowed.candidate)[[0, -1], [0, -1], 0], [0, 255])


def test_integers_of_32_bits_have_no_range_of_their_own() -> None:
    tiff = encoded(Image.fromarray(np.arange(36, dtype=np.int32).reshape(6, 6)), "TIFF")
    assert "no declared range" in reason(lambda: pair(read(tiff), read(tiff)))[1]
    assert np.asarray(pair(read(tiff), read(tiff), (0, 35)).candidate).max() == 255


def test_sixteen_bit_colour_is_known_as_such() -> None:
    levels = RNG.integers(0, 65_536, (9, 9, 3)).astype(np.uint16)
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in levels)
    png = png_file(9, 9, depth=16, colour=2, rows=rows)
    picture = read(png)
    assert picture.depth == "16-bit colour"
    assert picture.image is not None
    np.testing.assert_array_equal(np.asarray(picture.image), levels >> 8)
    assert reason(lambda: pair(picture, read(PIXELS)))[0] == "unreadable"
    assert pair(picture, picture).flags == ()


def test_the_candidate_takes_the_references_size() -> None:
    candidate, reference = read(PIXELS), read(np.zeros((6, 8, 3), np.uint8))
    found = pair(candidate, reference)
    expected = Image.fromarray(PIXELS).resize((8, 6), Image.Resampling.LANCZOS)
    np.testing.assert_array_equal(np.asarray(found.candidate), np.asarray(expected))
    assert found.flags == ("resized",)
    assert pair(reference, reference).flags == ()


@pytest.mark.parametrize(
    ("candidate", "reference", "is_changed"),
    [
        ((1024, 1024), (512, 512), False),
        ((64, 43), (1500, 1000), False),  # 42.67 rounded
        ((1500, 1000), (64, 43), False),
        ((64, 45), (1500, 1000), True),
        ((1536, 1024), (1024, 1024), True),
        ((100, 200), (200, 100), True),
        ((1, 1), (1, 1), False),
        ((500, 334), (750, 500), False),  # 333.33 rounded up
        ((500, 340), (750, 500), True),
    ],
)
def test_aspect_changes_are_more_than_rounding(
    candidate: tuple[int, int], reference: tuple[int, int], is_changed: bool
) -> None:
    found = pair(read(Image.new("L", candidate)), read(Image.new("L", reference)))
    assert ("aspect_changed" in found.flags) is is_changed
