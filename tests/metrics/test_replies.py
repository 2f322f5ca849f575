import doctest
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from medgen_metrics import replies
from medgen_metrics.json_objects import Found
from medgen_metrics.replies import Unusable
from medgen_metrics.replies import read_fields
from medgen_metrics.replies import read_object

ASKED = ("output_text", "edit_prompt")
ANSWER = {"output_text": "A nodule in the right lung.", "edit_prompt": "Remove the nodule; keep {all} else."}
TEXT = json.dumps(ANSWER)


def kind_of(text: str | None, **asked: Any) -> str:
    with pytest.raises(Unusable) as error:
        read_fields(text, ASKED, **asked)
    return error.value.kind


def test_doctest() -> None:
    assert doctest.testmod(replies).attempted >= 1
    assert doctest.testmod(replies).failed == 0


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"``` \n{TEXT}",
        f"Sure! Here you go: {TEXT} Let me know.",
        TEXT[:-1] + ", }",
        repr(ANSWER),
        TEXT.replace('"output_text"', "output_text"),
        TEXT.replace(', "edit', ',\n // the prompt\n "edit'),
        f"<think>They want {{something}} removed.</think>{TEXT}",
        f'{{"note": "draft"}} {TEXT}',
        f'{TEXT}\n\n{{"note": "done"}}',
        f"{TEXT}\n{TEXT}",
        f"The set {{1, 2}} and \\frac{{a}}{{b}}: {TEXT}",
        f"[{TEXT}]",
    ],
)
def test_the_object_is_found(text: str) -> None:
    assert read_fields(text, ASKED) == ANSWER


def test_further_keys_and_any_value_are_given_back() -> None:
    assert read_fields('{"output_text": null, "edit_prompt": [1], "more": 2}', ASKED) == {
        "output_text": None,
        "edit_prompt": [1],
        "more": 2,
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (None, "empty"),
        (" \n", "empty"),
        ("A nodule.", "no_json"),
        ("{}", "no_json"),
        (json.dumps(TEXT), "no_json"),
        ("[1, 2]", "no_json"),
        ("I'm sorry, but I can't help with that.", "refusal"),
        (TEXT[:-1], "truncated"),
        (TEXT[:30], "truncated"),
        ("<think>They want", "truncated"),
        ('{"output_text": "x"}', "invalid"),
        ('{"answer": "x"}', "invalid"),
        (json.dumps({"result": ANSWER}), "invalid"),
        (f'{TEXT} {{"output_text": "other"}}', "invalid"),
        (TEXT + TEXT.replace("right", "left"), "invalid"),
        (TEXT.replace('"A nodule', '"A "output_text": nodule') + ",", "invalid"),
        ("x" * 200_001, "invalid"),
    ],
)
def test_what_cannot_be_read(text: str | None, kind: str) -> None:
    assert kind_of(text) == kind


def test_messages_say_what_was_expected_and_got() -> None:
    with pytest.raises(Unusable, match=r"missing: edit_prompt; got the keys \['output_text'\]"):
        read_fields('{"output_text": "x"}', ASKED)
    with pytest.raises(Unusable, match=r"with the keys output_text, edit_prompt; got the keys \['answer'\]"):
        read_fields('{"answer": "x"}', ASKED)
    with pytest.raises(Unusable, match="it begins 'A nodule"):
        read_fields("A nodule." + "x" * 999, ASKED)


def test_the_reason_to_end_counts() -> None:
    assert read_fields(TEXT[:-1], ASKED, finish_reason="stop") == ANSWER
    assert kind_of(TEXT[:-1], finish_reason="length") == "truncated"
    assert kind_of("Well,", finish_reason="length") == "truncated"
    assert kind_of(None, finish_reason="content_filter") == "refusal"
    assert read_fields(TEXT + "\n\n\n", ASKED, finish_reason="length") == ANSWER


def test_validation_and_essence_are_the_caller_s() -> None:
    def number(found: Found) -> int:
        if not isinstance(value := (found.value or {}).get("n"), int):
            raise ValueError("n: expected a whole number")
        return value

    assert read_object('{"n": "one"} {"n": 2}', ["n"], number) == 2
    with pytest.raises(Unusable, match="n: expected a whole number"):
        read_object('{"n": 2} {"n": "one"}', ["n"], number)
    with pytest.raises(Unusable, match="more than one complete answer"):
        read_object('{"n": 1} {"n": 3}', ["n"], number)
    assert read_object('{"n": 1} {"n": 3}', ["n"], number, essence=lambda n: n % 2) == 3
    with pytest.raises(Unusable, match="copied"):
        read_object('{"n": 1}', ["n"], number, quoted='The file holds {"n":  1}.')


def test_kinds_are_closed() -> None:
    with pytest.raises(ValueError, match="unknown kind 'odd'; expected one of refusal"):
        Unusable("odd", "")


texts = st.text(st.characters(codec="utf-8"), max_size=30)
values = st.recursive(
    texts | st.integers() | st.booleans() | st.none(), lambda v: st.lists(v, max_size=3), max_leaves=4
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(texts, values, max_size=4), texts, st.sampled_from([None, 0, 2]))
def test_round_trip(more: dict[str, Any], prose: str, indent: int | None) -> None:
    made = {**more, **ANSWER}
    text = json.dumps(made, indent=indent)
    assert read_fields(text, ASKED) == made
    assert read_fields(f"{prose.replace('{', '').replace('<', '')}\n{text}\n", ASKED) == made


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from([*"{}[]\":,'\\/\n", TEXT, "output_text", "<think>", "</think>", "1", "\ud800"]), max_size=25
    ),
    st.sampled_from([None, "stop", "length"]),
)
def test_nothing_but_unusable_is_raised(parts: list[str], reason: str | None) -> None:
    try:
        value = read_fields("".join(parts), ASKED, finish_reason=reason)
    except Unusable:
        return
    assert set(ASKED) <= set(value)
    json.dumps(value, ensure_ascii=False).encode("utf-8")
