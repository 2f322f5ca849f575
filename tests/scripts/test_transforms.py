"""The transforms: each against an independent computation or a literal result."""

import numpy as np
import pytest
from scipy import stats

from medgen_scripts import transforms
from medgen_scripts.transforms import artifacts
from medgen_scripts.transforms import contrast
from medgen_scripts.transforms import exemplar
from medgen_scripts.transforms import marks
from medgen_scripts.transforms import noise
from medgen_scripts.transforms import regions
from medgen_scripts.transforms import removal
from medgen_scripts.transforms import resolution
from medgen_scripts.transforms import style

BOX = {"box": [10, 12, 30, 28]}
PARAMETERS = {
    "annotation.outline": {"mask": BOX, "label": "here", "at": [2, 40]},
    "contrast.stretch": {"low": 40, "high": 180},
    "marks.scale_bar": {"length": 20, "label": "1 cm", "at": [8, 40]},
    "marks.arrow": {"tail": [5, 5], "tip": [40, 30]},
    "marks.inset": {"source": [4, 4, 12, 10], "at": [30, 30]},
    "marks.desaturate": {"mask": BOX},
    "marks.gamma": {"mask": BOX, "exponent": 0.5},
    "noise.salt_and_pepper": {"seed": 1},
    "noise.gaussian": {"seed": 1},
    "noise.rician": {"seed": 1},
    "noise.speckle": {"seed": 1},
    "noise.poisson": {"seed": 1},
    "artifacts.zipper": {"seed": 1},
    "removal.black_fill": {"mask": BOX},
    "removal.blur": {"mask": BOX},
    "removal.clone": {"mask": BOX, "offset": [25, 5]},
    "exemplar.fill": {"mask": BOX, "radius": 2},
    "removal.inpaint": {"mask": BOX, "seed": 1},
}
COLOUR_ONLY = {"marks.desaturate", "style.dab_to_eosin", "style.eosin_to_dab", "style.match_colours"}


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(7)


@pytest.fixture
def grey() -> np.ndarray:
    """48 x 64, all levels."""
    return np.random.default_rng(3).integers(0, 256, (48, 64), dtype=np.uint8)


@pytest.fixture
def colour() -> np.ndarray:
    return np.random.default_rng(4).integers(0, 256, (48, 64, 3), dtype=np.uint8)


def flat(level: int) -> np.ndarray:
    return np.full((200, 200), level, dtype=np.uint8)


@pytest.mark.parametrize("name", sorted(transforms.TRANSFORMS))
def test_every_transform_keeps_its_input_repeats_itself_and_changes_something(name, grey, colour):
    for image in [colour] if name in COLOUR_ONLY else [grey, colour]:
        parameters = dict(PARAMETERS.get(name, {}))
        if name == "style.match_colours":
            parameters["target"] = 255 - image
        before = image.copy()
        first = transforms.apply(name, image, **parameters)
        assert np.array_equal(image, before), "the input was written to"
        assert first.dtype == np.uint8
        assert first.ndim in (2, 3)
        assert first.shape != image.shape or not np.array_equal(first, image)
        assert np.array_equal(first, transforms.apply(name, image, **parameters))


@pytest.mark.parametrize("name", sorted(transforms.TRANSFORMS))
def test_every_transform_refuses_what_is_not_8_bit(name, colour):
    parameters = dict(PARAMETERS.get(name, {}))
    if name == "style.match_colours":
        parameters["target"] = colour
    with pytest.raises(ValueError, match="expected a uint8 array"):
        transforms.apply(name, colour.astype(np.float32) / 255, **parameters)


def test_apply_wants_a_seed_where_and_only_where_something_is_random(grey):
    with pytest.raises(ValueError, match=r"noise\.gaussian needs a seed"):
        transforms.apply("noise.gaussian", grey)
    with pytest.raises(ValueError, match="draws no random numbers"):
        transforms.apply("style.thermal", grey, seed=1)
    with pytest.raises(KeyError, match=r"no transform 'noise\.pink'"):
        transforms.apply("noise.pink", grey)
    other = transforms.apply("noise.gaussian", grey, seed=2)
    assert not np.array_equal(other, transforms.apply("noise.gaussian", grey, seed=1))


