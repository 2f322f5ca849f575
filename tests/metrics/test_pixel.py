"""SSIM and PSNR against scikit-image and torchmetrics, and what the tier does with a batch."""

import io
import json
import logging
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchmetrics.functional.image as torchmetrics_image
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio
from skimage.metrics import structural_similarity

from medgen_metrics import ssim
from medgen_metrics.pixel import PixelTier
from medgen_metrics.pixel import specs
from medgen_metrics.rows import summarise

RNG = np.random.default_rng(11)
NO_NETWORK = ("ssim", "psnr")


def noisy(image: np.ndarray, sigma: float = 20.0) -> np.ndarray:
    return np.clip(np.rint(image + RNG.normal(0, sigma, image.shape)), 0, 255).astype(np.uint8)


def smooth(height: int, width: int) -> np.ndarray:
    y, x = np.mgrid[:height, :width]
    channels = [127 + 120 * np.sin(x / 9 + shift) * np.cos(y / 7 - shift) for shift in range(3)]
    return np.rint(np.stack(channels, -1)).astype(np.uint8)


def low_contrast(low: int, high: int, shape: tuple[int, ...] = (40, 52, 3)) -> np.ndarray:
    return RNG.integers(low, high + 1, shape).astype(np.uint8)


PAIRS = {
    "natural": (noisy(smooth(75, 90)), smooth(75, 90)),
    "several strips": (noisy(smooth(700, 64)), smooth(700, 64)),
    "wide": (noisy(smooth(13, 3000)), smooth(13, 3000)),
    "identical": (smooth(40, 40), smooth(40, 40)),
    "negative": (255 - smooth(40, 40), smooth(40, 40)),
    "noise": (low_contrast(0, 255), low_contrast(0, 255)),
    "bright": (low_contrast(254, 255), low_contrast(254, 255)),
    "dark": (low_contrast(0, 1), low_contrast(0, 1)),
    "low contrast": (low_contrast(126, 129), low_contrast(126, 129)),
    "flat white": (np.full((30, 30, 3), 255, np.uint8), np.full((30, 30, 3), 255, np.uint8)),
    "flat, one level apart": (np.full((30, 30, 3), 254, np.uint8), np.full((30, 30, 3), 255, np.uint8)),
    "flat black and white": (np.zeros((30, 30, 3), np.uint8), np.full((30, 30, 3), 255, np.uint8)),
    "smallest": (low_contrast(0, 255, (11, 11, 3)), low_contrast(0, 255, (11, 11, 3))),
}


def score(protocol: str, predictions: Any, references: Any, **options: Any) -> Any:
    options = {"metrics": NO_NETWORK, **options}
    windows = options.pop("windows", None)
    return PixelTier(protocol, **options).score(predictions, references, windows)


# --- against independent implementations ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAIRS)
def test_paper_ssim_is_scikit_images(name: str) -> None:
    candidate, reference = PAIRS[name]
    grey = [np.asarray(Image.fromarray(image).convert("L")) for image in (candidate, reference)]
    expected = structural_similarity(*grey, data_range=255)
    assert score("paper", [candidate], [reference])[0].values["ssim"] == pytest.approx(expected, abs=1e-9)
    batch = [torch.tensor(image)[None] for image in grey]
    assert ssim.uniform_batch(*batch) == pytest.approx([expected], abs=1e-9)


@pytest.mark.parametrize("name", PAIRS)
def test_standard_ssim_is_scikit_images(name: str) -> None:
    candidate, reference = PAIRS[name]
    options = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False, "channel_axis": -1}
    expected = structural_similarity(candidate, reference, data_range=255, **options)
    assert score("standard", [candidate], [reference])[0].values["ssim"] == pytest.approx(expected, abs=1e-9)
    batch = [torch.tensor(image)[None] for image in (candidate, reference)]
    assert ssim.gaussian_batch(*batch) == pytest.approx([expected], abs=1e-9)


def test_smallest_image_of_the_papers_window() -> None:
    candidate, reference = low_contrast(0, 255, (7, 7)), low_contrast(0, 255, (7, 7))
    expected = structural_similarity(candidate, reference, data_range=255)
    assert score("paper", [candidate], [reference])[0].values["ssim"] == pytest.approx(expected, abs=1e-9)


