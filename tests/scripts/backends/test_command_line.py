import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import numpy as np
import pytest

from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_scripts.backends import program
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.backends.base import make
from medgen_scripts.backends.command_line import CommandLine
from medgen_scripts.systems.component import Component

from ...waiting import until
from .asking import BOTH
from .asking import IMAGE
from .asking import answers
from .asking import checked
from .asking import picture
from .asking import pixels

STAND_IN = str(Path(__file__).with_name("stand_in.py"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Temporary folders lie here, and none is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(program, "PATIENCE", 0.5)
    yield tmp_path
    assert not list(tmp_path.glob("medgen-*"))


def command(mode: str = "serves", **given: Any) -> CommandLine:
    made = make(Component.model_validate({"command": [sys.executable, STAND_IN, mode], **given}))
    assert isinstance(made, CommandLine)
    return made


def asks(*prompts: str, **more: Any) -> list[Ask]:
    return [Ask(f"r-{number}", prompt, **more) for number, prompt in enumerate(prompts)]


def one_after_another(backend: CommandLine, *asked: Ask) -> list[Any]:
    async def one(ask: Ask) -> Any:
        try:
            return await backend.ask(ask)
        except (CallFailed, RunStopped) as error:
            return error

    async def work() -> list[Any]:
        found = [await one(ask) for ask in asked]
        await backend.aclose()
        return found

    return anyio.run(work)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def pids(found: list[Any]) -> list[int]:
    return [int(gave.text.split()[-1]) for gave in found]


def test_one_program_answers_all_and_is_told_everything() -> None:
    request = Ask("r-1", "What?", (picture(), picture()), system="Be brief.", size=(64, 32), seed=7, max_tokens=5)
    found = one_after_another(command(parameters={"steps": 3}), request, *asks("b", "c"))
    assert len(set(pids(found))) == 1
    assert not is_running(pids(found)[0])
    told = found[0].meta["request"]
    assert {name: told[name] for name in told if name not in ("images", "output")} == {
        "id": "r-1",
        "prompt": "What?",
        "system": "Be brief.",
        "wants": ["text"],
        "size": [64, 32],
        "seed": 7,
        "max_tokens": 5,
        "parameters": {"steps": 3},
    }
    assert len(told["images"]) == 2
    assert (found[0].usage.requests, found[0].usage.images) == (1, 2)


def test_images_go_in_and_come_back_as_files() -> None:
    (gave,) = answers(command(), Ask("r", "invert", (picture(),), BOTH))
    assert isinstance(gave, Gave)
    assert gave.text == "invert"
    assert np.array_equal(np.asarray(pixels(gave.image)), 255 - np.asarray(pixels(picture())))


def test_replies_may_come_in_another_order() -> None:
    found = answers(command("backwards", batch=3), *asks("a", "b", "c"))
    assert [gave.text.split()[0] for gave in found if isinstance(gave, Gave) and gave.text] == ["a", "b", "c"]


def test_a_program_that_answers_once_is_started_for_each() -> None:
    found = one_after_another(command("once"), *asks("a", "b", "c"))
    assert [gave.text.split()[0] for gave in found] == ["a", "b", "c"]
    assert len(set(pids(found))) == 3


def test_long_replies_are_read_whole() -> None:
    (gave,) = one_after_another(command(), *asks("long"))
    assert len(gave.text) == 500_000


@pytest.mark.parametrize(
    ("prompt", "kind", "said"),
    [
        ("error", "rejected", "the program says: too many tokens"),
        ("outside", "malformed", "expected a file in"),
        ("no file", "not_an_image", "none.png"),
        ("number", "malformed", "text: expected str, got 3"),
    ],
)
def test_replies_that_are_none(prompt: str, kind: str, said: str) -> None:
    found = one_after_another(command(), *asks(prompt, "fine", images=(picture(),), wants=IMAGE))
    assert (found[0].kind, said in str(found[0])) == (kind, True), found[0]
    assert isinstance(found[1], Gave)


def test_a_crash_fails_its_record_alone() -> None:
    found = one_after_another(command(), *asks("a", "crash", "b"))
    assert [type(one) for one in found] == [Gave, CallFailed, Gave]
    assert found[1].kind == "server"
    assert "exit status 3" in str(found[1])
    assert "CUDA error: an illegal memory access" in str(found[1])
    assert "Loading checkpoint shards" in str(found[1])


def test_a_program_that_leaves_without_a_reply_fails_the_record_that_it_had_read() -> None:
    found = one_after_another(command(attempts=2), *asks("a", "leave", "b"))
    assert [type(one) for one in found] == [Gave, CallFailed, Gave]


def test_records_under_way_beside_a_hanging_one_are_asked_again() -> None:
    found = answers(command(concurrency=3, timeout=3), *asks("a", "hang", "b"))
    assert [type(one) for one in found] == [Gave, CallFailed, Gave]
    assert isinstance(found[1], CallFailed)
    assert found[1].kind == "timeout"
    assert "no reply within 3 s" in str(found[1])


def test_a_program_that_never_answers_ends_the_run() -> None:
    found = one_after_another(command("dies"), *asks(*"abcd"))
    assert [type(one) for one in found] == [CallFailed] * 3 + [RunStopped]
    assert "ended 3 times without a reply: exit status 1; it said: no weights here" in str(found[3])


def test_a_program_that_is_not_there_ends_the_run() -> None:
    backend = make(Component.model_validate({"command": "no-such-program-of-mine --fast"}))
    with pytest.raises(RunStopped, match="can't be started: No such file"):
        anyio.run(backend.ask, Ask("r", "x"))
    assert checked(backend) == ["command: no-such-program-of-mine is not there, or can't be run"]
    anyio.run(backend.aclose)


def test_nothing_of_it_runs_on() -> None:
    backend = command("child")

    async def work() -> int:
        await backend.ask(Ask("r", "a"))
        assert backend._program is not None
        child = int(next(line for line in backend._program._tail if line.startswith("child")).split()[1])
        assert is_running(child)
        await backend.aclose()
        return child

    child = anyio.run(work)
    assert until(lambda: not is_running(child))


def test_one_that_ignores_its_end_is_killed() -> None:
    (gave,) = one_after_another(command("stubborn"), *asks("a"))
    assert not is_running(pids([gave])[0])


def test_cancelled_it_is_ended_like_any_other() -> None:
    backend = command()

    async def work() -> int:
        gave = await backend.ask(Ask("r", "a"))
        with anyio.move_on_after(0.3):
            await backend.ask(Ask("s", "hang"))
        await backend.aclose()
        return pids([gave])[0]

    assert not is_running(anyio.run(work))


def test_a_script_of_other_content_is_another_system(tmp_path: Path) -> None:
    script = tmp_path / "wrapper.py"
    script.write_text("1")
    component = Component.model_validate({"command": [sys.executable, str(script)]})
    first = make(component).describe()
    assert first == make(component).describe()
    script.write_text("2")
    assert make(component).describe()["files"] != first["files"]


def test_a_check_may_ask_it() -> None:
    assert checked(command(), ping=True) == []
    (said,) = checked(command("dies"), ping=True)
    assert "no weights here" in said
