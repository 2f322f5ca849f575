import asyncio
import json
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit

from medgen_metrics.serving import batches
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_scripts.backends import diffusers_call
from medgen_scripts.backends import diffusers_model
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.backends.base import make
from medgen_scripts.backends.diffusers_model import DiffusersModel
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.run import run
from medgen_scripts.running.options import Shard
from medgen_scripts.systems.component import Component
from medgen_scripts.systems.file import SystemFile

from . import tiny_pipelines
from .asking import IMAGE
from .asking import answers
from .asking import checked
from .asking import picture
from .asking import pixels

QUICK = {"num_inference_steps": 2}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full batch doesn't wait; a busy machine may be slow to fill it."""
    monkeypatch.setattr(batches, "LINGER", 1.0)


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Kind -> folder of a random pipeline, made once."""
    top = tmp_path_factory.mktemp("pipelines")
    channels = {"StableDiffusionInstructPix2PixPipeline": 8, "StableDiffusionInpaintPipeline": 9}

    def checkpoint(kind: str = "StableDiffusionPipeline") -> Path:
        folder = top / kind
        if not folder.exists():
            tiny_pipelines.stable_diffusion(folder, kind, in_channels=channels.get(kind, 4))
        return folder

    return checkpoint


def editor(folder: Path | str, **given: Any) -> DiffusersModel:
    told = {"backend": "diffusers", "model": str(folder), "parameters": QUICK, **given}
    made = make(Component.model_validate(told))
    assert isinstance(made, DiffusersModel)
    return made


def asks(count: int = 4, size: tuple[int, int] = (64, 48)) -> list[Ask]:
    prompts = ("make it blue", "remove the noise", "more contrast", "draw a circle")
    return [Ask(f"r-{n}", prompts[n % 4], (picture(size),), IMAGE, seed=n) for n in range(count)]


def arrays(found: Sequence[object]) -> list[np.ndarray[Any, Any]]:
    assert all(isinstance(gave, Gave) for gave in found), found
    return [np.asarray(pixels(gave.image)).astype(int) for gave in found if isinstance(gave, Gave)]


@pytest.mark.parametrize("kind", ["StableDiffusionPipeline", "StableDiffusionInstructPix2PixPipeline"])
def test_an_image_depends_on_neither_order_nor_batch(checkpoints: Callable[..., Path], kind: str) -> None:
    alone = editor(checkpoints(kind))
    first = arrays(answers(alone, *asks()))
    assert alone._batches.sizes == [1] * 4
    backwards = arrays(answers(editor(checkpoints(kind)), *asks()[::-1]))[::-1]
    assert all(np.array_equal(one, other) for one, other in zip(first, backwards, strict=True))
    together = editor(checkpoints(kind), batch=4)
    found = arrays(answers(together, *asks()))
    assert together._batches.sizes == [4]
    # a batch's products differ in their last bits
    assert max(np.abs(one - other).max() for one, other in zip(first, found, strict=True)) <= 1
    other_seed = arrays(
        answers(editor(checkpoints(kind)), Ask("r-0", "make it blue", (picture((64, 48)),), IMAGE, seed=9))
    )
    assert np.abs(other_seed[0] - first[0]).max() > 20


def test_requests_of_other_sizes_share_no_batch(checkpoints: Callable[..., Path]) -> None:
    backend = editor(checkpoints(), batch=4)
    found = arrays(answers(backend, *asks(2), *asks(2, (48, 64))))
    assert [image.shape[:2] for image in found] == [(48, 64), (48, 64), (64, 48), (64, 48)]
    assert sorted(backend._batches.sizes) == [2, 2]


def test_an_image_depends_on_no_share_of_the_records(checkpoints: Callable[..., Path], tmp_path: Path) -> None:
    system = SystemFile.model_validate(
        {
            "name": "tiny-editor",
            "shape": "editor",
            "components": {
                "image": {
                    "backend": "diffusers",
                    "model": str(checkpoints()),
                    "parameters": {**QUICK, "strength": 0.8},
                    "image_side": 64,
                }
            },
        }
    )
    common = {"edition": "sample", "limit": 4}
    whole = run(system, "edit", out=tmp_path / "one", **common)
    for number in (2, 1):
        shared = run(system, "edit", out=tmp_path / "two", shard=Shard(number, 2), **common)
    rows = whole.read_bytes()
    assert len(rows.splitlines()) == 4
    assert b'"error"' not in rows
    assert shared.read_bytes() == rows
    for path in (whole.parent / "images").iterdir():
        assert (shared.parent / "images" / path.name).read_bytes() == path.read_bytes()
    manifest = json.loads((whole.parent / "manifest.json").read_text())
    told = manifest["configs"]["edit"]["system"]["components"]["image"]
    assert told["model"] == "StableDiffusionPipeline"
    assert len(told["weights"]) == 16
    assert told["parameters"] == {**QUICK, "strength": 0.8}


def test_inpainting_is_given_a_mask_of_the_whole_image(
    checkpoints: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = editor(checkpoints("StableDiffusionInpaintPipeline"))
    kept: dict[str, Any] = {}

    def keep(*given: Any, **more: Any) -> Any:
        kept.update(diffusers_call.arguments(*given, **more))
        return kept

    monkeypatch.setattr(diffusers_model, "arguments", keep)
    (image,) = arrays(answers(backend, Ask("r", "fill it", (picture((60, 45)),), IMAGE)))
    assert kept["mask_image"].size == (60, 45)
    assert kept["mask_image"].getextrema() == (255, 255)
    assert image.shape == (48, 64, 3)


def test_text_to_image_at_the_size_asked_for(checkpoints: Callable[..., Path]) -> None:
    backend = editor(checkpoints(), takes_image=False)
    (image,) = arrays(answers(backend, Ask("r", "a lung", (), IMAGE, size=(72, 40))))
    assert image.shape == (40, 72, 3)
    with pytest.raises(ValueError, match="takes no image; got 1"):
        asyncio.run(backend.ask(asks(1)[0]))


def test_qwen_image_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_pipelines.qwen_image_edit(tmp_path / "tiny-qwen-image-edit")
    fit = pipeline_qwenimage_edit.calculate_dimensions
    # its images have a megapixel whatever comes in, which takes minutes here
    monkeypatch.setattr(pipeline_qwenimage_edit, "calculate_dimensions", lambda _, ratio: fit(64 * 64, ratio))
    backend = editor(folder, parameters={**QUICK, "true_cfg_scale": 4.0, "negative_prompt": " "})
    assert backend.describe()["pipeline"] == "QwenImageEditPipeline"
    one, other = arrays(answers(backend, *asks(2)))
    again, _ = arrays(answers(backend, *asks(2)))
    assert one.shape == (64, 64, 3)
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_several_images_are_for_pipelines_that_take_them(checkpoints: Callable[..., Path]) -> None:
    request = Ask("r", "x", (picture(), picture()), IMAGE)
    (found,) = answers(editor(checkpoints()), request)
    assert "expected one image, got 2; max_images: 1 puts them on one sheet" in str(found)
    job = diffusers_call.Job(request, tuple(pixels(data) for data in request.images))
    given = diffusers_call.arguments(SimpleNamespace(), [job], {}, several=True)
    assert [image.size for image in given["image"]] == [(40, 30), (40, 30)]


def test_texts_of_the_parameters_come_one_a_prompt(checkpoints: Callable[..., Path]) -> None:
    backend = editor(checkpoints(), parameters={**QUICK, "negative_prompt": "blur"}, batch=2)
    arrays(answers(backend, *asks(2)))
    assert backend._batches.sizes == [2]


def test_what_a_safety_checker_withholds_is_a_refusal(
    checkpoints: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = editor(checkpoints())
    black = pixels(picture())

    class Pipeline:
        def __call__(self, prompt: str, image: Any, generator: Any, num_inference_steps: int) -> Any:
            return SimpleNamespace(images=[black], nsfw_content_detected=[True])

    monkeypatch.setattr(backend, "_pipeline", Pipeline())
    (found,) = answers(backend, asks(1)[0])
    assert isinstance(found, CallFailed)
    assert (found.kind, "withheld" in str(found)) == ("refusal", True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"parameters": {"steps": 3}},
            "StableDiffusionInstructPix2PixPipeline takes num_inference_steps, .*; got steps",
        ),
        ({"load": {"pipeline": "BananaPipeline"}}, "has no BananaPipeline"),
        ({"load": {"offload": "disk"}}, "offload: expected model or sequential, got disk"),
        ({"revision": "main"}, "expected no revision of a folder"),
        ({"model": "tiny"}, "'tiny' is neither a folder here nor a Hub id"),
    ],
)
def test_systems_that_cannot_be(checkpoints: Callable[..., Path], given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        editor(checkpoints("StableDiffusionInstructPix2PixPipeline"), **given).describe()


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no model_index\.json"):
        editor(tmp_path).describe()
    with pytest.raises(RunStopped, match=r"no model_index\.json"):
        asyncio.run(editor(tmp_path).ask(asks(1)[0]))


def test_weights_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDGEN_OFFLINE", "1")
    backend = make(Component(backend="diffusers", model="owner/no-such-pipeline"))
    with pytest.raises(Failure, match="owner/no-such-pipeline"):
        backend.describe()
    (said,) = checked(backend)
    assert said.startswith("model: ")


def test_a_check_may_ask_it(checkpoints: Callable[..., Path]) -> None:
    assert checked(editor(checkpoints()), ping=True) == []
