"""Edit locality against literal cases and against numpy and scipy."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import binary_dilation
from skimage.metrics import peak_signal_noise_ratio

from medgen_metrics.locality import THRESHOLD
from medgen_metrics.locality import changed_region
from medgen_metrics.locality import locality
from medgen_metrics.pixel import PixelTier
from medgen_metrics.rows import Row

BEFORE = np.random.default_rng(0).integers(60, 200, (40, 50, 3), dtype=np.uint8)


def image(pixels: np.ndarray) -> Image.Image:
    return Image.fromarray(pixels)


def difference(first: np.ndarray, second: np.ndarray) -> Image.Image:
    return image(np.abs(first.astype(int) - second).astype(np.uint8))


def edited(rows: slice, columns: slice, by: int = 50) -> np.ndarray:
    pixels = BEFORE.copy()
    pixels[rows, columns] += np.uint8(by)
    return pixels


REFERENCE = edited(slice(10, 20), slice(15, 25))


def test_region_is_the_change_dilated() -> None:
    region = np.asarray(changed_region(difference(REFERENCE, BEFORE)))
    expected = np.zeros((40, 50), np.uint8)
    expected[7:23, 12:28] = 255  # three pixels more at each side
    assert (region == expected).all()


def test_region_against_scipy() -> None:
    other = np.random.default_rng(1).integers(0, 256, BEFORE.shape, dtype=np.uint8)
    mixed = np.where(np.random.default_rng(2).random((40, 50, 1)) < 0.005, other, BEFORE)
    over = np.abs(mixed.astype(int) - BEFORE).max(axis=2) > THRESHOLD
    expected = binary_dilation(over, np.ones((7, 7), bool))
    assert 0 < expected.mean() < 1
    assert ((np.asarray(changed_region(difference(mixed, BEFORE))) == 255) == expected).all()


@pytest.mark.parametrize(("by", "share"), [(THRESHOLD, 0.0), (THRESHOLD + 1, 256 / 2000)])
def test_what_lies_on_the_threshold_is_kept(by: int, share: float) -> None:
    made = locality(image(BEFORE), image(edited(slice(10, 20), slice(15, 25), by)), image(BEFORE))
    assert made["changed_share"] == share


def test_regions_are_scored_apart() -> None:
    # Half the edit is done, and ten levels are added far from it.
    output = edited(slice(10, 15), slice(15, 25))
    output[30:32, 40:45] += np.uint8(10)
    made = locality(image(output), image(REFERENCE), image(BEFORE))
    assert made == {
        "input_mse": pytest.approx(50**2 * 100 / 2000),
        "changed_share": 256 / 2000,
        "changed_mae": 50 * 50 / 256,
        "changed_gain": pytest.approx(0.5),
        "kept_mae": pytest.approx(10 * 10 / (2000 - 256)),
    }


def test_doing_nothing_gains_nothing_and_the_reference_everything() -> None:
    still = locality(image(BEFORE), image(REFERENCE), image(BEFORE))
    assert (still["changed_gain"], still["kept_mae"]) == (0.0, 0.0)
    whole = locality(image(REFERENCE), image(REFERENCE), image(BEFORE))
    assert (whole["changed_gain"], whole["changed_mae"], whole["kept_mae"]) == (1.0, 0.0, 0.0)


def test_empty_regions_do_not_apply() -> None:
    assert locality(image(BEFORE), image(BEFORE), image(BEFORE)) == {
        "input_mse": 0.0,
        "changed_share": 0.0,
        "kept_mae": 0.0,
    }
    inverted = image(255 - edited(slice(0, 40), slice(0, 50), 55))
    assert set(locality(image(BEFORE), inverted, image(np.zeros_like(BEFORE)))) == {
        "input_mse",
        "changed_share",
        "changed_mae",
        "changed_gain",
    }


# --- in the pixel tier ----------------------------------------------------------------------------------------------

OUTPUT = np.clip(REFERENCE.astype(int) + np.random.default_rng(3).integers(-5, 6, REFERENCE.shape), 0, 255)


def score(candidate: np.ndarray | None, source: object, protocol: str = "paper") -> Row:
    (row,) = PixelTier(protocol, ["ssim", "psnr"]).score([candidate], [REFERENCE], inputs=[source])
    return row


def test_the_tier_adds_them_and_moves_no_score() -> None:
    tier = PixelTier(metrics=["ssim", "psnr"])
    output = OUTPUT.astype(np.uint8)
    row = score(output, BEFORE)
    (bare,) = tier.score([output], [REFERENCE])
    assert {name: row.values[name] for name in bare.values} == bare.values
    assert set(row.values) <= set(tier.columns)
    expected = peak_signal_noise_ratio(REFERENCE, output) - peak_signal_noise_ratio(REFERENCE, BEFORE)
    assert row.values["psnr_gain"] == pytest.approx(expected)
    found = locality(image(output), image(REFERENCE), image(BEFORE))
    assert {name: row.values[name] for name in found} == found
    assert (row.values["input_width"], row.values["input_height"]) == (50.0, 40.0)


def test_an_input_of_another_size_is_brought_to_the_references() -> None:
    small = Image.fromarray(BEFORE).resize((25, 20))
    row = score(OUTPUT.astype(np.uint8), small)
    upright = small.resize((50, 40), Image.Resampling.LANCZOS)
    expected = locality(image(OUTPUT.astype(np.uint8)), image(REFERENCE), upright)
    assert {name: row.values[name] for name in expected} == expected
    assert row.values["input_width"] == 25.0


def test_identical_outputs_have_a_finite_gain_only_under_paper() -> None:
    assert score(REFERENCE, BEFORE).values["psnr_gain"] == pytest.approx(
        100 - peak_signal_noise_ratio(REFERENCE, BEFORE)
    )
    assert "psnr_gain" not in score(REFERENCE, BEFORE, "standard").values


def encoded(pixels: np.ndarray, kind: str, mode: str = "RGB") -> bytes:
    file = BytesIO()
    Image.fromarray(pixels).convert(mode).save(file, kind)
    return file.getvalue()


def test_an_output_with_the_inputs_pixels_is_a_no_op_whatever_its_encoding() -> None:
    tier = PixelTier(metrics=["psnr"])
    nearly = BEFORE.copy()
    nearly[0, 0, 0] ^= 1
    smaller = np.asarray(image(BEFORE).resize((25, 20)))
    outputs = [encoded(BEFORE, "PNG"), encoded(BEFORE, "BMP"), encoded(nearly, "PNG"), encoded(smaller, "PNG"), None]
    rows = tier.score(outputs, [REFERENCE] * 5, inputs=[encoded(BEFORE, "PNG")] * 5)
    assert ["no_op" in row.flags for row in rows] == [True, True, False, False, False]


def test_deep_images_can_be_no_ops_too() -> None:
    deep = np.random.default_rng(5).integers(0, 65536, (20, 20)).astype(np.uint16)
    other = deep + np.uint16(1)  # the same at eight bits nearly everywhere
    tier = PixelTier(metrics=["psnr"])
    sources = [deep_png(deep), deep_png(other)]
    made = tier.score([deep_png(deep)] * 2, [deep_png(deep[::-1])] * 2, inputs=sources)
    assert ["no_op" in row.flags for row in made] == [True, False]


def deep_png(levels: np.ndarray) -> bytes:
    file = BytesIO()
    Image.fromarray(levels).save(file, "PNG")
    return file.getvalue()


@pytest.mark.parametrize("source", [None, [], b"no image"])
def test_an_input_that_can_not_be_read_moves_no_score(source: object) -> None:
    row = score(OUTPUT.astype(np.uint8), source)
    assert row.reasons == {}
    assert "changed_share" not in row.values


def test_wrong_types_are_named() -> None:
    with pytest.raises(TypeError, match=r"inputs\[0\]"):
        score(REFERENCE, 5)
    with pytest.raises(ValueError, match="2 inputs"):
        PixelTier(metrics=["psnr"]).score([REFERENCE], [REFERENCE], inputs=[BEFORE, BEFORE])
