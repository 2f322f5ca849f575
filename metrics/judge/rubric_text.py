"""The rubric rendered as text."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

if TYPE_CHECKING:
    from .rubric import Dimension
    from .rubric import Item


def describe(
    texts: Mapping[str, Any], dimensions: "Sequence[Dimension]", items: "Sequence[Item]", view: str, scale: int
) -> str:
    """Rules, checklist, dimensions with their levels, overall score and the JSON form, in the order of work.

    Args:
        texts: the content of `rubric.yaml`.
        dimensions: what is scored.
        items: the checklist; may be empty.
        view: one of the views.
        scale: 5 or 10.
    """
    bounds = {"low": 1, "high": scale}
    rules = texts["rules"] if items else texts["rules_without_checklist"] + texts["rules"][1:]
    parts = ["How to judge", texts["basis"][view], *(f"- {rule}" for rule in rules)]
    if items:
        parts += ["", "Checklist", texts["checklist"], *(f"- {item.key}: {item.question}" for item in items)]
    parts += ["", "Dimensions", texts["scores"]["dimension"].format(**bounds)]
    if scale == 10:
        parts.append(texts["scores"]["pairs"])
    for dimension in dimensions:
        parts += [f"{dimension.key} ({dimension.title}): {dimension.asks}", *_levels(dimension.levels, scale)]
    parts += ["", "Overall", texts["scores"]["overall"].format(**bounds), *_levels(texts["overall"]["levels"], scale)]
    parts += ["", "Form of the reply", texts["form"], form(dimensions, items, scale)]
    return "\n".join(parts)


def _levels(levels: Sequence[str], scale: int) -> list[str]:
    wide = scale // len(levels)
    first = range(1, scale + 1, wide)
    return [
        f"  {low if wide == 1 else f'{low}-{low + wide - 1}'}: {text}" for low, text in zip(first, levels, strict=True)
    ]


def form(dimensions: "Sequence[Dimension]", items: "Sequence[Item]", scale: int) -> str:
    """The JSON object of a verdict with placeholders, keys in order."""
    answers = ", ".join(f'"{item.key}": "<yes | no | unsure>"' for item in items)
    lines = [f'  "checklist": {{{answers}}}'] if items else []
    lines.append('  "analysis": "<what you see and compare, in a few sentences, before any score>"')
    score = f'{{"score": <whole number 1 to {scale}>, "explanation": "<the reason in one or two sentences>"}}'
    lines += [f'  "{dimension.key}": {score}' for dimension in dimensions]
    lines += [f'  "overall_score": <number 1 to {scale}>', '  "final_thoughts": "<one or two sentences>"']
    return "{\n" + ",\n".join(lines) + "\n}"
