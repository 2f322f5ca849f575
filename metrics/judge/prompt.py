"""What a judge is asked: the pictures and texts of one record in one view, as an OpenAI chat.

What is shown follows the rubric's layout: `paper` shows the pictures that the public judge shows (with the
reference: reference and output, the input hidden; several images of a question on one contact sheet), `standard` all
of them, one by one. The wording is ours in both. Texts of the data set and of the system are data: see `fencing`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import replace
from functools import cached_property
from typing import Any

from ..failures import Unscored
from ..signature import digest
from . import fencing
from . import pictures
from .pictures import Picture
from .prompt_wording import WORDING
from .rubric import VIEWS
from .rubric import Rubric

REVISION = 1  # of how texts and pictures are arranged
REPLY_CHARACTERS = 6_000  # of a reply that is quoted for repair
ERROR_CHARACTERS = 2_000
LABELS = {"reference": "Reference", "output": "Output"}
BLOCKS = {"instruction": "instruction", "options": "options", "answer": "reference answer", "response": "response"}


def definition() -> list[Any]:
    """All that decides how a prompt looks, but for the record, the rubric and the options."""
    limits = [fencing.MAX_CHARACTERS, REPLY_CHARACTERS, ERROR_CHARACTERS]
    return [REVISION, WORDING, LABELS, BLOCKS, pictures.DRAWING, pictures.JPEG_QUALITY, limits]


PROMPT_DIGEST = digest(definition())
"""16 hex digits of the wording and of how pictures are drawn; part of the judge's definition."""


@dataclass(frozen=True, slots=True)
class JudgeSample:
    """One record with a system's output.

    Attributes:
        id: the record's.
        config: `vqa`, `edit` or `gen`.
        task: canonical task name.
        instruction: what the system was asked.
        choices: options of a closed question.
        inputs: files of the input images.
        reference_image: file of the expected image.
        output_image: file that the system produced.
        answer: expected text.
        response: text that the system produced.
        saw_sheet: whether the system was given a contact sheet of its inputs, where its predictions say so.
    """

    id: str
    config: str
    task: str
    instruction: str
    choices: tuple[str, ...] = ()
    inputs: tuple[bytes, ...] = ()
    reference_image: bytes | None = None
    output_image: bytes | None = None
    answer: str | None = None
    response: str | None = None
    saw_sheet: bool | None = None


@dataclass(frozen=True)
class Prompt:
    """A request to a judge, but for the model and how it is sampled.

    Attributes:
        system: the system message.
        parts: the user message: texts, and pictures in their places.
        fence: the code of its blocks.
        depths: the record's reference and the system's output, whose depths must agree; empty where one isn't there.
    """

    system: str
    parts: tuple[str | Picture, ...]
    fence: str
    depths: tuple[Picture, ...] = ()

    @property
    def images(self) -> tuple[Picture, ...]:
        """The pictures, in order; drawn when they are looked at."""
        return tuple(part for part in self.parts if isinstance(part, Picture))

    def prepare(self) -> None:
        """Draw the pictures, which takes a tenth of a second each; `identity` doesn't need it, `messages` does.

        Raises:
            Unscored: an image of the output can't be read or has another depth than the reference; `reference_missing`
                where the fault is the record's.
        """
        for picture in self.images:
            _ = picture.drawn
        if self.depths:
            reference, output = (picture.drawn.depths[0].removesuffix(" colour") for picture in self.depths)
            if reference != output:
                raise Unscored(
                    "unreadable",
                    f"output is {output}, reference {reference}: images of different depth have no common scale",
                )

    @cached_property
    def messages(self) -> list[dict[str, Any]]:
        """The chat: a system message, and a user message of text and `image_url` parts with data URLs.

        Raises:
            Unscored: as `prepare`.
        """
        self.prepare()
        return self._chat(lambda picture: {"type": "image_url", "image_url": {"url": picture.url}})

    @cached_property
    def identity(self) -> list[dict[str, Any]]:
        """The same chat with each picture's digest in its place, fit for JSON and cache keys. Draws nothing."""
        return self._chat(lambda picture: {"type": "image", "digest": picture.digest})

    def _chat(self, show: Callable[[Picture], dict[str, Any]]) -> list[dict[str, Any]]:
        content = [show(part) if isinstance(part, Picture) else {"type": "text", "text": part} for part in self.parts]
        return [{"role": "system", "content": self.system}, {"role": "user", "content": content}]