class TestNoise:
    def test_salt_and_pepper_hits_five_percent_half_white_half_black(self, rng):
        noisy = noise.salt_and_pepper(np.full((400, 400, 3), 128, dtype=np.uint8), rng)
        changed = (noisy != 128).any(axis=2)
        assert changed.mean() == pytest.approx(0.05, abs=0.003)
        assert (noisy[changed] == 255).mean() == pytest.approx(0.5, abs=0.05)
        assert np.ptp(noisy, axis=2).max() == 0

    def test_gaussian_has_the_mean_and_spread_asked_for(self, rng):
        noisy = noise.gaussian(flat(128), rng, sigma=12).astype(float)
        assert noisy.mean() == pytest.approx(128, abs=0.3)
        assert noisy.std() == pytest.approx(12, rel=0.02)

    @pytest.mark.parametrize("level", [0, 20, 120])
    def test_rician_follows_scipys_distribution(self, rng, level):
        noisy = noise.rician(flat(level), rng, sigma=15).astype(float)
        expected = stats.rice(level / 15, scale=15)
        assert noisy.mean() == pytest.approx(expected.mean(), abs=0.4)
        assert noisy.std() == pytest.approx(expected.std(), rel=0.03)

    @pytest.mark.parametrize("level", [40, 120])
    def test_speckle_spread_grows_with_the_signal(self, rng, level):
        noisy = noise.speckle(flat(level), rng, sigma=0.2).astype(float)
        assert noisy.mean() == pytest.approx(level, rel=0.01)
        assert noisy.std() == pytest.approx(0.2 * level, rel=0.03)

    def test_poisson_variance_is_mean_times_255_over_peak(self, rng):
        noisy = noise.poisson(flat(100), rng, peak=51).astype(float)
        assert noisy.mean() == pytest.approx(100, abs=0.5)
        assert noisy.var() == pytest.approx(100 * 255 / 51, rel=0.05)


