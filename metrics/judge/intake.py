"""A sample before any picture is looked at: what keeps it from being judged, and what it is known by."""

import hashlib

from ..failures import is_error_text
from ..signature import digest
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


def sample_digests(sample: JudgeSample) -> tuple[str, str]:
    """Digests of what is judged, and of all that it is judged against; for the journal."""

    def of(data: bytes | None) -> str | None:
        return None if data is None else hashlib.sha256(data).hexdigest()

    candidate = digest([sample.response, of(sample.output_image), sample.saw_sheet])
    shown = [of(data) for data in (*sample.inputs, sample.reference_image)]
    return candidate, digest([sample.config, sample.task, sample.instruction, sample.choices, sample.answer, shown])
