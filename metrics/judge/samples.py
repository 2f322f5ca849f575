"""The judge over Python values, as the `evaluate` module takes them: texts, images, or both a sample."""

import io
import os
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL.Image import Image

from .. import images
from ..failures import Unscored
from ..rows import Row
from .prompt import JudgeSample
from .tier import JudgeTier

_PARTS = ("text", "image")
UNREADABLE = b""
"""In place of a file that can't be read: `images.read` says so of it."""


class SampleJudge(JudgeTier):
    """A `JudgeTier` whose samples come as lists; options as there."""

    def score(  # type: ignore[override]  # the module's inputs, one list each
        self,
        predictions: Sequence[Any],
        references: Sequence[Any],
        inputs: Sequence[Any],
        instructions: Sequence[str],
        tasks: Sequence[str],
        choices: Sequence[Sequence[str]] | None = None,
    ) -> list[Row]:
        """Judge samples.

        Args:
            predictions: outputs: a string is a text; an image is anything that `images.read` takes but a string; both
                are `{"text": …, "image": …}`; None is a missing output.
            references: reference answers and images, likewise. Which of the two a reference holds says what the record
                asks for: a text (vqa), an image (edit), or both (gen).
            inputs: the input image, or a list of several, a sample.
            instructions: what the system was asked.
            tasks: the task's name a sample.
            choices: the options of closed questions, [] for none.

        Returns:
            One row a sample.

        Raises:
            TypeError: a value of another type, with its position.
            ValueError: a reference that holds neither text nor image; an unknown task.
        """
        given = [[] for _ in predictions] if choices is None else choices
        samples = [
            self._sample(position, *values)
            for position, values in enumerate(
                zip(predictions, references, inputs, instructions, tasks, given, strict=True)
            )
        ]
        return super().score(samples)

    def _sample(
        self,
        position: int,
        prediction: Any,
        reference: Any,
        shown: Any,
        instruction: str,
        task: str,
        choices: Sequence[str],
    ) -> JudgeSample:
        expected = _parts(reference, f"references[{position}]")
        output = _parts(prediction, f"predictions[{position}]")
        config = {(True, False): "vqa", (False, True): "edit", (True, True): "gen"}.get(
            (expected["text"] is not None, expected["image"] is not None)
        )
        if config is None:
            raise ValueError(f"references[{position}]: expected a text, an image or both, got neither")
        several = shown if isinstance(shown, list | tuple) else [shown]
        where = f"inputs[{position}]"
        return JudgeSample(
            # not its position: the same sample in another batch is the same request
            id="sample",
            config=config,
            task=task,
            instruction=instruction,
            choices=tuple(choices),
            inputs=tuple(_file(image, where) or UNREADABLE for image in several),
            reference_image=_file(expected["image"], f"references[{position}]"),
            output_image=_file(output["image"], f"predictions[{position}]"),
            answer=expected["text"],
            response=output["text"],
        )


def _parts(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - set(_PARTS))
        if unknown:
            raise TypeError(
                f"{where}: expected a dict of {', '.join(_PARTS)}, got {', '.join(map(repr, unknown))} in it"
            )
        found = {part: value.get(part) for part in _PARTS}
        if not isinstance(found["text"], str | None):
            raise TypeError(f"{where}: expected a string as text, got {type(found['text']).__name__}")
        return found
    if value is None or isinstance(value, str):
        return {"text": value, "image": None}
    return {"text": None, "image": value}


def _file(image: Any, where: str) -> bytes | None:
    """An image as a file: as it is where it is one, else as PNG; one that can't be read stays unreadable."""
    images.check_type(image, where)
    if image is None:
        return None
    if isinstance(image, bytes | bytearray):
        return bytes(image)
    if isinstance(image, list | tuple):
        return _file(image[0], f"{where}[0]") if image else None
    if isinstance(image, str | os.PathLike):
        try:
            # a pipe would wait for its writer
            return Path(image).read_bytes() if Path(image).is_file() else UNREADABLE if Path(image).exists() else None
        except OSError:
            return UNREADABLE
    try:
        found = images.read(image, where)
    except Unscored:
        return UNREADABLE
    data = io.BytesIO()
    if found.image is not None:
        found.image.save(data, "PNG", compress_level=1)
    elif isinstance(image, Image):
        image.save(data, "TIFF")  # keeps 16 bits and floats, as `datasets` decodes them
    else:
        raise TypeError(f"{where}: expected an image of 8 bits a channel, got {found.depth}; give its file")
    return data.getvalue()
