"""Reading a judge's verdict.

The reply is read by `replies.read_object`; the rubric's model says what a verdict is. What is taken as it was meant:
fences and prose around the object, mended JSON, a number written as a string, `Yes.` for `yes`. What is never taken:
a missing or further key, a boolean or a phrase (`4 of 5`) for a number, a fraction for a level, a number out of range,
a checklist or an analysis that comes after the first score (then the judge scored before it looked; the order of
everything else is free), a verdict that breaks off, one of two verdicts that differ, one copied from the response.
"""

import re
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from pydantic import ValidationError

from ..json_objects import Found
from ..replies import KINDS
from ..replies import Unusable
from ..replies import read_object
from .rubric import Rubric

__all__ = ["KINDS", "Unusable", "Verdict", "read_verdict"]

# json-repair reads `4 of 5`, `1 to 5` and `~4` as 4, 1 and 4, so that numbers in mended text are looked at as written.
_SCORE_KEY = re.compile(r"score[\"'“”‘’]?\s*:")
_PLAIN = re.compile(
    r"\s*(?:[\"'“”‘’]\s*)?[+-]?[0-9]{1,9}(?:\.[0-9]{0,9})?\s*(?:[\"'“”‘’]\s*)?(?:,(?!\s*[0-9])|[}\"'“‘]|\w{1,60}\s*:|\Z)"
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of a record in one view.

    Attributes:
        overall: the overall score, 1 to the rubric's scale.
        scores: dimension -> score, of the dimensions that were asked.
        checklist: item -> `yes`, `no` or `unsure`; empty in rubric v1.
        analysis: the judge's analysis.
        final_thoughts: its closing words.
        repaired: whether the reply was anything else than one valid JSON object in the form asked for; not compared.
    """

    overall: float
    scores: dict[str, float]
    checklist: dict[str, str]
    analysis: str
    final_thoughts: str
    repaired: bool = field(compare=False)

    def judged(self) -> tuple[object, ...]:
        """The verdict without its words: overall, scores, checklist."""
        return self.overall, self.scores, self.checklist


def read_verdict(
    text: str | None,
    rubric: Rubric,
    config: str,
    task: str,
    view: str,
    *,
    finish_reason: str | None = None,
    response: str | None = None,
) -> Verdict:
    """The verdict in a judge's reply.

    Args:
        text: the reply; None as servers give for no content.
        rubric: what was asked.
        config: the record's config.
        task: the record's task.
        view: the view that was shown.
        finish_reason: why the model ended, as the server says.
        response: the response that was judged; a verdict that stands in it is not the judge's.

    Raises:
        Unusable: no verdict can be read; its message can be sent to the judge. Nothing else is raised for any text.
        ValueError: unknown config, task or view.
    """
    model = rubric.model(config, task, view)
    names = [dimension.key for dimension in rubric.dimensions(config, task)]
    whole = (text or "").strip()

    def validate(found: Found) -> Verdict:
        value = found.value or {}
        _check_order(list(value), names)
        if not found.strict:
            _check_numbers(found.text)
        try:
            read = model.model_validate(value).model_dump()
        except ValidationError as error:
            raise ValueError(_faults(error)) from error
        repaired = not found.strict or found.text != whole or read != value
        scores = {name: float(read[name]["score"]) for name in names}
        checklist = read.get("checklist", {})
        return Verdict(read["overall_score"], scores, checklist, read["analysis"], read["final_thoughts"], repaired)

    return read_object(
        text,
        tuple(model.model_fields),
        validate,
        finish_reason=finish_reason,
        quoted=response,
        essence=Verdict.judged,
    )


def _check_order(keys: list[str], names: list[str]) -> None:
    scored = [keys.index(key) for key in (*names, "overall_score") if key in keys]
    late = [key for key in ("checklist", "analysis") if key in keys and scored and keys.index(key) > min(scored)]
    if late:
        raise ValueError(f"{' and '.join(late)}: expected before the first score; got after {keys[min(scored)]}")


def _check_numbers(text: str) -> None:
    for key in _SCORE_KEY.finditer(text):
        if _PLAIN.match(text, key.end()) is None:
            raise ValueError(f"a score is no plain number: got {text[key.start() : key.end() + 40]!r}")


def _faults(error: ValidationError, most: int = 12) -> str:
    """Every fault, one after the other: where, and what is wrong."""
    faults: list[Any] = error.errors(include_url=False, include_context=False)
    said = [f"{'.'.join(map(str, fault['loc']))[:80]}: {_said(fault)}" for fault in faults[:most]]
    return "; ".join(said + ([f"and {len(faults) - most} more"] if len(faults) > most else []))


def _said(fault: Any) -> str:
    if fault["type"] == "missing":
        return "missing"
    if fault["type"] == "extra_forbidden":
        return "not asked for"
    message = fault["msg"].removeprefix("Value error, ")
    return message if "got" in message else f"{message}; got {fault['input']!r:.60}"
