"""Replies of any text: read rightly or refused, in time that grows with their length alone."""

import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from medgen_metrics.judge.rubric import rubric
from medgen_metrics.judge.verdict import Unusable
from medgen_metrics.judge.verdict import read_verdict

from .verdicts import CASES
from .verdicts import STANDARD
from .verdicts import TEXT
from .verdicts import filled
from .verdicts import read
from .verdicts import refused


def test_half_a_surrogate_pair_can_be_stored() -> None:
    verdict = read(TEXT.replace("Usable.", "\\ud83d"))
    verdict.final_thoughts.encode("utf-8")
    assert read("Verdict \ud83d: " + TEXT).overall == 4


pieces = st.sampled_from(
    [
        TEXT,
        TEXT[:200],
        TEXT[200:],
        "{",
        "}",
        '"',
        "'",
        "\\",
        "[",
        ",",
        ":",
        "```json",
        "<think>",
        "</think>",
        "\n",
        "\ud800",
    ]
    + [
        '"overall_score": 4',
        '"analysis"',
        "{'a': ",
        '"score"',
        "null",
        "NaN",
        "1e999",
        "9" * 30,
        "\x00",
        "//",
        "I can't assist",
    ]
)


replies = st.one_of(st.text(max_size=200), st.lists(pieces, max_size=12).map("".join))


reasons = st.sampled_from([None, "stop", "length", "content_filter", "tool_calls"])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(replies, reasons, st.one_of(st.none(), replies))
def test_nothing_but_unusable_is_raised(text: str, reason: str | None, response: str | None) -> None:
    try:
        verdict = read(text, finish_reason=reason, response=response)
    except Unusable:
        return
    assert all(1 <= score <= 5 for score in (verdict.overall, *verdict.scores.values()))
    assert set(verdict.checklist.values()) <= {"yes", "no", "unsure"}
    json.dumps([verdict.analysis, verdict.final_thoughts], ensure_ascii=False).encode("utf-8")


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([*filled()]), json_values)
def test_any_value_in_any_place_is_taken_rightly_or_refused(key: str, value: Any) -> None:
    text = json.dumps(filled() | {key: value})
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= 5
    is_text = key in ("analysis", "final_thoughts") and isinstance(value, str) and (key != "analysis" or value.strip())
    if is_text or (key == "overall_score" and is_number):
        read(text)
    elif not (key == "overall_score" and isinstance(value, str)):
        assert refused(text).kind == "invalid"


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(CASES),
    st.data(),
    st.text(min_size=1, max_size=60).filter(str.strip),
    st.sampled_from(["{}", "```json\n{}\n```", "Verdict follows.\n{}\nDone.", "<think>I see</think>{}"]),
)
def test_round_trip(case: tuple[str, str, str], data: st.DataObject, words: str, around: str) -> None:
    sheet = data.draw(st.sampled_from([rubric(), rubric(scale=10), STANDARD, rubric("v1")]))
    made = filled(sheet, case, analysis=words, final_thoughts=words)
    made["overall_score"] = data.draw(st.floats(1, sheet.scale))
    for dimension in sheet.dimensions(*case[:2]):
        made[dimension.key]["score"] = data.draw(st.integers(1, sheet.scale))
    made.get("checklist", {}).update(
        {item.key: data.draw(st.sampled_from(["yes", "no", "unsure"])) for item in sheet.checklist(*case)}
    )
    verdict = read_verdict(around.replace("{}", json.dumps(made)), sheet, *case)
    assert (verdict.overall, verdict.analysis, verdict.checklist) == (
        made["overall_score"],
        words,
        made.get("checklist", {}),
    )
    assert verdict.scores == {d.key: made[d.key]["score"] for d in sheet.dimensions(*case[:2])}


N = 1_000_000

HOSTILE = {
    "braces": "{" * N,
    "nested": '{"analysis":' * (N // 12),
    "nested and closed": '{"analysis":' * (N // 14) + "1" + "}" * (N // 14),
    "brackets": '{"analysis": ' + "[" * N,
    "parentheses": '{"analysis": ' + "(" * N,
    "few parentheses": '{"analysis": ' + "(" * 40_000,
    "quotes": '{"analysis": ' + '"' * N,
    "backslashes": '{"analysis": "' + "\\" * N,
    "one long string": '{"analysis": "' + "a" * N + '"}',
    "words": '{"analysis": "' + 'a "b" ' * (N // 6) + "}",
    "fences": "```json\n" * (N // 8),
    "small objects": '{"analysis":1}' * (N // 14),
    "small mended objects": "{'analysis':1}" * (N // 14),
    "open quotes": "{a:\"}{b:'}" * (N // 10),
    "spaces": '{"overall_score":' + " " * N + "x}",
    "thoughts": "<think>" * (N // 7),
    "digits": '{"overall_score": ' + "9" * N + "}",
    "verdicts": TEXT * (N // len(TEXT)),
    "nearly verdicts": TEXT.replace('"final_thoughts"', '"final"') * (N // len(TEXT)),
    "spaces after scores": "{'analysis': 1, " + ("score:" + " " * 4000) * 12 + "}",
}


@pytest.mark.parametrize("how", HOSTILE)
@pytest.mark.timeout(60)  # all take under 2 s; anything quadratic takes hours
def test_large_hostile_texts_are_read_in_linear_time(how: str) -> None:
    longest = HOSTILE[how][:200_000]
    for text, response in ((HOSTILE[how], None), (longest, None), (TEXT, HOSTILE[how][:300_000])):
        with contextlib.suppress(Unusable):
            read(text, response=response)
