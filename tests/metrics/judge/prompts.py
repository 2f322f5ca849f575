"""Prompts made in a test, and ways to look at them."""

from typing import Any

from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.prompt import Prompt
from medgen_metrics.judge.prompt import build
from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import rubric

WITH, WITHOUT = VIEWS

LAYOUTS = ("paper", "standard")


def made(sample: JudgeSample, layout: str, view: str, **options: Any) -> Prompt:
    return build(sample, rubric("v2", layout), view, **options)


def said(prompt: Prompt) -> str:
    """All of the user message's text."""
    return "\n".join(part["text"] for part in prompt.identity[1]["content"] if part["type"] == "text")


def held(prompt: Prompt) -> dict[str, str]:
    """The prompt's blocks: what a reader who trusts the fence alone takes out of it."""
    found: dict[str, str] = {}
    lines: list[str] = []
    name = None
    for line in said(prompt).split("\n"):
        if name is None and line.startswith(f"<<<{prompt.fence} "):
            name, lines = line.removeprefix(f"<<<{prompt.fence} "), []
        elif name is not None and line == f"{prompt.fence}>>>":
            assert name not in found, "no block twice"
            found[name], name = "\n".join(lines), None
        elif name is not None:
            lines.append(line)
    assert name is None, "every block is closed"
    return found
