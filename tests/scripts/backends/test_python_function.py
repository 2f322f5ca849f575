import asyncio
import io
import json
import random
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medgen_metrics.serving.faults import CallFailed
from medgen_scripts.backends import python_function
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.backends.base import Options
from medgen_scripts.backends.base import make
from medgen_scripts.errors import UsageError
from medgen_scripts.run import run
from medgen_scripts.running.options import Shard
from medgen_scripts.systems.component import Component

from .asking import BOTH
from .asking import IMAGE
from .asking import TEXT
from .asking import answers
from .asking import picture

MODULE = """
import threading
from pathlib import Path

import numpy as np
from PIL import Image

BATCHES = []
THREADS = set()

def told(prompt, id, seed, max_tokens, system, wants, size):
    return f"{prompt} {id} {seed} {max_tokens} {system} {sorted(wants)} {size}"

def one(ask):
    return " ".join(sorted(ask))

def sees(image, images, files):
    return f"{image.mode} {image.size} {len(images)} {len(files)} {files[0][:4]}"

def many(asks, shout="!"):
    BATCHES.append(len(asks))
    if any("bad" in ask["prompt"] for ask in asks):
        raise ValueError("can't")
    return [ask["prompt"] + shout for ask in asks]

def scalar(asks):
    return "all of them"

async def later(prompt):
    return prompt

def draw(images):
    THREADS.add(threading.get_ident())
    return images[0].transpose(Image.Transpose.ROTATE_90)

def array(images):
    return np.asarray(images[0])[::-1]

def floats(images):
    return np.zeros((4, 4, 3), dtype=float)

def both(prompt, image):
    return {"text": prompt, "image": image, "meta": {"steps": 3}}

def odd(prompt):
    return {"answer": prompt}

def nothing(prompt):
    return None

def refuses(prompt):
    return "I'm sorry, I can't edit this image."

def wrong(prompt):
    raise KeyError("no such thing")

def file(image):
    path = Path("made.png")
    image.save(path)
    return path

def needs(prompt, temperature):
    return f"{prompt} at {temperature}"

def unknown(prompt, banana):
    return ""

class Loaded:
    def answer(self, prompt):
        return prompt.upper()

model = Loaded()
constant = 3
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The current folder holds a module of a name of its own."""
    name = f"mine_{random.randrange(10**9)}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield name
    sys.modules.pop(name, None)


def gave(module: str, function: str, *asks: Ask, **given: Any) -> list[Any]:
    backend = make(Component.model_validate({"python": f"{module}:{function}", **given}))
    return answers(backend, *asks)


def ask(prompt: str = "What?", wants: frozenset[str] = TEXT, images: int = 0, **more: Any) -> Ask:
    return Ask("r-1", prompt, tuple(picture((40 + number, 30)) for number in range(images)), wants, **more)


def opened(gave: Gave) -> Image.Image:
    assert gave.image is not None
    return Image.open(io.BytesIO(gave.image))


def test_a_function_is_given_what_it_names(module: str) -> None:
    (got,) = gave(module, "told", ask(seed=7, size=(64, 32), max_tokens=5, system="Be brief."))
    assert got.text == "What? r-1 7 5 Be brief. ['text'] (64, 32)"
    (got,) = gave(module, "one", ask(images=1))
    assert got.text.split() == sorted(python_function.PARAMETERS)


def test_images_are_seen_as_metrics_see_them(module: str) -> None:
    deep = io.BytesIO()
    Image.fromarray(np.full((6, 9), 40_000, dtype=np.uint16)).save(deep, "PNG")
    (got,) = gave(module, "sees", Ask("r", "x", (deep.getvalue(), picture())))
    assert got.text == r"RGB (9, 6) 2 2 b'\x89PNG'"


@pytest.mark.parametrize("function", ["draw", "array", "file"])
def test_an_image_comes_back_as_its_pixels(module: str, function: str) -> None:
    (got,) = gave(module, function, ask(wants=IMAGE, images=1))
    given = np.asarray(Image.open(io.BytesIO(picture())).convert("RGB"))
    expected = {"draw": np.rot90(given), "array": given[::-1], "file": given}[function]
    assert np.array_equal(np.asarray(opened(got)), expected)


def test_text_and_image_and_what_a_reader_should_know(module: str) -> None:
    (got,) = gave(module, "both", ask(wants=BOTH, images=1))
    assert (got.text, dict(got.meta), opened(got).size) == ("What?", {"steps": 3}, (40, 30))
    assert (got.usage.requests, got.usage.images, got.usage.cost) == (1, 1, 0.0)


def test_a_batch_function_gets_a_list_and_one_bad_request_fails_alone(module: str) -> None:
    asks = [Ask(f"r-{n}", "bad" if n == 3 else f"{n}") for n in range(6)]
    found = gave(module, "many", *asks, batch=4, parameters={"shout": "?"})
    assert [one.text for one in found if isinstance(one, Gave)] == ["0?", "1?", "2?", "4?", "5?"]
    assert isinstance(found[3], CallFailed)
    assert "ValueError: can't" in str(found[3])
    assert sys.modules[module].BATCHES[0] == 4
    assert max(sys.modules[module].BATCHES) == 4


