import numpy as np
import pytest
from PIL import Image

import medgen_bench
from medgen_scripts.systems.classical import METHODS
from medgen_scripts.systems.classical import upscaled_size


def picture(size: int = 64) -> np.ndarray:
    y, x = np.mgrid[:size, :size]
    smooth = 100 + 60 * np.sin(x / 9) + 40 * np.cos(y / 7)
    return np.repeat(np.uint8(smooth)[..., None], 3, axis=2)


def error(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.mean((a.astype(float) - b) ** 2))


def apply(task: str, pixels: np.ndarray, instruction: str = "") -> np.ndarray:
    return METHODS[task][1](pixels, instruction)


def test_every_image_task_has_a_method() -> None:
    assert set(METHODS) == {name for name, task in medgen_bench.TASKS.items() if task.config != "vqa"}


@pytest.mark.parametrize("task", list(METHODS))
@pytest.mark.parametrize("level", [0, 255])
def test_flat_pictures_are_no_trouble(task: str, level: int) -> None:
    made = apply(task, np.full((40, 50, 3), level, dtype=np.uint8))
    assert made.dtype == np.uint8
    assert made.ndim == 3


@pytest.mark.parametrize("kind", ["gaussian", "impulse"])
def test_denoising_comes_nearer_to_the_clean_picture(kind: str) -> None:
    random = np.random.default_rng(0)
    clean = picture()
    if kind == "gaussian":
        noisy = np.uint8(np.clip(clean + random.normal(0, 20, clean.shape), 0, 255))
    else:
        noisy = clean.copy()
        spots = random.random(clean.shape[:2])
        noisy[spots < 0.025] = 0
        noisy[spots > 0.975] = 255
    assert error(apply("noise-reconstruction", noisy), clean) < 0.5 * error(noisy, clean)


@pytest.mark.parametrize("shape", ["box", "ellipse"])
def test_a_flat_hole_is_filled_from_its_surroundings(shape: str) -> None:
    clean = picture()
    y, x = np.mgrid[:64, :64]
    hole = (abs(y - 30) < 8) & (abs(x - 30) < 8) if shape == "box" else (y - 30) ** 2 + (x - 30) ** 2 < 80
    holed = np.where(hole[..., None], 0, clean).astype(np.uint8)
    filled = apply("organic-reconstruction", holed)
    assert error(filled, clean) < 0.1 * error(holed, clean)
    assert np.array_equal(filled[~hole], clean[~hole])


def test_a_black_surround_is_no_hole() -> None:
    framed = np.pad(picture(40), ((20, 20), (20, 20), (0, 0)))
    assert np.array_equal(apply("organic-reconstruction", framed), framed)


@pytest.mark.parametrize(
    ("instruction", "size"),
    [
        ("Bring it back to 376 x 288 pixels with sharp borders.", (288, 376)),
        ("Upscale to 512×512.", (512, 512)),
        ("It was reduced to a third of its width and height.", (30, 60)),
        ("Upscale this image x3.", (30, 60)),
        ("Enlarge it three times.", (30, 60)),
        ("Restore full resolution.", (20, 40)),
    ],
)
def test_the_wanted_size_is_read_from_the_instruction(instruction: str, size: tuple[int, int]) -> None:
    assert upscaled_size(instruction, 10, 20) == size


def test_a_huge_size_in_an_instruction_is_capped() -> None:
    small = np.asarray(Image.new("RGB", (8, 8)))
    assert max(apply("resolution-editing", small, "to 99999 x 20 pixels").shape) == 4096
