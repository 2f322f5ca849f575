"""Values that fit a JSON schema, or the JSON form that a prompt describes, drawn from a key: same key, same values."""

import json
import math
import random
import re
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

_RANGE = re.compile(r"(-?\d+)\s*(?:-|–|to|through|\.\.+|…)\s*(-?\d+)")
_CHOICE = re.compile(r"\w+(?:\s*(?:\||/)\s*\w+)+")
_BARE = re.compile(r'(?<=[:\[,])\s*<([^<>"\n]+)>(?=\s*[,}\]])')
_DECODER = json.JSONDecoder()


def fill(schema: Mapping[str, Any], key: str) -> Any:
    """A value that the schema accepts.

    Args:
        schema: JSON schema with objects, arrays, numbers, strings, enums, `$ref` into itself, `anyOf`.
        key: what the value is drawn from; each field draws on its own, so that a field added changes no other.
    """
    return _fill(schema, schema, key, "")


def _fill(schema: Mapping[str, Any], root: Mapping[str, Any], key: str, path: str) -> Any:
    draw = random.Random(f"{key}:{path}")
    if "$ref" in schema:
        found: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return _fill(found, root, key, path)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return draw.choice(schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return _fill(schema[several][0], root, key, path)
    if "allOf" in schema:
        return _fill({name: value for part in schema["allOf"] for name, value in part.items()}, root, key, path)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _fill(part, root, key, f"{path}/{name}") for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        count = draw.randint(schema.get("minItems", 1), max(schema.get("minItems", 1), schema.get("maxItems", 2)))
        items = schema.get("items", {})
        return [_fill(items, root, key, f"{path}/{index}") for index in range(count)]
    if kind in ("integer", "number"):
        return _number(schema, draw, kind)
    if kind == "boolean":
        return draw.random() < 0.5
    return None if kind == "null" else _sentence(path, key, schema)


def _number(schema: Mapping[str, Any], draw: random.Random, kind: str) -> float | int:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + 100))
    first = math.floor(low) + 1 if "exclusiveMinimum" in schema else math.ceil(low)
    last = math.ceil(high) - 1 if "exclusiveMaximum" in schema else math.floor(high)
    if first <= last:
        return draw.randint(first, last)
    if kind == "integer":
        raise ValueError(f"no integer between {low} and {high}")
    return (low + high) / 2


def _sentence(path: str, key: str, schema: Mapping[str, Any]) -> str:
    text = f"Stub text for {path.strip('/') or 'the reply'} ({key[:8]})."
    return text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]


def described(text: str, key: str) -> dict[str, Any] | None:
    """A value in the JSON form that a prompt describes: a JSON schema in it, else the first template in it.

    A template is a JSON object whose strings say what belongs there: a range (`"1-5"`, `"<integer from 1 to 5>"`),
    alternatives (`"yes|no|unsure"`), else text. `<…>` in the place of a value needs no quotes. None where the prompt
    has neither.
    """
    text = _BARE.sub(r'"<\1>"', text)
    for start in re.finditer(r"\{", text):
        try:
            found, _ = _DECODER.raw_decode(text, start.start())
        except ValueError:
            continue
        if not found:
            continue
        if isinstance(found.get("properties"), dict):
            return fill(found, key)
        return {name: _template(value, key, f"/{name}") for name, value in found.items()}
    return None


def _template(value: Any, key: str, path: str) -> Any:
    draw = random.Random(f"{key}:{path}")
    if isinstance(value, dict):
        return {name: _template(part, key, f"{path}/{name}") for name, part in value.items()}
    if isinstance(value, list):
        return [_template(part, key, f"{path}/{index}") for index, part in enumerate(value)]
    if not isinstance(value, str):
        return value
    if span := _RANGE.search(value):
        return draw.randint(int(span[1]), int(span[2]))
    if choice := _CHOICE.search(value):
        return draw.choice(re.split(r"\s*[|/]\s*", choice[0]))
    return _sentence(path, key, {})


def numbers(value: Any, change: Callable[[float], Any]) -> Any:
    """The same value with every number in it changed."""
    if isinstance(value, dict):
        return {name: numbers(part, change) for name, part in value.items()}
    if isinstance(value, list):
        return [numbers(part, change) for part in value]
    return change(value) if isinstance(value, int | float) and not isinstance(value, bool) else value