def test_a_batch_that_is_no_list_is_an_error(module: str) -> None:
    (found,) = gave(module, "scalar", ask())
    assert "expected a list of 1 answers, got str" in str(found)


def test_async_functions_and_methods_of_objects(module: str) -> None:
    assert [one.text for one in gave(module, "later", ask("a"), ask("b"))] == ["a", "b"]
    assert gave(module, "model.answer", ask("a"))[0].text == "A"


def test_one_thread_at_a_time_unless_more_are_asked_for(module: str) -> None:
    gate = threading.Barrier(3, timeout=10)
    assert gave(module, "draw", ask(wants=IMAGE, images=1))
    sys.modules[module].draw = lambda prompt: str(gate.wait() >= 0)  # type: ignore[attr-defined]
    found = gave(module, "draw", *[Ask(f"r-{n}", "x") for n in range(3)], concurrency=3)
    assert [one.text for one in found] == ["True"] * 3
    assert make(Component.model_validate({"python": f"{module}:told"})).concurrency == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "wants", "kind"),
    [("nothing", TEXT, "empty"), ("nothing", IMAGE, "no_image"), ("refuses", IMAGE, "refusal")],
)
def test_what_is_not_what_was_wanted_has_failed(module: str, function: str, wants: frozenset[str], kind: str) -> None:
    (found,) = gave(module, function, ask(wants=wants))
    assert found.kind == kind


def test_float_pixels_are_refused(module: str) -> None:
    (found,) = gave(module, "floats", ask(wants=IMAGE, images=1))
    assert (found.kind, "ndarray" in str(found)) == ("not_an_image", True)


@pytest.mark.parametrize(
    ("function", "kind", "said"),
    [("wrong", KeyError, "no such thing"), ("odd", TypeError, "text, image and meta at most, got answer")],
)
def test_what_a_function_raises_comes_through(module: str, function: str, kind: type[Exception], said: str) -> None:
    backend = make(Component.model_validate({"python": f"{module}:{function}"}))
    with pytest.raises(kind, match=said):
        asyncio.run(backend.ask(ask()))


def test_parameters_of_the_file_are_its_arguments(module: str) -> None:
    (found,) = gave(module, "needs", ask("Now"), parameters={"temperature": 0.5})
    assert found.text == "Now at 0.5"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("absent", "has no absent"),
        ("constant", "expected a function, got int"),
        ("unknown", "expected parameters among prompt, .* got prompt, banana"),
        ("needs", "got prompt, temperature"),
    ],
)
def test_functions_that_cannot_be_called(module: str, function: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        python_function.load(f"{module}:{function}", {})


def test_modules_that_cannot_be_imported(tmp_path: Path, module: str) -> None:
    with pytest.raises(UsageError, match=r"can't import mine\.py \(leave \.py off\)"):
        python_function.load("mine.py:told", {})
    (tmp_path / f"{module}_broken.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(UsageError, match="ModuleNotFoundError: No module named 'nothing_of_this_name'"):
        python_function.load(f"{module}_broken:told", {})


def test_another_source_is_another_system(module: str, tmp_path: Path) -> None:
    component = Component.model_validate({"python": f"{module}:told"})
    before = make(component).describe()
    assert before["function"] == f"{module}:told"
    (tmp_path / f"{module}.py").write_text(MODULE + "\n# more\n")
    assert make(component).describe() != before


def test_what_means_nothing_here_is_refused(module: str) -> None:
    component = Component.model_validate({"python": f"{module}:told", "base_url": "http://localhost", "hosts": ["a"]})
    with pytest.raises(UsageError, match="reaches no server; expected none of base_url, hosts"):
        make(component, Options())


def test_shares_that_run_together_are_one_run_of_the_manifest(module: str, tmp_path: Path) -> None:
    python_function.load(f"{module}:told", {})
    begun: list[int] = []

    def share(number: int) -> Path:
        begun.append(number)
        options: dict[str, Any] = {"edition": "sample", "limit": 4, "out": tmp_path / "out"}
        return run(f"python:{module}:told", "vqa", shard=Shard(number, 2), **options)

    def answer(id: str) -> str:
        # the second share begins and ends while the first is at its first record
        if begun == [1]:
            share(2)
        return id

    sys.modules[module].told = answer  # type: ignore[attr-defined]
    path = share(1)
    assert len(path.read_text().splitlines()) == 4
    entry = json.loads((path.parent / "manifest.json").read_text())["configs"]["vqa"]
    assert sorted((one["shard"], one["ended"]) for one in entry["runs"]) == [("1/2", "finished"), ("2/2", "finished")]
