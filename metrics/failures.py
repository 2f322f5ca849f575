"""Why a sample has no score: one closed list of reasons, of two kinds, and the recognisers for failures hidden in text.

Source: DESIGN section 4. A *system's* reason is the evaluated system's fault and counts against it where a metric
says so; an *evaluation's* reason is ours (no weights, no judge) and never does.
"""

import logging
import re

SYSTEM = ("missing", "unreadable", "not_an_image", "too_large", "refused", "error_text", "empty", "unparsable")
EVALUATION = ("too_small", "reference_missing", "weights_missing", "judge_failed")
REASONS = SYSTEM + EVALUATION


class Unscored(Exception):
    """A sample that can't be scored.

    Attributes:
        reason: one of `REASONS`.
        detail: what was expected and what was got, for a person.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        if reason not in REASONS:
            raise ValueError(f"unknown reason {reason!r}; expected one of {', '.join(REASONS)}")
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class Teller:
    """Tells of samples that can't be scored: the first of a reason is a warning, further ones are information.

    A thousand lines would hide the others.

    Args:
        logger: of the module that scores.
    """

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._told: set[str] = set()

    def tell(self, name: str, failure: Unscored) -> None:
        """Tell of one.

        Args:
            name: what to call the sample.
            failure: why it has no score.
        """
        is_first = failure.reason not in self._told
        self._told.add(failure.reason)
        more = " (further ones of this reason are only counted)" if is_first else ""
        self._logger.log(logging.WARNING if is_first else logging.INFO, "%s: %s%s", name, failure, more)


def is_system_failure(reason: str) -> bool:
    """Whether the evaluated system, not the evaluation, is to blame."""
    return reason in SYSTEM


# The public evaluator writes these sentences into data fields (`response`, `output_image`) when a call failed.
_ERROR_TEXT = re.compile(r"\s*(?:VLM|Parsing|Generation|Edit|API|Image)\s+Error\s*:", re.IGNORECASE)

# Only the opening is looked at: a report may well say "cannot exclude"; a refusal starts with it.
_REFUSAL = re.compile(
    r"\s*(?:i(?:'|’)?m (?:very )?sorry\b|(?:i am )?(?:very )?sorry,|i (?:apologi[sz]e)\b|i can(?:no|')?t\b|i can’t\b|"
    r"i cannot\b|"
    r"i am (?:not able|unable) to\b|i(?:'|’)m (?:not able|unable) to\b|i won(?:'|’)t\b|unfortunately,? i (?:can|am)|"
    r"as an ai\b)"
    r"[^\n]{0,200}",
    re.IGNORECASE,
)
_HELPING = re.compile(
    r"\b(?:assist|help|provide|analy[sz]e|interpret|diagnos\w*|process|view|see|access|answer|comply|generate|edit|"
    r"fulfil\w*|do that|medical advice)\b",
    re.IGNORECASE,
)


def is_error_text(text: str) -> bool:
    """Whether a text field holds an error sentence of the public evaluator instead of an answer."""
    return _ERROR_TEXT.match(text[:200]) is not None


def is_refusal(text: str) -> bool:
    """Whether an answer opens by declining to answer."""
    opening = _REFUSAL.match(text[:400])
    return opening is not None and _HELPING.search(opening.group()) is not None