def build(
    sample: JudgeSample, rubric: Rubric, view: str, *, image_side: int = 1024, image_format: str = "png"
) -> Prompt:
    """The request by which a record is judged.

    Args:
        sample: the record with its output.
        rubric: its layout decides which pictures are shown, its text goes into the system message.
        view: one of `rubric.VIEWS`.
        image_side: most pixels of a side of a picture as it is sent.
        image_format: `png` or `jpeg`.

    Returns:
        The prompt; its pictures are drawn by `prepare` or when `messages` is first looked at.

    Raises:
        ValueError: an unknown view or format, or a side too small for a label.
        Unscored: `missing` where an image should have been produced and isn't there; `reference_missing` where the view
            needs a reference that isn't there.
    """
    if view not in VIEWS:
        raise ValueError(f"view: expected {' or '.join(VIEWS)}; got {view!r}")
    makes_image = sample.config != "vqa"
    has_reference = view == VIEWS[0]
    if makes_image and sample.output_image is None:
        raise Unscored("missing", f"{sample.id}: no output image to judge")
    if has_reference and (sample.reference_image if makes_image else sample.answer) is None:
        raise Unscored("reference_missing", f"{sample.id}: no reference {'image' if makes_image else 'answer'}")
    shown = _shown(sample, rubric.layout, has_reference, image_side, image_format)
    texts = _texts(sample, has_reference)
    fence = fencing.token(
        [sample.id, sample.config, sample.task, view],
        list(texts.values()),
        [picture.digest for picture in shown],
    )
    # The same for all records of a task, so that servers keep it: the fence, which differs, comes after it.
    system = [WORDING["role"], WORDING["pictures"], rubric.describe(sample.config, sample.task, view)]
    parts: list[str | Picture] = [WORDING["data"].format(fence=fence)]
    for number, picture in enumerate(shown, start=1):
        words = WORDING[_kind(picture, sample)]
        parts.append(words.format(number=number, count=len(shown), label=picture.label, inputs=len(sample.inputs)))
        parts.append(picture)
    said = [f"{WORDING[name]}\n{fencing.block(BLOCKS[name], text, fence)}" for name, text in texts.items()]
    if "response" not in texts and sample.config != "edit":
        said.append(WORDING["no response"])
    what = "text" if not makes_image else "both" if sample.config == "gen" or "response" in texts else "image"
    said.append(WORDING["closing"].format(what=WORDING[what], how=WORDING[view]))
    parts.append("\n\n".join(said))
    return Prompt("\n\n".join(system), tuple(parts), fence, _compared(sample, image_side, image_format))


def repair(prompt: Prompt, reply: str, error: str) -> Prompt:
    """The request asked again, after a reply that could not be used.

    The reply and the error are quoted in blocks of the user message, which has the same pictures: the roles don't
    change, and a reply that quotes the system's text gains nothing by it.

    Args:
        prompt: what was asked, by `build`, or by `repair` for a further reply.
        reply: what the judge replied.
        error: what was wrong with it.
    """
    fence = fencing.token(prompt.fence, reply, error)
    said = [
        WORDING["repair"].format(fence=fence),
        f"{WORDING['repair reply']}\n{fencing.block('reply', reply, fence, REPLY_CHARACTERS)}",
        f"{WORDING['repair error']}\n{fencing.block('error', error, fence, ERROR_CHARACTERS)}",
        WORDING["repair closing"],
    ]
    return replace(prompt, parts=(*prompt.parts, "\n\n".join(said)), fence=fence)


def _shown(sample: JudgeSample, layout: str, has_reference: bool, side: int, format_: str) -> list[Picture]:
    """The pictures of a view, in order."""
    makes_image = sample.config != "vqa"
    shown: list[Picture] = []
    # The public judge sees the reference in the input's place, and so can't see what should have been kept.
    if sample.inputs and not (layout == "paper" and has_reference and makes_image):
        if layout == "paper" or len(sample.inputs) == 1:
            shown.append(Picture("Input", sample.inputs, "input", side, format_))
        else:
            shown += [
                Picture(f"Input {number}", (source,), "input", side, format_)
                for number, source in enumerate(sample.inputs, start=1)
            ]
    if makes_image:
        results = {"reference": sample.reference_image if has_reference else None, "output": sample.output_image}
        shown += [
            Picture(LABELS[role], (data,), role, side, format_) for role, data in results.items() if data is not None
        ]
    return shown


def _compared(sample: JudgeSample, side: int, format_: str) -> tuple[Picture, ...]:
    """Reference and output, where both are there, in either view: both views judge the same records."""
    if sample.config == "vqa" or sample.reference_image is None or sample.output_image is None:
        return ()
    found = {"reference": sample.reference_image, "output": sample.output_image}
    return tuple(Picture(LABELS[role], (data,), role, side, format_) for role, data in found.items())


def _kind(picture: Picture, sample: JudgeSample) -> str:
    if picture.role != "input" or len(sample.inputs) == 1:
        return picture.role
    return "sheet" if len(picture.sources) > 1 else "inputs"


def _texts(sample: JudgeSample, has_reference: bool) -> dict[str, str]:
    """The texts of a view, by their key in `WORDING`; blank ones are left out."""
    found = {"instruction": sample.instruction}
    if not all(choice.strip() in sample.instruction for choice in sample.choices):
        found["options"] = "\n".join(sample.choices)
    if has_reference:
        found["answer"] = sample.answer or ""
    found["response"] = sample.response or ""
    return {name: text for name, text in found.items() if text.strip()}
