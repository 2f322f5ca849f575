"""Verdicts made for tests."""

import json
from typing import Any

import pytest

from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import Rubric
from medgen_metrics.judge.rubric import rubric
from medgen_metrics.judge.verdict import KINDS
from medgen_metrics.judge.verdict import Unusable
from medgen_metrics.judge.verdict import Verdict
from medgen_metrics.judge.verdict import read_verdict

STANDARD = rubric(layout="standard")
CASE = ("edit", "noise-reconstruction", "with_reference")
# config, task, view of every checklist
CASES = [(config, task, view) for task, config in STANDARD.tasks.items() for view in VIEWS]


def filled(
    sheet: Rubric = STANDARD, case: tuple[str, str, str] = CASE, score: Any = 4, **changed: Any
) -> dict[str, Any]:
    """A complete verdict with the same score everywhere; `changed` replaces top-level values."""
    items = {item.key: "yes" for item in sheet.checklist(*case)}
    made: dict[str, Any] = {"checklist": items} if items else {}
    made["analysis"] = "The specks are gone; the fissure is kept (faintly)."
    made |= {d.key: {"score": score, "explanation": "As the level says."} for d in sheet.dimensions(*case[:2])}
    return {**made, "overall_score": score, "final_thoughts": "Usable.", **changed}


def written(**changed: Any) -> str:
    """`filled` as JSON."""
    return json.dumps(filled(**changed))


TEXT = written()


def read(text: str | None, **asked: Any) -> Verdict:
    return read_verdict(text, STANDARD, *CASE, **asked)


def refused(text: str | None, **asked: Any) -> Unusable:
    with pytest.raises(Unusable) as error:
        read(text, **asked)
    assert error.value.kind in KINDS
    assert len(str(error.value)) < 3000
    return error.value
