import json

import pytest

from medgen_metrics.judge.rubric import rubric
from medgen_metrics.judge.verdict import read_verdict

from .verdicts import CASE
from .verdicts import CASES
from .verdicts import STANDARD
from .verdicts import TEXT
from .verdicts import filled
from .verdicts import read
from .verdicts import refused
from .verdicts import written

DIMENSIONS = [dimension.key for dimension in STANDARD.dimensions(*CASE[:2])]


def test_a_strict_reply() -> None:
    verdict = read(written(overall_score=3.5))
    assert verdict.overall == 3.5
    assert verdict.scores == dict.fromkeys(DIMENSIONS, 4.0)
    assert verdict.checklist["noise_gone"] == "yes"
    assert (verdict.analysis, verdict.final_thoughts) == (filled()["analysis"], "Usable.")
    assert verdict.repaired is False
    assert read(json.dumps(filled(), indent=2) + "\n").repaired is False


@pytest.mark.parametrize("case", CASES)
def test_every_rubric_round_trips(case: tuple[str, str, str]) -> None:
    for sheet in (rubric(), rubric(scale=10), STANDARD, rubric("v1")):
        verdict = read_verdict(json.dumps(filled(sheet, case, score=sheet.scale)), sheet, *case)
        assert verdict.overall == sheet.scale
        assert list(verdict.scores) == [dimension.key for dimension in sheet.dimensions(*case[:2])]
        assert list(verdict.checklist) == [item.key for item in sheet.checklist(*case)]
        assert not verdict.repaired


MENDED = {
    "fence": f"```json\n{TEXT}\n```",
    "prose around": f"Here is my verdict:\n\n{TEXT}\n\nI hope {{this}} helps.",
    "trailing commas": TEXT[:-1] + ",}",
    "single quotes": repr(filled()),
    "line break in a string": TEXT.replace("gone; ", "gone;\n"),
    "bare keys": TEXT.replace('"overall_score"', "overall_score").replace('"analysis"', "analysis"),
    "missing comma": TEXT.replace(', "overall_score"', '\n "overall_score"'),
    "comment": TEXT.replace('"overall_score"', '/* in all */ "overall_score"'),
    "curly quotes": TEXT.replace('"final_thoughts"', "“final_thoughts”"),
    "quotes in a string": TEXT.replace("Usable.", 'A "usable" image.'),
    "list": f"[{TEXT}]",
    "thought": f"<think>First: {written(score=1)}</think>\n{TEXT}",
    "an incomplete draft first": '{"overall_score": 1}\nNo, in full:\n' + TEXT,
    "the same twice": f"{TEXT}\n\n{TEXT}",
    "numbers as strings": written(score="4"),
    "whole numbers as floats": written(score=4.0).replace("4.0", "4.00") + " ",
    "answers in another case": TEXT.replace('"yes"', '"Yes."'),
}


@pytest.mark.parametrize("how", MENDED)
def test_what_is_taken_as_it_was_meant(how: str) -> None:
    verdict = read(MENDED[how])
    assert verdict.judged() == read(TEXT).judged()
    assert verdict.repaired is (how != "whole numbers as floats")


