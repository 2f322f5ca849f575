import asyncio
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medgen_metrics.serving import batches
from medgen_metrics.serving.faults import RunStopped
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.backends.base import make
from medgen_scripts.backends.transformers_model import TransformersModel
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.systems.component import Component
from tests.metrics.judge.tiny_qwen3vl import write

from .asking import answers
from .asking import checked
from .asking import picture


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a Qwen3-VL with random weights."""
    return write(tmp_path_factory.mktemp("systems") / "tiny-vlm")


def system(checkpoint: Path, **given: object) -> TransformersModel:
    made = make(Component.model_validate({"backend": "transformers", "model": str(checkpoint), **given}))
    assert isinstance(made, TransformersModel)
    return made


def asks(count: int = 4, **more: object) -> list[Ask]:
    return [
        Ask(f"r-{n}", "What? " * (n + 1), (picture((64, 32 + 8 * n)),), seed=n, max_tokens=6, **more)  # type: ignore[arg-type]
        for n in range(count)
    ]


def texts(found: list[object]) -> list[str | None]:
    assert all(isinstance(gave, Gave) for gave in found), found
    return [gave.text for gave in found if isinstance(gave, Gave)]


@pytest.mark.parametrize("temperature", [0, 1.5])
def test_an_answer_depends_on_neither_order_nor_batch(
    checkpoint: Path, temperature: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LINGER", 30.0)  # a full batch doesn't wait; a busy machine may be slow to fill it
    parameters = {"temperature": temperature}
    together = system(checkpoint, batch=4, parameters=parameters)
    alone = system(checkpoint, batch=1, parameters=parameters)
    said = texts(answers(together, *asks()))
    assert together._batches.sizes == [4]
    assert said == texts(answers(alone, *asks()[::-1]))[::-1]
    assert alone._batches.sizes == [1] * 4
    assert len(set(said)) == 4


def test_what_an_answer_says_of_itself(checkpoint: Path) -> None:
    backend = system(checkpoint)
    before = backend.describe()
    (gave,) = answers(backend, asks(1)[0])
    assert isinstance(gave, Gave)
    assert (gave.model, gave.fingerprint, gave.finish_reason) == ("tiny-vlm", before["weights"], "length")
    assert (gave.usage.completion_tokens, gave.usage.images, gave.usage.cost) == (6, 1, 0.0)
    assert gave.usage.prompt_tokens > 10
    assert backend.describe() == before
    assert str(checkpoint) not in json.dumps(before)
    assert backend.concurrency == 16


def test_deep_images_are_seen_as_metrics_see_them(checkpoint: Path) -> None:
    levels = np.linspace(0, 65535, 64 * 32).reshape(32, 64).astype(np.uint16)
    files = []
    for pixels in (levels, np.repeat((levels >> 8).astype(np.uint8)[..., None], 3, axis=2)):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        files.append(file.getvalue())
    deep, eight = texts(
        answers(system(checkpoint, batch=1), *[Ask("r", "What?", (data,), max_tokens=12) for data in files])
    )
    assert deep == eight


def test_weights_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDGEN_OFFLINE", "1")
    backend = make(Component(backend="transformers", model="owner/no-such-model"))
    with pytest.raises(Failure, match="weights owner/no-such-model are not on this machine"):
        backend.describe()
    with pytest.raises(RunStopped, match="owner/no-such-model: no folder owner/no-such-model here, and weights"):
        asyncio.run(backend.ask(asks(1)[0]))
    assert "are not on this machine" in checked(backend)[0]
    with pytest.raises(UsageError, match=r"has no config\.json"):
        system(tmp_path).describe()


def test_a_folder_of_another_model_ends_the_run(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(RunStopped, match="expected a model for images and text"):
        asyncio.run(system(tmp_path).ask(asks(1)[0]))


def test_a_check_may_ask_it(checkpoint: Path) -> None:
    assert checked(system(checkpoint), ping=True) == []


def test_parameters_that_mean_nothing_here(checkpoint: Path) -> None:
    with pytest.raises(UsageError, match=r"expected temperature \(0 is greedy\); got top_p, beams"):
        system(checkpoint, parameters={"top_p": 0.9, "beams": 3})


def test_what_a_model_is_loaded_with(checkpoint: Path) -> None:
    backend = system(checkpoint, load={"dtype": "bfloat16", "processor": {"max_pixels": 64 * 64}})
    answered = asyncio.run(backend.ask(asks(1)[0]))
    assert answered.text
    assert backend._model is not None
    assert backend._model.dtype == "bfloat16"
    assert "max_pixels" in json.dumps(backend.describe())
    asyncio.run(backend.aclose())
