"""LPIPS against the `lpips` package as the public evaluator calls it, and against the published network as ONNX."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import Resize
from torchvision.transforms import ToTensor

from medgen_metrics import lpips_model
from medgen_metrics.pixel import PixelTier
from medgen_metrics.rows import Row
from medgen_metrics.weights import WeightsUnavailable

RNG = np.random.default_rng(3)


def package_network(net: str) -> Any:
    import lpips

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lpips.LPIPS(net=net, pnet_rand=True, verbose=False).eval()


@pytest.fixture(scope="module")
def networks() -> Any:
    """Networks of the package itself, with weights drawn so that features are as large as trained ones."""
    built = {}
    for seed, net in enumerate(lpips_model.MIN_SIDE):
        torch.manual_seed(seed)
        built[net] = package_network(net)
        for weight in built[net].net.parameters():
            if weight.ndim == 4:
                torch.nn.init.kaiming_normal_(weight)
    return built


@pytest.fixture(scope="module")
def weights(networks: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Their backbones, in torchvision's form."""
    folder = tmp_path_factory.mktemp("weights")
    for net, model in networks.items():
        state = {"features." + name.split(".", 1)[1]: value for name, value in model.net.state_dict().items()}
        torch.save({**state, "classifier.1.weight": torch.zeros(3)}, folder / f"{net}.pth")
    return {net: folder / f"{net}.pth" for net in networks}


def image(height: int, width: int) -> Image.Image:
    small = RNG.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=np.uint8)
    return Image.fromarray(small).resize((width, height), Image.Resampling.BICUBIC)


def values(rows: list[Row], name: str = "lpips") -> list[float]:
    return [row.values[name] for row in rows]


def tier(weights: Path | None, protocol: str = "paper", net: str = "alex", **options: Any) -> PixelTier:
    return PixelTier(protocol, ["lpips"], lpips_net=net, lpips_weights=weights, **options)


def theirs(model: Any, first: Image.Image, second: Image.Image, *, resized: bool) -> float:
    pair = [ToTensor()(Resize((256, 256))(picture) if resized else picture)[None] for picture in (first, second)]
    with torch.no_grad():
        return float(model(*pair, normalize=True))


# --- agreement ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("net", ["alex", "squeeze", "vgg"])
def test_paper_lpips_is_the_packages_at_256(net: str, networks: Any, weights: dict[str, Path]) -> None:
    shapes = [(80, 100), (300, 270), (5, 9)][: 1 if net == "vgg" else None]  # vgg takes seconds a pair
    pairs = [(image(*shape), image(*shape)) for shape in shapes]
    expected = [theirs(networks[net], *pair, resized=True) for pair in pairs]
    name = "lpips" if net == "alex" else f"lpips[{net}]"
    found = values(tier(weights[net], net=net).score(*zip(*pairs, strict=True)), name)
    assert min(expected) > 0.01
    assert found == pytest.approx(expected, abs=1e-6)


def test_the_size_step_comes_before_the_square(networks: Any, weights: dict[str, Path]) -> None:
    candidate, reference = image(60, 200), image(150, 150)
    resized = candidate.resize((150, 150), Image.Resampling.LANCZOS)
    found = values(tier(weights["alex"]).score([candidate], [reference]))
    assert found == pytest.approx([theirs(networks["alex"], resized, reference, resized=True)], abs=1e-6)
    assert abs(found[0] - theirs(networks["alex"], candidate, reference, resized=True)) > 1e-5


@pytest.mark.parametrize("net", ["alex", "squeeze"])
def test_standard_lpips_is_the_packages_at_the_references_size(
    net: str, networks: Any, weights: dict[str, Path]
) -> None:
    side = lpips_model.MIN_SIDE[net]
    pairs = [(image(80, 100), image(80, 100)), (image(64, 90), image(64, 90)), (image(side, 40), image(side, 40))]
    expected = [theirs(networks[net], *pair, resized=False) for pair in pairs]
    name = "lpips" if net == "alex" else f"lpips[{net}]"
    found = values(tier(weights[net], "standard", net).score(*zip(*pairs, strict=True)), name)
    assert found == pytest.approx(expected, abs=1e-6)


