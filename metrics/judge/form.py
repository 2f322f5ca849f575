"""The form of a verdict: a pydantic model, and the strict JSON schema that servers take."""

import json
import re
from functools import lru_cache
from typing import Annotated
from typing import Any
from typing import Literal

from pydantic import AfterValidator
from pydantic import BaseModel
from pydantic import BeforeValidator
from pydantic import ConfigDict
from pydantic import Field
from pydantic import create_model

ANSWERS = ("yes", "no", "unsure")
_NUMBER = re.compile(r"\s{0,9}[+-]?[0-9]{1,9}(?:\.[0-9]{1,9})?\s{0,9}", re.ASCII)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _number(value: Any) -> Any:
    """A number as it is, or written as a string; pydantic would also take True for 1."""
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {value!r:.60}")
    return value


def _whole(value: Any) -> Any:
    number = _number(value)
    # abs: a float beyond 2**53 is whole for no reason; the range check names it all the same.
    return int(number) if isinstance(number, float) and number.is_integer() and abs(number) < 1e9 else number


def _word(value: Any) -> Any:
    return value.strip(" \t\r\n.").casefold() if isinstance(value, str) else value


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("expected the analysis in words, before any score; got an empty text")
    return value


@lru_cache(maxsize=256)
def verdict_model(items: tuple[str, ...], dimensions: tuple[str, ...], scale: int) -> type[BaseModel]:
    """The form of a verdict.

    Fields in order: `checklist` {item: yes | no | unsure} (absent without items), `analysis` (not empty), each
    dimension {`score`, `explanation`}, `overall_score`, `final_thoughts`. All are required, others are refused.
    Dimensions are scored in whole numbers, since their levels are worded one by one; the overall score is any number
    in the range, as in the public judge. Numbers may be strings of digits; booleans, NaN and infinities are refused.

    Args:
        items: keys of the checklist.
        dimensions: keys of the dimensions.
        scale: the highest score; the lowest is 1.
    """
    # Literal gives `enum`, which every structured-output engine enforces; ranges of integers are younger in some.
    level: Any = Annotated[Literal[tuple(range(1, scale + 1))], BeforeValidator(_whole)]
    # In this order: bounds after a validator would be written `ge` and `le`, which no server knows.
    overall = Annotated[float, Field(ge=1, le=scale), BeforeValidator(_number)]
    answer: Any = Annotated[Literal[ANSWERS], BeforeValidator(_word)]
    score = create_model("Score", __base__=_Strict, score=(level, ...), explanation=(str, ...))
    answers: dict[str, Any] = dict.fromkeys(items, (answer, ...))
    fields: dict[str, Any] = {}
    if items:
        fields["checklist"] = (create_model("Checklist", __base__=_Strict, **answers), ...)
    fields["analysis"] = (Annotated[str, AfterValidator(_said)], ...)
    fields |= dict.fromkeys(dimensions, (score, ...))
    fields |= {"overall_score": (overall, ...), "final_thoughts": (str, ...)}
    return create_model("Verdict", __base__=_Strict, **fields)


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The model's JSON schema in the subset that OpenAI's strict mode and vLLM's grammars both take.

    No `$ref`, titles or defaults; every object closed, with all its properties required, in the order of the fields.
    """
    return json.loads(_schema_text(model))  # the caller's own


@lru_cache(maxsize=256)
def _schema_text(model: type[BaseModel]) -> str:
    # pydantic makes a schema anew for each call: milliseconds, as much as all else that asking for a kept reply costs
    schema = model.model_json_schema()
    return json.dumps(_inlined(schema, schema.get("$defs", {})))


def _inlined(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inlined(part, definitions) for part in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(definitions[node["$ref"].rsplit("/", 1)[1]], definitions)
    # Properties are named freely, so that only the node's own keywords are dropped, not a property called `title`.
    kept = {key: value for key, value in node.items() if key not in ("title", "description", "$defs")}
    return {
        key: {name: _inlined(part, definitions) for name, part in value.items()}
        if key == "properties"
        else _inlined(value, definitions)
        for key, value in kept.items()
    }
