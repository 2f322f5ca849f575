"""What keeps a sample from being judged before any picture is looked at: nothing there, or an error's sentence."""

from ..failures import is_error_text
from .prompt import JudgeSample

_TEXT = frozenset({"vqa", "gen"})
_IMAGE = frozenset({"edit", "gen"})


def failure(sample: JudgeSample) -> str | None:
    """Why a sample can't be judged, one of `failures.REASONS`; None if it can, as far as its texts tell.

    Images are read when the prompt is made, which has the same reasons: a reply from the cache needs none.
    """
    if sample.config in _IMAGE and sample.output_image is None:
        return "missing"
    if sample.config in _TEXT and (reason := _text_reason(sample.response)):
        return reason
    return "reference_missing" if sample.config in _IMAGE and sample.reference_image is None else None


def _text_reason(text: str | None) -> str | None:
    if text is None:
        return "missing"
    if is_error_text(text):
        return "error_text"
    return None if text.strip() else "empty"
