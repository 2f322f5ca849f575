"""What keeps a sample from being judged: nothing there, or nothing that can be read."""

from functools import lru_cache

from .. import images
from ..failures import Unscored
from ..failures import is_error_text
from .prompt import JudgeSample

# What a config's outputs must hold; a missing answer to a VQA question is nothing that a judge could look at.
_TEXT = frozenset({"vqa", "gen"})
_IMAGE = frozenset({"edit", "gen"})


def failure(sample: JudgeSample) -> str | None:
    """Why a sample can't be judged, one of `failures.REASONS`; None if it can.

    An output that is missing, an error sentence or no image is the system's failure; a reference or an input that can't
    be read is not.
    """
    if sample.config in _IMAGE and (reason := _image_reason(sample.output_image)):
        return reason
    if sample.config in _TEXT and (reason := _text_reason(sample.response)):
        return reason
    shown = (*sample.inputs, *((sample.reference_image,) if sample.config in _IMAGE else ()))
    if any(_image_reason(data) for data in shown):
        return "reference_missing"
    return None


def _text_reason(text: str | None) -> str | None:
    if text is None:
        return "missing"
    if is_error_text(text):
        return "error_text"
    return None if text.strip() else "empty"


@lru_cache(maxsize=256)
def _image_reason(data: bytes | None) -> str | None:
    if data is None:
        return "missing"
    try:
        images.read(data)
    except Unscored as error:
        return error.reason
    return None
