from typing import Any
from typing import Literal

import pytest
from pydantic import BaseModel
from pydantic import ConfigDict
from pydantic import Field
from pydantic import FiniteFloat
from pydantic import NonNegativeInt
from pydantic import ValidationError
from pydantic import field_validator

from medgen_metrics.schema_faults import faults


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid")
    score: FiniteFloat = 0.0
    count: NonNegativeInt = 0
    right: bool = False
    shade: str = "dark"

    @field_validator("shade")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value != "dark":
            raise ValueError("expected dark")
        return value


class Outer(BaseModel):
    name: str = Field("x", min_length=1, max_length=3)
    kind: Literal["a", "b"] = "a"
    items: list[Inner] = []
    by: dict[str, Inner] = {}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"name": 3}, "name: expected text, got 3"),
        ({"name": ""}, "name: expected text of at least 1 character, got ''"),
        ({"name": "long"}, "name: expected text of at most 3 characters, got 'long'"),
        ({"kind": "c"}, "kind: expected 'a' or 'b', got 'c'"),
        ({"items": 1}, "items: expected a list, got 1"),
        ({"items": [1]}, "items.0: expected a mapping, got 1"),
        ({"items": [[]]}, "items.0: expected a mapping, got a list"),
        ({"items": [{"score": "x"}]}, "items.0.score: expected a number, got 'x'"),
        ({"items": [{"score": None}]}, "items.0.score: expected a number, got None"),
        ({"items": [{"count": -1}]}, "items.0.count: expected greater than or equal to 0, got -1"),
        ({"items": [{"count": 1.5}]}, "items.0.count: expected a whole number, got 1.5"),
        ({"items": [{"right": "perhaps"}]}, "items.0.right: expected true or false, got 'perhaps'"),
        ({"items": [{"shade": "light"}]}, "items.0.shade: expected dark, got 'light'"),
        ({"by": []}, "by: expected a mapping, got a list"),
        ({"by": {"k": {"new": {}}}}, "by.k.new: expected no such field, got a mapping"),
    ],
)
def test_faults_in_our_words(content: Any, said: str) -> None:
    with pytest.raises(ValidationError) as error:
        Outer.model_validate(content)
    assert faults(error.value) == [said]


def test_all_faults_are_told() -> None:
    with pytest.raises(ValidationError) as error:
        Outer.model_validate({"name": "", "kind": "c"})
    assert len(faults(error.value)) == 2


def test_what_is_no_json() -> None:
    with pytest.raises(ValidationError) as error:
        Outer.model_validate_json("{")
    (said,) = faults(error.value, "result.json")
    assert said.startswith("result.json: expected JSON, got a fault in it: EOF")


def test_a_long_value_is_cut() -> None:
    with pytest.raises(ValidationError) as error:
        Outer.model_validate({"kind": "c" * 10_000})
    assert len(faults(error.value)[0]) < 130