BAD = {
    "bool": (written(overall_score=True), "overall_score: expected a number, got True"),
    "bool of a dimension": (written(score=True, overall_score=3), "anatomical_accuracy.score: expected a number"),
    "null": (written(overall_score=None), "overall_score: expected a number, got None"),
    "phrase": (written(overall_score="4 of 5"), "overall_score: expected a number, got '4 of 5'"),
    "too high": (written(overall_score=5.5), "overall_score: Input should be less than or equal to 5; got 5.5"),
    "too low": (written(score=0, overall_score=1), "anatomical_accuracy.score: Input should be 1, 2, 3, 4 or 5; got 0"),
    "fraction of a level": (written(score=3.5), "anatomical_accuracy.score: Input should be 1, 2, 3, 4 or 5; got 3.5"),
    "NaN": (written(overall_score=float("nan")), "overall_score: "),
    "infinite": (written(overall_score=float("inf")), "overall_score: "),
    "enormous": (written(overall_score=0).replace(": 0,", ": 1" + "0" * 400 + ","), "overall_score"),
    "digits beyond the parser": (written(overall_score=0).replace(": 0,", ": 1" + "0" * 9000 + ","), "not readable"),
    "missing key": (TEXT.replace('"final_thoughts"', '"thoughts"'), "final_thoughts: missing; thoughts: not asked for"),
    "missing item": (TEXT.replace('"noise_gone": "yes", ', ""), "checklist.noise_gone: missing"),
    "item of another task": (TEXT.replace("noise_gone", "organ_gone"), "checklist.organ_gone: not asked for"),
    "another answer": (TEXT.replace('"yes"', '"maybe"', 1), "Input should be 'yes', 'no' or 'unsure'; got 'maybe'"),
    "empty analysis": (written(analysis=" \n"), "analysis: expected the analysis in words"),
    "key twice": (TEXT.replace('"final', '"overall_score": 1, "final'), "'overall_score' stands more than once"),
    "wrapped": (json.dumps({"verdict": filled()}), "got the keys ['verdict']"),
    "another object": ('{"score": 5}', "expected a JSON object with the keys checklist, analysis"),
    "nested too deeply": ('{"analysis":' * 500 + "1" + "}" * 500, ""),
    "two that differ": (f"{TEXT} or {written(score=1)}", "more than one complete answer"),
    "an incomplete one last": (TEXT + ' {"overall_score": 5}', "checklist: missing"),
    "mended from two": (
        TEXT.replace("Usable.", 'It says {"overall_score": 5} itself.'),
        "the key 'overall_score' more often",
    ),
    "mended with an item twice": (
        TEXT[:-1].replace('{"noise_gone"', '{"noise_gone": "no", "noise_gone"') + ",}",
        "'noise_gone'",
    ),
    "mended with a score twice": (TEXT[:-1].replace('{"score": 4', '{"score": 1, "score": 4', 1) + ",}", "'score'"),
    "mended with a bare score twice": (TEXT.replace('{"score": 4', '{score: 1, "score": 4', 1), "'score'"),
}
BAD |= {
    f"number with words: {number}": (
        TEXT.replace('"overall_score": 4', f'"overall_score": {number}'),
        "no plain number",
    )
    for number in ("4 of 5", "3 to 4", "~4", "4 (good)", "4+", "4 5", "4, 5", "4%", "<4>", "4/5", "3-4")
}


@pytest.mark.parametrize("how", BAD)
def test_what_is_never_taken(how: str) -> None:
    text, message = BAD[how]
    error = refused(text)
    assert error.kind == "invalid"
    assert message in str(error)


def test_every_fault_is_told_at_once() -> None:
    faults = str(refused(written(score=9, overall_score="x", analysis="")))
    assert all(key in faults for key in (*DIMENSIONS, "overall_score", "analysis"))


def test_scoring_before_looking_is_refused() -> None:
    looked = filled()
    for late in (["analysis"], ["checklist"], ["checklist", "analysis"]):
        first = {key: value for key, value in looked.items() if key not in late}
        error = refused(json.dumps(first | {key: looked[key] for key in late}))
        assert str(error) == f"{' and '.join(late)}: expected before the first score; got after anatomical_accuracy"
    # the order among scores, and that of checklist and analysis, says nothing about when it looked
    harmless = ["analysis", "checklist", "overall_score", "final_thoughts", *reversed(DIMENSIONS)]
    assert read(json.dumps({key: looked[key] for key in harmless})).judged() == read(TEXT).judged()


@pytest.mark.parametrize("text", [None, "", " \n\t", "<think>all is well</think>\n"])
def test_empty_replies(text: str | None) -> None:
    assert refused(text).kind == "empty"
    assert refused(text, finish_reason="length").kind == "truncated"
    assert refused(text, finish_reason="content_filter").kind == "refusal"


def test_refusals_and_prose() -> None:
    assert refused("I'm sorry, but I can't assist with medical images.").kind == "refusal"
    assert refused("I cannot provide a diagnosis.", finish_reason="length").kind == "refusal"
    assert refused("The reply was", finish_reason="content_filter").kind == "refusal"
    assert refused("The output is good: 4 of 5.").kind == "no_json"
    assert read(f"I'm sorry, I can't provide a diagnosis, but as to the score: {TEXT}").overall == 4


def test_every_prefix_is_truncated_or_complete() -> None:
    for end in range(1, len(TEXT), 7):
        for reason in (None, "length"):
            assert refused(TEXT[:end], finish_reason=reason).kind in ("truncated", "no_json")
        assert refused("Verdict: " + TEXT[:end], finish_reason="length").kind == "truncated"


def test_an_open_object_is_taken_only_where_the_model_ended_and_all_is_there() -> None:
    assert read(TEXT[:-1], finish_reason="stop").judged() == read(TEXT).judged()
    for reason in (None, "length"):
        assert refused(TEXT[:-1], finish_reason=reason).kind == "truncated"
    half = TEXT[: TEXT.index(', "final_thoughts"')]
    assert refused(half, finish_reason="stop").kind == "truncated"


def test_a_closed_verdict_counts_though_the_reply_was_cut_afterwards() -> None:
    assert read(TEXT + "\n" * 900, finish_reason="length").overall == 4
    assert read(TEXT + " and further", finish_reason="length").overall == 4
    assert refused(TEXT + " Or rather: " + TEXT[:300], finish_reason="length").kind == "truncated"