def test_batched_ssim_keeps_pairs_apart() -> None:
    images = [smooth(20, 30), low_contrast(0, 255, (20, 30, 3)), low_contrast(254, 255, (20, 30, 3))]
    others = [noisy(image) for image in images]
    first, second = torch.from_numpy(np.stack(images)), torch.from_numpy(np.stack(others))
    expected = [ssim.gaussian(*pair) for pair in zip(images, others, strict=True)]
    assert ssim.gaussian_batch(first, second) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", [name for name in PAIRS if name not in ("identical", "flat white")])
@pytest.mark.parametrize("protocol", ["paper", "standard"])
def test_psnr_is_that_of_scikit_image_torchmetrics_and_its_formula(name: str, protocol: str) -> None:
    candidate, reference = PAIRS[name]
    found = score(protocol, [candidate], [reference])[0].values
    error = np.mean((candidate.astype(float) - reference.astype(float)) ** 2)
    assert found["mse"] == pytest.approx(error, rel=1e-12)
    assert found["psnr"] == pytest.approx(20 * math.log10(255 / math.sqrt(error)), abs=1e-9)
    assert found["psnr"] == pytest.approx(peak_signal_noise_ratio(reference, candidate, data_range=255), abs=1e-9)
    tensors = [torch.from_numpy(image.astype(np.float64)) for image in (candidate, reference)]
    theirs = torchmetrics_image.peak_signal_noise_ratio(*tensors, data_range=255.0)
    assert found["psnr"] == pytest.approx(float(theirs), abs=1e-5)  # its logarithms are in single precision


# --- definitions that no library has --------------------------------------------------------------------------------


def test_identical_images_under_both_protocols() -> None:
    image = smooth(30, 30)
    paper = score("paper", [image], [image])[0]
    assert paper.values["psnr"] == 100.0
    assert paper.values["ssim"] == 1.0
    assert paper.flags == ("identical",)

    rows = score("standard", [image, noisy(image), None], [image] * 3)
    assert "psnr" not in rows[0].values
    assert "psnr" not in rows[0].reasons
    assert rows[0].values["mse"] == 0.0
    assert rows[0].flags == ("identical",)
    figures = summarise(rows, specs("standard", NO_NETWORK))["metrics"]["psnr"]
    assert (figures["n"], figures["scored"], figures["failures"]) == (3, 2, {"missing": 1})
    assert figures["mean"] == rows[1].values["psnr"]
    assert figures["identical_share"] == 0.5
    assert figures["pooled"] == pytest.approx(10 * math.log10(255**2 / (rows[1].values["mse"] / 2)), abs=1e-12)
    assert figures["mean_failures_worst"] == rows[1].values["psnr"] / 2


def test_pooled_psnr_of_nothing_but_identical_images_is_none() -> None:
    image = smooth(30, 30)
    figures = summarise(score("standard", [image], [image]), specs("standard", NO_NETWORK))["metrics"]["psnr"]
    assert (figures["mean"], figures["pooled"], figures["identical_share"]) == (None, None, 1.0)
    assert figures["coverage"] == 1.0


def test_one_size_step_serves_all_metrics() -> None:
    reference, candidate = smooth(48, 64), noisy(smooth(24, 30))
    row = score("paper", [candidate], [reference])[0]
    resized = np.asarray(Image.fromarray(candidate).resize((64, 48), Image.Resampling.LANCZOS))
    grey = [np.asarray(Image.fromarray(image).convert("L")) for image in (resized, reference)]
    assert row.values["ssim"] == pytest.approx(structural_similarity(*grey, data_range=255), abs=1e-9)
    assert row.values["psnr"] == pytest.approx(peak_signal_noise_ratio(reference, resized, data_range=255), abs=1e-9)
    assert row.flags == ("resized", "aspect_changed")
    sizes = {name: value for name, value in row.values.items() if name.endswith(("width", "height"))}
    assert sizes == {
        "candidate_width": 30.0,
        "candidate_height": 24.0,
        "reference_width": 64.0,
        "reference_height": 48.0,
    }


def test_an_image_smaller_than_the_window_loses_that_metric_only() -> None:
    for protocol, side in (("paper", 6), ("standard", 10), ("paper", 1)):
        row = score(protocol, [np.zeros((side, 50), np.uint8)], [np.full((side, 50), 9, np.uint8)])[0]
        assert row.reasons == {"ssim": "too_small"}
        assert row.values["psnr"] == pytest.approx(10 * math.log10(255**2 / 81))


