"""What a schema (pydantic) finds wrong with a document, in this project's own words: where, expected, got."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from typing import Any

if TYPE_CHECKING:
    from pydantic import ValidationError

GOT = 80  # characters of an offending value

# What pydantic's "valid …" means to someone who wrote the document.
_KINDS = {
    "valid string": "text",
    "valid number": "a number",
    "valid integer": "a whole number",
    "valid boolean": "true or false",
    "valid list": "a list",
    "valid array": "a list",
    "valid dictionary": "a mapping",
    "object": "a mapping",
}


def faults(error: "ValidationError", document: str = "the file") -> list[str]:
    """Each fault as `where: expected …, got …`.

    Args:
        error: what pydantic raised.
        document: what a fault of the whole document is said to be in.
    """
    return list(dict.fromkeys(_fault(item, document) for item in error.errors(include_url=False)))


def _fault(item: Any, document: str) -> str:
    place = ".".join(str(part) for part in item["loc"] if part != "[key]")
    kind, context = item["type"], item.get("ctx", {})
    if kind == "missing":
        return f"{place}: expected a value, got none"
    if kind == "extra_forbidden":
        return f"{place}: expected no such field, got {_shown(item['input'])}"
    if kind == "json_invalid":
        return f"{place or document}: expected JSON, got a fault in it: {context['error']}"
    if kind == "value_error":
        said = str(context["error"])  # a validator of ours
        got = "" if "got" in said or not _is_plain(item["input"]) else f", got {_shown(item['input'])}"
        return f"{place or document}: {said}{got}"
    return f"{place or document}: expected {_expected(item)}, got {_shown(item['input'])}"


def _expected(item: Any) -> str:
    words = re.sub(r"^[A-Z]\w* should (?:be|have) (?:an? )?", "", str(item["msg"]))
    for valid, ours in _KINDS.items():
        if words.startswith(valid):
            return ours
    return f"text of {words}" if item["type"] in ("string_too_short", "string_too_long") else words


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return "a list"
    return f"{value!r:.{GOT}}"
