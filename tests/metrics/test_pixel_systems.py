"""Several systems scored together: the rows of each alone, and what the reference gives computed once."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import alexnet

from medgen_metrics import images
from medgen_metrics import lpips_model
from medgen_metrics import ssim
from medgen_metrics.pixel import PixelTier

COUNT = 7
RNG = np.random.default_rng(8)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("weights") / "alex.pth"
    torch.save(alexnet(weights=None).state_dict(), path)
    return path


def picture(height: int, width: int) -> np.ndarray:
    return RNG.integers(0, 256, (height, width, 3), dtype=np.uint8)


REFERENCES = [picture(40 + 4 * (index % 2), 60) for index in range(COUNT)]
INPUTS: list[Any] = [None, *(picture(40, 60) for _ in range(COUNT - 1))]


def candidates(seed: int) -> list[Any]:
    noise = np.random.default_rng(seed).integers(-20, 20, (44, 60, 3))
    return [np.clip(image + noise[: len(image)], 0, 255).astype(np.uint8) for image in REFERENCES]


SYSTEMS: list[list[Any]] = [candidates(1), candidates(2), candidates(3), list(REFERENCES), [None] * COUNT]
SYSTEMS[0][2] = None
SYSTEMS[1][0] = picture(20, 20)
SYSTEMS[2][4] = b"no image"
SYSTEMS[2][5] = INPUTS[5]


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("protocol", ["paper", "standard"])
def test_each_systems_rows_are_those_it_has_alone(
    protocol: str, batched: bool, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tier = PixelTier(protocol, lpips_weights=weights, device="cpu")
    if batched:  # as on a GPU
        plan = tier._plan._replace(batches_ssim=True)
        monkeypatch.setattr(PixelTier, "_plan", property(lambda self: plan))
    together = tier.score_systems(SYSTEMS, REFERENCES, inputs=INPUTS)
    assert together == [tier.score(system, REFERENCES, inputs=INPUTS) for system in SYSTEMS]
    assert len({row.values.get("lpips") for rows in together for row in rows}) > 3 * COUNT - 4
    # and in any company of records
    assert [rows[3:5] for rows in together] == tier.score_systems(
        [system[3:5] for system in SYSTEMS], REFERENCES[3:5], inputs=INPUTS[3:5]
    )


def test_what_the_reference_gives_is_computed_once(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, encoded = [], []
    originals = images.read, lpips_model.features
    monkeypatch.setattr("medgen_metrics.pixel_target.read", lambda s, w: read.append(w) or originals[0](s, w))
    monkeypatch.setattr(lpips_model, "features", lambda m, i: encoded.append(len(i)) or originals[1](m, i))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    tier = PixelTier(lpips_weights=weights, device="cpu")
    tier.score_systems([candidates(1), candidates(2), candidates(3)], REFERENCES, inputs=INPUTS)
    for what, times in (("predictions", 3), ("references", 1), ("inputs", 1)):
        made = [where for where in read if where.startswith(what)]
        assert len(made) == times * (COUNT - (what == "inputs"))
    assert sum(encoded) == 4 * COUNT  # a reference and three candidates a record; 28 fill seven batches


def test_a_reference_that_can_not_be_read_is_that_for_every_system() -> None:
    tier = PixelTier(metrics=["ssim"])
    rows = tier.score_systems([[REFERENCES[0]], [REFERENCES[1]]], [b"no image"])
    assert [row.reasons for (row,) in rows] == [{"ssim": "reference_missing"}] * 2
    again = tier.score_systems([[None], [REFERENCES[1]]], [None])
    assert [row.reasons for (row,) in again] == [{"ssim": "missing"}, {"ssim": "reference_missing"}]


def test_systems_of_other_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="got 7, 6 predictions, 7 references"):
        PixelTier(metrics=["ssim"]).score_systems([SYSTEMS[0], SYSTEMS[1][1:]], REFERENCES)


@pytest.mark.parametrize("compute", [ssim.uniform, ssim.gaussian])
def test_kept_window_sums_move_no_bit(compute: Any) -> None:
    reference = picture(300, 200)
    kept: dict[Any, Any] = {}
    for _ in range(3):
        other = picture(300, 200)
        pair = [np.asarray(Image.fromarray(image).convert("L")) for image in (other, reference)]
        pair = pair if compute is ssim.uniform else [other, reference]
        assert compute(*pair, kept) == compute(*pair)
    assert kept