def test_sixteen_bit_pairs_that_differ_in_scale_are_not_equal() -> None:
    levels = (smooth(30, 30)[..., 0].astype(np.uint16)) * 100
    buffers = []
    for values in (levels, 2 * levels + 1000):
        buffer = io.BytesIO()
        Image.fromarray(values.astype(np.uint16)).save(buffer, "PNG")
        buffers.append(buffer.getvalue())
    rows = score("paper", [buffers[1], buffers[1]], [buffers[0], buffers[0]], windows=[None, (0, 60_000)])
    for row in rows:
        assert row.flags == ()
        assert row.values["psnr"] < 20
        assert row.values["ssim"] < 0.9


# --- the batch ------------------------------------------------------------------------------------------------------


def test_bad_images_are_reasons_in_their_own_rows(caplog: pytest.LogCaptureFixture) -> None:
    image = smooth(30, 30)
    predictions = [image, None, b"sorry, no", b"", "API Error: 429", "none.png", image, image]
    references = [image, image, image, image, image, image, None, b"broken"]
    with caplog.at_level(logging.INFO):
        rows = score("paper", predictions, references)
    found = [row.reasons.get("ssim") for row in rows]
    expected: list[str | None] = [None, "missing", "not_an_image", "unreadable", "error_text", "missing"]
    assert found == [*expected, "reference_missing", "reference_missing"]
    for row in rows[1:]:
        assert set(row.reasons) == {"ssim", "psnr"}
        assert len(set(row.reasons.values())) == 1
        assert "mse" not in row.values
    assert rows[6].values == {"candidate_width": 30.0, "candidate_height": 30.0}
    # Why, for a person: once a reason loud, then quiet; a plain None explains itself.
    loud = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert [message.split(":")[0] for message in loud] == [f"predictions[{index}]" for index in (2, 3, 4, 5, 6)]
    assert all(message.endswith(" (further ones of this reason are only counted)") for message in loud)
    assert "reference_missing" in caplog.records[-1].getMessage()
    assert caplog.records[-1].levelno == logging.INFO


def test_a_missing_output_is_the_systems_even_without_a_reference() -> None:
    assert score("paper", [None], [None])[0].reasons["ssim"] == "missing"


def test_wrong_types_and_lengths_name_the_place() -> None:
    image = smooth(30, 30)
    with pytest.raises(TypeError, match=r"^predictions\[1\]: expected .* got int$"):
        score("paper", [image, 3], [image, image])
    with pytest.raises(TypeError, match=r"^references\[0\]: expected .* got dict$"):
        score("paper", [image, 3], [{}, image])
    with pytest.raises(ValueError, match=r"^predictions\[1\]: expected floats in \[0, 1\]"):
        score("paper", [image, image.astype(float)], [image, image])
    with pytest.raises(ValueError, match="1 predictions, 2 references"):
        score("paper", [image], [image, image])
    for window, error in (((1, 1), ValueError), ((0, math.nan), ValueError), (7, TypeError), ("ab", TypeError)):
        with pytest.raises(error, match=r"^windows\[0\]"):
            score("paper", [image], [image], windows=[window])


def test_several_output_images_are_noted() -> None:
    image = smooth(30, 30)
    row = score("paper", [[image, noisy(image)]], [image])[0]
    assert row.flags == ("several_images", "identical")


def test_stacks_are_taken_along_their_first_axis() -> None:
    images = np.stack([smooth(30, 30)] * 2)
    noise = np.stack([noisy(image) for image in images])
    tensors = torch.from_numpy(noise).permute(0, 3, 1, 2).float() / 255
    assert score("paper", tensors, images) == score("paper", list(noise), list(images))


