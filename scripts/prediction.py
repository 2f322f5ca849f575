"""What a system answered for one record."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from .image_source import ImageSource

GIVES = {"vqa": ("text",), "edit": ("image",), "gen": ("text", "image")}  # what each config asks of a system


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a system answered for one record.

    Attributes:
        id: the record's id, whatever the row was joined by.
        text: the text as given, an error sentence included; None if there is none.
        image: the image, a file's path or its cell in a Parquet file; None if there is none.
        text_reason, image_reason: why there is no usable output of that kind (`failures.SYSTEM`), None where there is
            one or the row has nothing to say about it: `error_text` where the system reported an error (an error
            sentence or an `error` entry), `missing` where nothing is there or the named file does not exist.
        error: the reported error in words.
        meta: the row's own `meta`, not interpreted; to the public evaluator's rows `saw_sheet` is added where the
            system was shown several images as one.
        several_images: how many images the row names where it names more than one; the first is taken.
    """

    id: str
    text: str | None = None
    image: ImageSource | None = None
    text_reason: str | None = None
    image_reason: str | None = None
    error: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    several_images: int = 0
