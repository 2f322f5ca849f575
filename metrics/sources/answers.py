"""The text of a reference answer: report sections, held as an object in older data, in one fixed order."""

from collections.abc import Mapping
from typing import Any

# The public evaluator's order; other sections follow in alphabetical order.
SECTIONS = (
    "STUDY",
    "EXAMINATION",
    "MODALITY",
    "CLINICAL_HISTORY",
    "INDICATION",
    "HISTORY",
    "TECHNIQUE",
    "COMPARISON",
    "FINDINGS",
    "IMPRESSION",
    "RECOMMENDATION",
    "NOTIFICATION",
)
_RANK = {name: rank for rank, name in enumerate(SECTIONS)}


def flatten(sections: Mapping[str, Any]) -> str:
    """Sections as lines `KEY: value`, ordered; nested ones indented by two spaces, lists joined by `; `."""
    return "\n".join(_lines(sections, ""))


def _lines(sections: Mapping[str, Any], indent: str) -> list[str]:
    lines = []
    for name in sorted(sections, key=_order):
        value = sections[name]
        if isinstance(value, Mapping):
            lines += [f"{indent}{name}:", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {_text(value)}".rstrip())
    return lines


def _order(name: str) -> tuple[int, str]:
    return _RANK.get("_".join(name.upper().split()), len(SECTIONS)), name


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(_text(item) for item in value)
    if isinstance(value, Mapping):  # in a list, where lines can't be indented
        return "; ".join(line.strip() for line in _lines(value, ""))
    return "" if value is None else str(value)