def test_standard_reduces_larger_pairs_to_the_stated_area(
    networks: Any, weights: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("medgen_metrics.pixel_target.STANDARD_LPIPS_PIXELS", 64 * 64)
    pair = image(100, 200), image(100, 200)
    row = tier(weights["alex"], "standard").score([pair[0]], [pair[1]])[0]
    small = [picture.resize((90, 45), Image.Resampling.LANCZOS) for picture in pair]
    assert row.flags == ("lpips_reduced",)
    assert values([row]) == pytest.approx([theirs(networks["alex"], small[0], small[1], resized=False)], abs=1e-6)


def test_real_weights_agree_with_the_published_network(lpips_squeeze_onnx: Path, tmp_path: Path) -> None:
    import onnx
    import onnxruntime

    state = {
        "features." + tensor.name.removeprefix("core.net.").split(".", 1)[1]: torch.from_numpy(
            onnx.numpy_helper.to_array(tensor).copy()
        )
        for tensor in onnx.load(str(lpips_squeeze_onnx)).graph.initializer
        if tensor.name.startswith("core.net.")
    }
    torch.save(state, tmp_path / "squeeze.pth")
    session = onnxruntime.InferenceSession(str(lpips_squeeze_onnx), providers=["CPUExecutionProvider"])
    mean, deviation = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])

    def published(picture: Image.Image) -> np.ndarray:
        normalised = (np.asarray(picture) / 255 - mean) / deviation
        return normalised.transpose(2, 0, 1)[None].astype(np.float32)

    from skimage import data

    retina = Image.fromarray(data.retina()).resize((180, 140))
    noise = Image.fromarray(np.clip(np.asarray(retina) + RNG.normal(0, 25, (140, 180, 3)), 0, 255).astype(np.uint8))
    blur = retina.resize((30, 24)).resize((180, 140))
    tissue = Image.fromarray(data.immunohistochemistry()).resize((180, 140))
    candidates, references = [noise, blur, tissue, retina], [retina, retina, retina, retina]
    for protocol in ("paper", "standard"):
        expected = []
        for pair in zip(references, candidates, strict=True):
            shown = (
                [picture.resize((256, 256), Image.Resampling.BILINEAR) for picture in pair]
                if protocol == "paper"
                else pair
            )
            inputs = dict(zip(("ref", "dist"), map(published, shown), strict=True))
            expected.append(session.run(None, inputs)[0].item())
        scorer = tier(tmp_path / "squeeze.pth", protocol, "squeeze")
        found = values(scorer.score(candidates, references), "lpips[squeeze]")
        assert found == pytest.approx(expected, abs=1e-4)
        assert expected[3] == pytest.approx(0, abs=1e-6)
        assert expected[2] > expected[0] > 0.1


# --- batches, sizes, precision --------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["paper", "standard"])
def test_values_do_not_depend_on_company(protocol: str, weights: dict[str, Path]) -> None:
    shapes = [(40, 50), (60, 32), (40, 50), (31, 31), (40, 50), (60, 32), (40, 50), (40, 50), (40, 50)]
    pairs = [(image(*shape), image(*shape)) for shape in shapes]
    scorer = tier(weights["alex"], protocol)
    together = values(scorer.score(*zip(*pairs, strict=True)))
    assert together == [values(scorer.score([first], [second]))[0] for first, second in pairs]


@pytest.mark.parametrize("net", list(lpips_model.MIN_SIDE))
def test_smallest_side_is_the_networks(net: str, networks: Any, weights: dict[str, Path]) -> None:
    side = lpips_model.MIN_SIDE[net]
    smallest = torch.zeros(1, 3, side, side + 20)
    assert torch.isfinite(networks[net](smallest, smallest + 0.1)).all()
    with pytest.raises(RuntimeError, match="too small"):
        networks[net](smallest[:, :, 1:], smallest[:, :, 1:])
    scorer = tier(weights[net], "standard", net)
    name = scorer.specs[0].name
    fits, small = scorer.score([image(side, 60), image(side - 1, 60)], [image(side, 60), image(side - 1, 60)])
    assert name in fits.values
    assert small.reasons == {name: "too_small"}


def test_the_papers_square_takes_images_of_any_size(weights: dict[str, Path]) -> None:
    assert "lpips" in tier(weights["alex"]).score([image(1, 1)], [image(1, 1)])[0].values


