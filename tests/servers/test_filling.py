"""Values that fit a JSON schema."""

from . import filling


def test_values_fit_any_schema() -> None:
    schema = {
        "properties": {
            "a": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
            "b": {"type": "integer", "exclusiveMinimum": 2, "maximum": 3},
            "c": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
            "d": {"type": "array", "items": {"const": 7}, "minItems": 2, "maxItems": 3},
            "e": {"type": ["string", "null"], "maxLength": 4},
            "f": {"allOf": [{"type": "integer"}, {"minimum": 4, "maximum": 4}]},
            "g": {"type": "null"},
        }
    }
    found = [filling.fill(schema, str(key)) for key in range(50)]
    assert {value["a"] for value in found} == {0.5}
    assert {value["b"] for value in found} == {3}
    assert {value["c"] for value in found} == {True, False}
    assert {tuple(value["d"]) for value in found} == {(7, 7), (7, 7, 7)}
    assert {len(value["e"]) for value in found} == {4}
    assert {(value["f"], value["g"]) for value in found} == {(4, None)}
