"""What a run may spend: models in this process count too, and a launcher's processes share one budget."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.budget import BudgetExhausted
from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.backends.base import Options
from medgen_scripts.backends.base import make
from medgen_scripts.errors import Failure
from medgen_scripts.errors import UsageError
from medgen_scripts.run import run
from medgen_scripts.systems.component import Component

from ..backends.asking import answers
from .fakes import rows_of

COUNTING = """
ASKED = []

def answer(id):
    ASKED.append(id)
    return "Yes."

def fails(id):
    ASKED.append(id)
    raise ValueError("no")
"""


@pytest.fixture
def counting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids that the functions of the module `counting_model` were asked about."""
    (tmp_path / "counting_model.py").write_text(COUNTING)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "counting_model", raising=False)
    import counting_model  # type: ignore[import-not-found]

    asked: list[str] = counting_model.ASKED
    return asked


def test_models_in_this_process_keep_to_the_requests_and_the_next_run_goes_on(
    counting: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given: dict[str, Any] = {"edition": "sample", "out": tmp_path, "limit": 5}
    run("python:counting_model:answer", "vqa", dry_run=True, **given)
    assert "answer: asked 5 times, " in capsys.readouterr().out
    with pytest.raises(Failure, match=r"--max-requests 3: reached after 3 requests; what was answered is kept"):
        run("python:counting_model:answer", "vqa", max_requests=3, **given)
    assert len(counting) == 3
    capsys.readouterr()
    path = run("python:counting_model:answer", "vqa", max_requests=2, **given)
    # a function gets no requests
    assert "5 rows, 0 of them failed; asked 2 times\n" in capsys.readouterr().err
    assert len(set(counting)) == len(counting) == len(rows_of(path)) == 5
    told = json.loads((path.parent / "manifest.json").read_text())["configs"]["vqa"]["runs"]
    assert [(one["usage"]["requests"], one["usage"]["cost"]) for one in told] == [(3, 0.0), (2, 0.0)]


def test_a_failed_answer_was_a_request_too(counting: list[str]) -> None:
    budget = Budget(max_requests=2, prices={"another": {"input": 1.0}})
    backend = make(Component(backend="python", function="counting_model:fails"), Options(budget=budget))

    async def work() -> None:
        for number in range(2):
            with pytest.raises(ValueError, match="no"):
                await backend.ask(Ask(f"r-{number}", "x"))
        with pytest.raises(BudgetExhausted):
            await backend.ask(Ask("r-2", "x"))

    anyio.run(work)
    assert (budget.used.requests, budget.used.cost, len(counting)) == (2, 0.0, 2)


def test_files_that_are_there_already_are_no_requests(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Yes.")
    budget = Budget(max_requests=1)
    backend = make(Component(backend="folder", model=str(tmp_path)), Options(budget=budget))
    assert all(isinstance(one, Gave) for one in answers(backend, *[Ask("a", "x")] * 3))
    assert budget.used.requests == 0


def test_processes_of_a_launcher_share_the_budget(
    counting: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    given: dict[str, Any] = {"edition": "sample", "out": tmp_path}
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        with pytest.raises(Failure, match="--max-requests 2: reached"):
            run("python:counting_model:answer", "vqa", max_requests=4, **given)
    assert len(counting) == 4
    with pytest.raises(UsageError, match="at least one for each of the 2 processes"):
        run("python:counting_model:answer", "vqa", max_requests=1, **given)