class TestArtifacts:
    @pytest.mark.parametrize(("severity", "columns"), [("mild", 1), ("moderate", 4), ("severe", 12)])
    def test_zipper_changes_whole_lines_only(self, rng, severity, columns):
        changed = artifacts.zipper(flat(128), rng, severity=severity) != 128
        assert changed.any(axis=0).sum() == columns
        assert changed[:, changed.any(axis=0)].all()

    def test_zipper_runs_across_along_the_other_axis(self, rng):
        changed = artifacts.zipper(flat(128), rng, severity="mild", axis=1) != 128
        assert changed.any(axis=1).sum() == 1

    @pytest.mark.parametrize("axis", [0, 1])
    def test_truncation_is_a_low_pass_in_a_full_fourier_transform_too(self, grey, axis):
        result = artifacts.truncation(grey, severity="moderate", axis=axis).astype(float)
        size = grey.shape[axis]
        frequency = np.abs(np.fft.fftfreq(size) * size)
        kept = frequency < round((size // 2 + 1) * 0.4)
        shape = (-1, 1) if axis == 0 else (1, -1)
        expected = np.fft.ifft(np.fft.fft(grey, axis=axis) * kept.reshape(shape), axis=axis).real
        assert np.abs(result - np.clip(np.abs(expected), 0, 255)).max() <= 0.5 + 1e-9

    def test_more_severe_truncation_keeps_less(self, grey):
        errors = [np.abs(artifacts.truncation(grey, s).astype(float) - grey).mean() for s in artifacts.SEVERITIES]
        assert errors == sorted(errors)
        assert errors[0] > 1

    def test_an_unknown_severity_is_an_error(self, grey, rng):
        with pytest.raises(ValueError, match="mild, moderate, severe; got 'huge'"):
            artifacts.zipper(grey, rng, severity="huge")


class TestResolution:
    def test_area_by_half_is_the_mean_of_two_by_two_pixels(self, grey):
        expected = grey.reshape(24, 2, 32, 2).mean(axis=(1, 3))
        assert np.abs(resolution.downsample(grey, 0.5, "area") - expected).max() <= 1

    def test_a_third_rounds_the_sides(self, colour):
        assert resolution.downsample(colour, 0.33, "lanczos").shape == (16, 21, 3)

    def test_lanczos_overshoots_at_an_edge_where_area_does_not(self):
        edge = np.full((16, 64), 50, dtype=np.uint8)
        edge[:, 33:] = 200
        assert resolution.downsample(edge, 0.5, "area").max() == 200
        assert resolution.downsample(edge, 0.5, "lanczos").max() > 200

    @pytest.mark.parametrize("arguments", [(0.5, "cubic"), (1.5, "area"), (0, "area")])
    def test_bad_arguments(self, grey, arguments):
        with pytest.raises(ValueError, match=r"method is one of|factor lies between"):
            resolution.downsample(grey, *arguments)


class TestContrast:
    def test_compress_and_stretch_literally(self):
        image = np.array([[0, 100, 255]], dtype=np.uint8)
        assert contrast.compress(image, factor=0.5, centre=100).tolist() == [[50, 100, 178]]
        assert contrast.stretch(image, low=50, high=152).tolist() == [[0, 125, 255]]
        with pytest.raises(ValueError, match="low must be below high"):
            contrast.stretch(image, low=5, high=5)

    def test_equalise_flattens_the_histogram_as_scikit_image_does(self, rng):
        from skimage.exposure import equalize_hist

        image = np.clip(rng.normal(90, 15, (256, 256)), 0, 255).astype(np.uint8)
        assert np.abs(contrast.equalise(image) / 255 - equalize_hist(image)).max() < 0.03

    def test_equalise_keeps_hue(self, rng):
        level = rng.integers(90, 120, (64, 64), dtype=np.uint8)
        image = np.stack([level, level + 20, level + 60], axis=2)
        result = contrast.equalise(image).astype(int)
        inside = (result > 5).all(axis=2) & (result < 250).all(axis=2)
        assert np.abs((result[..., 2] - result[..., 0])[inside] - 60).max() <= 3

    def test_clahe_raises_local_contrast_and_leaves_grey_grey(self, rng):
        image = (100 + 10 * np.sin(np.arange(128) / 3)[None] + np.zeros((128, 1))).astype(np.uint8)
        assert contrast.clahe(image, clip_limit=0.05, tiles=4).std() > 2 * image.std()
        assert contrast.clahe(image).ndim == 2


class TestStyle:
    def test_thermal_anchors(self):
        image = np.array([[0, 50, 100, 150, 205, 255]], dtype=np.uint8)
        assert style.thermal(image)[0].tolist() == [
            [0, 0, 0],
            [40, 0, 110],
            [150, 0, 140],
            [230, 70, 40],
            [255, 180, 0],
            [255, 255, 225],
        ]

    def test_negative(self):
        assert style.negative(np.array([[0, 10, 255]], dtype=np.uint8)).tolist() == [[255, 245, 0]]

    def test_dab_goes_to_eosin_and_haematoxylin_stays(self):
        from skimage.color import hed2rgb
        from skimage.color import rgb2hed

        stains = np.zeros((8, 8, 3))
        stains[..., 0] = 0.05
        stains[..., 2] = np.linspace(0.02, 0.1, 8)
        image = np.rint(255 * hed2rgb(stains)).astype(np.uint8)
        result = rgb2hed(style.dab_to_eosin(image))
        assert np.abs(result[..., 2]).max() < 0.01
        assert np.abs(result[..., 1] - stains[..., 2]).max() < 0.01
        assert np.abs(result[..., 0] - 0.05).max() < 0.01
        back = rgb2hed(style.eosin_to_dab(style.dab_to_eosin(image)))
        assert np.abs(back[..., 2] - stains[..., 2]).max() < 0.02

    def test_stains_need_colour(self, grey):
        with pytest.raises(ValueError, match="stains are separated by colour"):
            style.dab_to_eosin(grey)

    def test_match_colours_takes_over_mean_and_spread(self, rng):
        from skimage.color import rgb2lab

        source = rng.integers(100, 160, (40, 40, 3), dtype=np.uint8)
        target = rng.integers(120, 150, (30, 50, 3), dtype=np.uint8)
        result, wanted = rgb2lab(style.match_colours(source, target)), rgb2lab(target)
        assert np.abs(result.mean((0, 1)) - wanted.mean((0, 1))).max() < 0.5
        assert np.abs(result.std((0, 1)) - wanted.std((0, 1))).max() < 0.5


class TestRegions:
    def test_shapes(self):
        assert np.argwhere(regions.mask((4, 5), {"box": [1, 2, 3, 4]})).tolist() == [[2, 1], [2, 2], [3, 1], [3, 2]]
        ellipse = regions.mask((101, 101), {"ellipse": [50, 50, 40, 20]})
        assert ellipse.sum() == pytest.approx(np.pi * 40 * 20, rel=0.02)
        assert ellipse[50, 15]
        assert not ellipse[15, 50]
        assert regions.mask((101, 101), {"ellipse": [50, 50, 40, 20, 90]})[15, 50]
        assert regions.mask((20, 20), {"polygon": [[2, 2], [12, 2], [12, 12], [2, 12]]}).sum() in range(100, 122)
        both = regions.mask((10, 10), {"any": [{"box": [0, 0, 2, 2]}, {"box": [5, 5, 6, 6]}]})
        assert both.sum() == 5
        assert regions.bounds(both) == (0, 0, 6, 6)

    @pytest.mark.parametrize(
        ("region", "says"),
        [
            ({"circle": [1, 2, 3]}, "a region has one of box, ellipse, polygon, any"),
            ({"box": [0, 0, 2, 2], "ellipse": [1, 1, 1, 1]}, "a region has one of"),
            ({"box": [50, 50, 60, 60]}, "lies outside an image of 20 x 10 pixels"),
        ],
    )
    def test_bad_regions(self, region, says):
        with pytest.raises(ValueError, match=says):
            regions.mask((10, 20), region)


class TestRemoval:
    @pytest.fixture
    def mask(self, grey) -> np.ndarray:
        return regions.mask(grey.shape, BOX)

    def test_only_the_mask_changes(self, grey, colour, mask, rng):
        for image in (grey, colour):
            for result in (
                removal.black_fill(image, mask),
                removal.blur(image, mask),
                removal.blur(image, mask, feather=3),
                removal.inpaint(image, mask, rng),
                removal.clone(image, mask, (25, 5)),
                exemplar.fill(image, mask, radius=2),
            ):
                assert np.array_equal(result[~mask], image[~mask])
                assert not np.array_equal(result[mask], image[mask])
        assert removal.black_fill(grey, mask)[mask].max() == 0

    def test_blur_is_smoother_inside(self, grey, mask):
        assert removal.blur(grey, mask)[mask].std() < grey[mask].std() / 4

    def test_a_feathered_blur_sets_in_gradually(self, grey):
        mask = regions.mask(grey.shape, {"box": [10, 8, 50, 40]})
        hard, soft = (removal.blur(grey, mask, feather=width).astype(float) for width in (0, 7))
        assert np.array_equal(hard[16:32, 18:42], soft[16:32, 18:42])
        # One pixel inside, one eighth of the change is made.
        edge = grey[24, 10] + (hard[24, 10] - grey[24, 10]) / 8
        assert soft[24, 10] == pytest.approx(edge, abs=0.6)

    def test_clone_continues_a_texture_under_another_shade(self, mask):
        # A texture of period 8, brighter towards the right: the copy has the right phase and the wrong shade.
        texture = np.random.default_rng(5).integers(0, 60, (8, 8))
        image = (np.tile(texture, (6, 8)) + 2 * np.arange(64)[None]).astype(np.uint8)
        assert np.abs(removal.clone(image, mask, (24, 8)).astype(int) - image).max() <= 1
        assert not np.array_equal(image, np.roll(image, 24, axis=1))

    @pytest.mark.parametrize("offset", [(-10, 0), (0, -12), (40, 0), (0, 30)])
    def test_clone_refuses_a_place_beyond_the_image(self, grey, mask, offset):
        with pytest.raises(ValueError, match=r"leaves the image of .* pixels"):
            removal.clone(grey, mask, offset)

    def test_fill_continues_a_pattern_that_the_mask_interrupts(self, colour, mask):
        pattern = np.tile(colour[:7, :9], (7, 8, 1))[:48, :64]
        spoilt = np.where(mask[:, :, None], np.uint8(0), pattern)
        assert np.array_equal(exemplar.fill(spoilt, mask, radius=4), pattern)
        corner = regions.mask(spoilt.shape[:2], {"box": [50, 36, 64, 48]})
        assert np.array_equal(exemplar.fill(np.where(corner[:, :, None], 0, pattern), corner, radius=4), pattern)

    def test_fill_says_when_there_is_nothing_to_copy(self, grey):
        with pytest.raises(ValueError, match="no patch of 9 x 9 pixels lies outside the mask within 3 pixels"):
            exemplar.fill(grey, regions.mask(grey.shape, BOX), radius=4, reach=3)
        with pytest.raises(ValueError, match="a patch of 61 x 61 pixels is larger"):
            exemplar.fill(grey, regions.mask(grey.shape, BOX), radius=30)

    def test_inpaint_continues_a_ramp_exactly(self, mask, rng):
        # A linear ramp is harmonic: each pixel is the mean of its neighbours.
        ramp = (np.arange(64)[None] * 3 + np.arange(48)[:, None]).astype(np.uint8)
        result = removal.inpaint(ramp, mask, rng, grain=0)
        assert np.abs(result.astype(int) - ramp).max() <= 1

    def test_empty_full_and_misfitting_masks(self, grey, rng):
        with pytest.raises(ValueError, match="the mask is empty"):
            removal.black_fill(grey, np.zeros(grey.shape, dtype=bool))
        with pytest.raises(ValueError, match="expected a boolean mask of shape"):
            removal.black_fill(grey, np.ones((3, 3), dtype=bool))
        with pytest.raises(ValueError, match="covers the whole image"):
            removal.inpaint(grey, np.ones(grey.shape, dtype=bool), rng)
        with pytest.raises(ValueError, match="covers the whole image"):
            removal.clone(grey, np.ones(grey.shape, dtype=bool), (0, 0))


class TestMarks:
    def test_outline_keeps_the_region_and_draws_around_it(self):
        image = flat(90)
        mask = regions.mask(image.shape, {"box": [50, 60, 80, 100]})
        drawn = transforms.apply("annotation.outline", image, mask=mask, label="Gland", at=[20, 20], width=3)
        assert (drawn[mask] == 90).all()
        assert drawn[80, 47].tolist() == [255, 255, 0]
        assert drawn[80, 46].tolist() == [90, 90, 90]
        label = (drawn != 90).any(axis=2)
        label[40:] = False
        assert regions.bounds(label)[:2] in [(x, y) for x in (20, 21) for y in range(20, 25)]

    def test_lines_of_a_label_stand_below_each_other(self):
        mask = regions.mask((200, 200), BOX)
        one = transforms.apply("annotation.outline", flat(0), mask=mask, label="a", at=[50, 50])
        two = transforms.apply("annotation.outline", flat(0), mask=mask, label="a\na", at=[50, 50])
        assert np.array_equal(two[62:74, 50:60], one[50:62, 50:60])
        assert one[50:62, 50:60].any()

    def test_scale_bar_has_its_length(self):
        drawn = marks.scale_bar(flat(0), 58, "5 cm", (14, 30))
        assert (drawn[30:33, 14:72] == 255).all()
        assert not drawn[30:33, 72:].any()
        assert drawn[14:27, 14:72].any()

    def test_arrow_reaches_its_tip_and_is_widest_before_it(self):
        drawn = (marks.arrow(flat(0), (10, 100), (110, 100)) != 0).any(axis=2)
        assert drawn[100, 12:109].all()
        assert not drawn[:, 112:].any()
        assert drawn[:, 102].sum() > 2 * drawn[:, 50].sum()

    def test_inset_repeats_pixels_inside_its_frame(self, grey):
        drawn = marks.inset(grey, (4, 4, 12, 10), (30, 30), factor=2)
        assert np.array_equal(drawn[30:42, 30:46, 0], grey[4:10, 4:12].repeat(2, 0).repeat(2, 1))
        assert drawn[29, 29].tolist() == drawn[42, 46].tolist() == drawn[3, 3].tolist() == [255, 255, 0]
        with pytest.raises(ValueError, match="don't fit"):
            marks.inset(grey, (4, 4, 12, 10), (60, 30), factor=2)

    def test_desaturate_gamma_and_flip(self, colour):
        mask = regions.mask(colour.shape[:2], BOX)
        result = marks.desaturate(colour, mask)
        assert np.ptp(result[mask], axis=1).max() == 0
        assert np.abs(result[mask][:, 0] - colour[mask] @ [0.299, 0.587, 0.114]).max() <= 1
        assert np.array_equal(result[~mask], colour[~mask])
        assert marks.gamma(flat(64), np.ones((200, 200), dtype=bool), 0.5)[0, 0] == round(255 * (64 / 255) ** 0.5)
        assert np.array_equal(marks.flip(marks.flip(colour)), colour)
        assert np.array_equal(marks.flip(colour)[:, 0], colour[:, -1])
