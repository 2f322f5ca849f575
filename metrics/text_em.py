"""Exact match of one sample: what the answer chooses or fills in, against the reference."""

from .blank import normal_filling
from .blank import parse_blank
from .exact_match import parse_choice
from .failures import is_refusal
from .options import whole_option
from .text_samples import BLANK
from .text_samples import CHOICE
from .text_samples import Sample


def add_em(sample: Sample, values: dict[str, float], reasons: dict[str, str]) -> None:
    """Score a sample of a closed task into its values and reasons."""
    expected: str | None
    if sample.task == CHOICE:
        option = whole_option(sample.reference, sample.options)
        expected = option.letter if option is not None else None
    else:
        expected = normal_filling(sample.reference) or None
    if expected is None:
        # Without options, or with an answer that is none of them, nothing can be right.
        reasons["em"] = "reference_missing"
        return
    if sample.task == CHOICE:
        values["em_chance"] = 1 / len(sample.options)
    if sample.reason:
        values["em"], reasons["em"] = 0.0, sample.reason
        return
    if sample.task == CHOICE:
        parsed = parse_choice(sample.text, sample.options)
        right = parsed.answer == expected
    else:
        parsed = parse_blank(sample.text)
        # A reference of several lines is never a last line.
        right = parsed.answer == expected or normal_filling(sample.text) == expected
    values["em"] = float(right)
    if not right and is_refusal(sample.text) and (parsed.answer is None or sample.task == BLANK):
        reasons["em"] = "refused"
    elif not right and parsed.answer is None:
        reasons["em"] = parsed.status