@pytest.mark.parametrize("protocol", ["paper", "standard"])
def test_rows_do_not_depend_on_threads_or_company(
    protocol: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    references = [smooth(30 + 3 * (index % 4), 40) for index in range(25)]
    candidates: list[Any] = [noisy(image) for image in references]
    shared = Image.fromarray(candidates[3])
    lazy = []
    for index in range(4, 10):
        Image.fromarray(candidates[index]).save(tmp_path / f"{index}.png")
        lazy.append(Image.open(tmp_path / f"{index}.png"))
    candidates[4:10] = lazy
    candidates[20:] = [shared] * 5
    candidates[12] = None
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    alone = [score(protocol, [candidate], [image])[0] for candidate, image in zip(candidates, references, strict=True)]
    assert score(protocol, candidates, references) == alone
    monkeypatch.setattr("medgen_metrics.pixel_pairs.thread_count", lambda: 4)
    assert score(protocol, candidates, references) == alone


def test_pil_images_are_decoded_by_the_callers_thread_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # One object may stand in several samples, and Pillow's lazy decoding is not safe to share.
    Image.fromarray(smooth(30, 30)).save(tmp_path / "image.png")
    image = Image.open(tmp_path / "image.png")
    decoders = set()
    load = image.load
    monkeypatch.setattr(image, "load", lambda: decoders.add(threading.current_thread()) or load())
    monkeypatch.setattr("medgen_metrics.pixel_pairs.thread_count", lambda: 4)
    rows = score("paper", [image] * 8, [smooth(30, 30)] * 8)
    assert decoders == {threading.current_thread()}
    assert [row.flags for row in rows] == [("identical",)] * 8


@pytest.mark.parametrize("protocol", ["paper", "standard"])
def test_the_gpus_path_gives_the_processors_rows(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    references = [smooth(30 + 3 * (index % 2), 40) for index in range(7)]
    candidates = [*(noisy(image) for image in references[:-1]), None]
    expected = score(protocol, candidates, references)
    tier = PixelTier(protocol, metrics=NO_NETWORK, device="cpu")
    plan = tier._plan._replace(batches_ssim=True)
    monkeypatch.setattr(PixelTier, "_plan", property(lambda self: plan))
    monkeypatch.setattr("medgen_metrics.lpips_model.batch_size", lambda shape, device: 2)
    for row, known in zip(tier.score(candidates, references), expected, strict=True):
        assert (row.reasons, row.flags) == (known.reasons, known.flags)
        assert row.values == pytest.approx(dict(known.values), abs=1e-12)


def test_thread_count_follows_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    from medgen_metrics.pixel_pairs import thread_count

    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(16)))
    for value, expected in (("1", 1), ("3", 3), ("64", 4), ("", 4), ("many", 4), ("0", 1)):
        monkeypatch.setenv("OMP_NUM_THREADS", value)
        assert thread_count() == expected


# --- specs, definition, signature -----------------------------------------------------------------------------------


def test_specs_load_nothing_heavy() -> None:
    code = (
        "import sys; from medgen_metrics.pixel import specs, PixelTier; specs('standard'); "
        "t = PixelTier(metrics=['ssim']); import numpy as np; t.score([np.zeros((9, 9))], [np.zeros((9, 9))]); "
        "t.signature, t.definition; "
        "print([m for m in ('torch', 'lpips', 'torchvision', 'skimage') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_specs_name_another_network() -> None:
    assert [spec.name for spec in specs(lpips_net="squeeze")] == ["ssim", "psnr", "lpips[squeeze]"]
    assert [spec.name for spec in specs(metrics=["psnr", "ssim"])] == ["psnr", "ssim"]
    assert [(spec.low, spec.high) for spec in specs("paper")] == [(-1.0, 1.0), (0.0, 100.0), (0.0, None)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "papre"}, "protocol: expected paper, standard; got 'papre'"),
        ({"metrics": ["fid"]}, "metrics: expected ssim, psnr, lpips; got 'fid'"),
        ({"metrics": "ssim"}, "expected a list"),
        ({"metrics": []}, "expected a list"),
        ({"metrics": ["ssim", "ssim"]}, "each once"),
        ({"lpips_net": "vgg19"}, "lpips_net: expected alex, squeeze, vgg"),
    ],
)
def test_unknown_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PixelTier(**options)


def test_definition_and_signature_say_how_numbers_are_made() -> None:
    paper, standard = (PixelTier(protocol, metrics=NO_NETWORK) for protocol in ("paper", "standard"))
    assert (
        paper.signature == "medgen_pixel|v:0.1.0|protocol:paper|ssim:grey-uniform7|psnr:rgb-identical100|size:lanczos"
    )
    assert standard.signature.split("|")[3:5] == ["ssim:rgb-gaussian11", "psnr:rgb-identical-apart"]
    assert paper.definition != standard.definition
    assert json.loads(json.dumps(paper.definition)) == paper.definition
    assert paper.unavailable == {}


def test_rows_hold_declared_columns_and_no_value_that_is_not_finite() -> None:
    for protocol in ("paper", "standard"):
        tier = PixelTier(protocol, metrics=NO_NETWORK)
        for row in tier.score(*zip(*PAIRS.values(), strict=True)):
            assert set(row.values) <= set(tier.columns)
            assert all(math.isfinite(value) and type(value) is float for value in row.values.values())