def test_autocast_and_default_type_of_the_caller_do_not_matter(weights: dict[str, Path]) -> None:
    pair = image(50, 50), image(50, 50)
    expected = tier(weights["alex"]).score([pair[0]], [pair[1]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert tier(weights["alex"]).score([pair[0]], [pair[1]]) == expected
    lpips_model._models.clear()
    torch.set_default_dtype(torch.float64)
    try:
        found = values(tier(weights["alex"]).score([pair[0]], [pair[1]]))
    finally:
        torch.set_default_dtype(torch.float32)
        lpips_model._models.clear()
    assert found == pytest.approx(values(expected), abs=1e-6)


# --- loading --------------------------------------------------------------------------------------------------------


def test_a_network_is_loaded_once_and_leaves_the_callers_random_numbers_alone(
    weights: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []
    build = lpips_model._build
    monkeypatch.setattr(lpips_model, "_build", lambda *given: built.append(given) or build(*given))
    lpips_model._models.clear()
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    pair = image(40, 40), image(40, 40)
    for _ in range(2):
        tier(weights["alex"]).score([pair[0]], [pair[1]])
    assert torch.equal(torch.rand(3), expected)
    assert len(built) == 1


def test_nothing_is_fetched_behind_the_callers_back(weights: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **options: Any) -> None:
        raise AssertionError("a download")

    monkeypatch.setattr("torch.hub.download_url_to_file", refuse)
    monkeypatch.setattr("torch.hub.load_state_dict_from_url", refuse)
    monkeypatch.setattr("socket.socket.connect", refuse)
    lpips_model._models.clear()
    scorer = tier(weights["alex"])
    assert "lpips" in scorer.score([image(40, 40)], [image(40, 40)])[0].values


def test_without_weights_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(name: str, *, offline: bool | None = None) -> Path:
        raise WeightsUnavailable(f"weights {name} are not on this machine")

    monkeypatch.setattr("medgen_metrics.weights.obtain", unavailable)
    scorer = PixelTier()
    good, missing = scorer.score([image(40, 40), None], [image(40, 40), image(40, 40)])
    assert good.reasons == {"lpips": "weights_missing"}
    assert {"ssim", "psnr"} <= set(good.values)
    assert set(missing.reasons.values()) == {"missing"}
    assert scorer.unavailable == {"lpips": "weights lpips-alex are not on this machine"}
    assert "weights:missing" in scorer.signature
    assert scorer.definition["metrics"]["lpips"]["weights"] is None


def test_the_digest_of_the_weights_is_part_of_the_definition(weights: dict[str, Path], tmp_path: Path) -> None:
    import hashlib

    digest = hashlib.sha256(weights["alex"].read_bytes()).hexdigest()[:16]
    scorer = tier(weights["alex"])
    assert scorer.definition["metrics"]["lpips"]["weights"] == digest
    assert f"|weights:{digest}|" in scorer.signature
    assert "lpips:alex-256" in scorer.signature
    # the same path with other content is other weights
    copy = tmp_path / "w.pth"
    copy.write_bytes(b"one")
    first = lpips_model.weights_digest(copy)
    copy.write_bytes(b"another")
    assert lpips_model.weights_digest(copy) != first


def test_weights_that_are_none_are_errors_that_say_so(weights: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="lpips_weights: expected torchvision's weights file for alex; no file"):
        tier(tmp_path / "none.pth")
    bad = tmp_path / "bad.pth"
    pair = [image(40, 40)], [image(40, 40)]
    bad.write_bytes(b"no weights")
    with pytest.raises(ValueError, match=r"bad.pth: expected torchvision's ImageNet weights .*can't be read"):
        tier(bad).score(*pair)
    torch.save([1, 2], bad)
    with pytest.raises(ValueError, match="got a list"):
        tier(bad).score(*pair)
    with pytest.raises(ValueError, match=r"without features.0.weight of shape \(64, 3, 11, 11\)"):
        tier(weights["squeeze"]).score(*pair)
    state = torch.load(weights["alex"])
    state["features.0.bias"][0] = float("nan")
    torch.save(state, bad)
    with pytest.raises(ValueError, match="not finite"):
        tier(bad).score(*pair)
