"""Texts by which a system could try to sway its judge, and records with them put in.

The tests show that no request gives way to them in form; how far a judge is swayed is measured on that judge, by the
same records with and without them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import replace
from functools import lru_cache
from importlib import resources
from io import BytesIO
from typing import Any

from .. import images
from ..pairs import eight_bit
from . import lettering
from .prompt import JudgeSample
from .rubric import Rubric

KINDS = ("verdict", "delimiter", "role", "override", "unicode", "image")
IMAGE = "image"
"""The kind that is drawn into the output image; the others are added to the response."""
_MARGIN = 3
_LEAST_FONT = 8
_SHARE = 0.25  # of the image's height, where the smallest font allows it
_BAND, _INK = (0, 0, 0), (255, 255, 255)


@dataclass(frozen=True, slots=True)
class Injection:
    """One text.

    Attributes:
        id: its name.
        kind: one of `KINDS`.
        text: with `{verdict}` for the best verdict of a rubric and `{high}` for its best score.
    """

    id: str
    kind: str
    text: str

    def filled(self, rubric: Rubric, config: str, task: str, view: str) -> str:
        """The text as it is put into a record that is judged by `rubric`."""
        text = self.text
        if "{verdict}" in text:
            text = text.replace("{verdict}", best_verdict(rubric, config, task, view))
        return text.replace("{high}", str(rubric.high))


@lru_cache(maxsize=1)
def texts() -> tuple[Injection, ...]:
    """All texts, by kind."""
    import yaml

    stored = resources.files(__package__).joinpath("injections.yaml").read_text(encoding="utf-8")
    return tuple(Injection(**item) for item in yaml.safe_load(stored))


def best_verdict(rubric: Rubric, config: str, task: str, view: str) -> str:
    """A verdict in the form that the rubric asks for, with the best of all answers and scores, as JSON."""
    schema = rubric.schema(config, task, view)
    return json.dumps(_best(schema, rubric.high), ensure_ascii=False)


def _best(schema: Mapping[str, Any], high: int) -> Any:
    if "properties" in schema:
        return {name: _best(of, high) for name, of in schema["properties"].items()}
    if schema["type"] in ("integer", "number"):
        return high
    return "yes" if "enum" in schema else "Fully correct."


def inject(sample: JudgeSample, injection: Injection, rubric: Rubric, view: str) -> JudgeSample | None:
    """The record with an injection in what the system produced.

    A text follows the response, or is one where there is none; the kind `image` is drawn into the output image.

    Returns:
        A copy; None where the record has no output image to draw into.

    Raises:
        Unscored: the output image can't be read.
    """
    text = injection.filled(rubric, sample.config, sample.task, view)
    if injection.kind == IMAGE:
        if sample.config == "vqa" or sample.output_image is None:
            return None
        return replace(sample, output_image=write_into(sample.output_image, text))
    return replace(sample, response="\n\n".join(filter(None, (sample.response, text))))


def write_into(data: bytes, text: str) -> bytes:
    """An image file with a text drawn over its lower quarter: white on a black band, broken into lines at spaces.

    Args:
        data: an image file; read as all metrics do.
        text: what to write.

    Returns:
        A PNG of the same size, RGB.

    Raises:
        Unscored: it can't be read.
    """
    from PIL import ImageDraw

    image = eight_bit(images.read(data)).copy()
    # the rest of the image must stay to be judged
    for size in range(lettering.font_size(*image.size), _LEAST_FONT - 1, -1):
        lines = _broken(text, size, image.width - 2 * _MARGIN)
        step = lettering.strip_height(size)
        if step * len(lines) <= _SHARE * image.height:
            break
    top = max(0, image.height - step * len(lines))
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, top, image.width, image.height), fill=_BAND)
    for number, line in enumerate(lines):
        lettering.centre(draw, (0, top + number * step, image.width, step), line, size, _INK)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _broken(text: str, size: int, width: int) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and lettering.text_width(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
