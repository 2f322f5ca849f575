"""Pairs of outputs that a competent judge must order rightly, by construction.

Of each pair one output is the record's own reference, the other is worse whatever the image shows: blank, another
record's, the input copied although the edit is visible, the stated answer turned into its opposite (`flips`). Which
pairs there are follows from the records and a seed alone.
"""

from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from io import BytesIO

import numpy as np

from .. import images
from .. import pairs as image_pairs
from ..answer_text import fold
from ..blank import normal_filling
from ..failures import Unscored
from ..options import Option
from ..options import read_options
from ..options import whole_option
from ..signature import digest
from ..text_samples import BLANK
from ..text_samples import CHOICE
from .flips import FLIPS
from .prompt import JudgeSample
from .rubric import VIEWS

KINDS = ("blank", "unrelated", "shuffled", "copied_input", *FLIPS)

VISIBLE_LEVELS = 25  # of 255, in any channel: from there on a pixel counts as changed
VISIBLE_SHARE = 0.005  # share of the pixels that must have changed: a thin contour is visible, a small arrow may not be

# Sections and surfaces of one brain look like those of the next; without the reference nobody could tell.
_NEEDS_REFERENCE = frozenset({"3d-to-2d-projection", "2d-to-3d-reconstruction"})


@dataclass(frozen=True, slots=True)
class Original:
    """A record to make probes from.

    Attributes:
        sample: the record; its outputs don't matter.
        group: records of one group show one source image.
        modality: as the data set has it.
    """

    sample: JudgeSample
    group: str
    modality: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One pair.

    Attributes:
        kind: one of `KINDS`.
        record: the record's id.
        config, task: the record's.
        group: the record's source image, by which intervals are clustered.
        views: in which the order follows from what is shown.
        right: the record with its own reference as the output.
        wrong: the record with the worse output.
    """

    kind: str
    record: str
    config: str
    task: str
    group: str
    views: tuple[str, ...]
    right: JudgeSample
    wrong: JudgeSample


def probes(originals: Sequence[Original], seed: int = 0, views: Sequence[str] = VIEWS) -> list[Probe]:
    """All pairs that records allow, by record and kind.

    - `blank`: a black image of the reference's size; the text stays. Not of VQA, whose empty texts are never judged.
    - `unrelated`: another group's output of the same config, of another modality.
    - `shuffled`: another group's output of the same task and modality; of a multiple-choice question another option.
      Not of open texts, since two reports of normal findings may both be right; surfaces and sections of brains only
      with the reference.
    - `copied_input`: the (first) input image; the text stays.
    - `laterality`, `negation`, `number`: the stated answer, flipped; the image stays. `number` only with the reference.

    Images must differ visibly: at least 0.5 % of the pixels by more than 25 of 255 levels in any channel, at the
    reference's size.

    Args:
        originals: records, in any order; donors of outputs are taken from among them.
        seed: draws donors and options.
        views: the judge's views.
    """
    ordered = sorted(originals, key=lambda original: original.sample.id)
    return [probe for original in ordered for probe in _of_record(original, ordered, seed, tuple(views))]


def reference(original: Original) -> JudgeSample:
    """The record with its own reference as the output."""
    sample = original.sample
    return replace(sample, output_image=sample.reference_image, response=sample.answer)


def _of_record(original: Original, others: Sequence[Original], seed: int, views: tuple[str, ...]) -> Iterable[Probe]:
    right = reference(original)
    if (right.config != "edit" and not right.response) or (right.config != "vqa" and right.output_image is None):
        return
    for kind, wrong in _worse(original, others, seed).items():
        shown = tuple(view for view in views if view == "with_reference" or not _hides(kind, right.task))
        if wrong is not None and shown:
            wrong = replace(wrong, id=f"{right.id}#{kind}")
            yield Probe(kind, right.id, right.config, right.task, original.group, shown, right, wrong)


def _hides(kind: str, task: str) -> bool:
    """Whether nobody could order such a pair without the reference."""
    return (kind == "shuffled" and task in _NEEDS_REFERENCE) or (kind in FLIPS and not FLIPS[kind].shows)


def _worse(original: Original, others: Sequence[Original], seed: int) -> Mapping[str, JudgeSample | None]:
    right = reference(original)
    made: dict[str, JudgeSample | None] = {}
    if right.config != "vqa":
        made["blank"] = _with_image(right, blank_like(right.output_image))
        made["copied_input"] = _with_image(right, right.inputs[0] if right.inputs else None)
    made["unrelated"] = _unrelated(original, right, others, seed)
    made["shuffled"] = _shuffled(original, right, others, seed)
    if right.config != "edit":
        made |= {name: _flipped(right, name) for name in FLIPS}
    return {kind: made.get(kind) for kind in KINDS}


# --- other records' outputs -----------------------------------------------------------------------------------------


def _unrelated(original: Original, right: JudgeSample, others: Sequence[Original], seed: int) -> JudgeSample | None:
    if right.task == CHOICE:
        return None  # an answer to another question may be an option of this one
    donors = [
        other
        for other in others
        if other.group != original.group
        and other.modality != original.modality
        and other.sample.config == right.config
        and (other.sample.task == BLANK) == (right.task == BLANK)
        and other.sample.task != CHOICE
    ]
    return _donated(right, donors, seed, "unrelated")


def _shuffled(original: Original, right: JudgeSample, others: Sequence[Original], seed: int) -> JudgeSample | None:
    if right.task == CHOICE:
        return _other_option(right, seed)
    if right.config == "vqa":
        return None
    donors = [
        other
        for other in others
        if other.group != original.group and other.modality == original.modality and other.sample.task == right.task
    ]
    return _donated(right, donors, seed, "shuffled")


def _donated(right: JudgeSample, donors: Sequence[Original], seed: int, kind: str) -> JudgeSample | None:
    # Donors are ranked by digests, so that one record more changes few pairs and the order none.
    for donor in sorted(donors, key=lambda donor: digest([seed, kind, right.id, donor.sample.id])):
        given = reference(donor)
        if right.config != "edit" and (not given.response or _alike(right, given.response)):
            continue
        changed = replace(right, response=given.response)
        if right.config == "vqa":
            return changed
        found = _with_image(changed, given.output_image, of=right.output_image)
        if found is not None:
            return found
    return None


def _alike(right: JudgeSample, text: str) -> bool:
    """Whether a text may well say the same as the record's answer."""
    first, second = fold(right.response or ""), fold(text)
    if right.task == BLANK:
        return bool(set(normal_filling(first).split()) & set(normal_filling(second).split()))
    return first == second


def _other_option(right: JudgeSample, seed: int) -> JudgeSample | None:
    found = _options(right)
    if found is None:
        return None
    rest = found[1]
    if not rest:
        return None
    chosen = min(rest, key=lambda choice: digest([seed, "option", right.id, choice]))
    return replace(right, response=chosen)


def _options(right: JudgeSample) -> tuple[Option, dict[str, Option]] | None:
    """The right option, and the others by their texts; None where they can't be told apart."""
    try:
        options = read_options(right.choices)
    except ValueError:
        return None
    answer = whole_option(right.response or "", options)
    if answer is None:
        return None
    pairs = zip(right.choices, options, strict=True)
    return answer, {text: option for text, option in pairs if option.body != answer.body}


def _flipped(right: JudgeSample, name: str) -> JudgeSample | None:
    change = FLIPS[name].change
    if right.task == CHOICE:
        # Only where the opposite is an option: a text that is none is wrong by its form.
        found = _options(right)
        if found is None:
            return None
        answer, rest = found
        body = change(answer.body)
        text = next((text for text, option in rest.items() if body is not None and option.body == body), None)
    else:
        text = change(right.response or "")
    return None if text is None or fold(text) == fold(right.response or "") else replace(right, response=text)


# --- images ---------------------------------------------------------------------------------------------------------


def _with_image(right: JudgeSample, image: bytes | None, of: bytes | None = None) -> JudgeSample | None:
    """The sample with another output image; None where the two can't be told apart by looking."""
    kept = of if of is not None else right.output_image
    if image is None or kept is None or not is_visible(image, kept):
        return None
    return replace(right, output_image=image)


def is_visible(first: bytes, second: bytes) -> bool:
    """Whether two images differ visibly: 0.5 % of the pixels by more than 25 of 255 levels in any channel.

    Args:
        first: an image file; it is brought to the second's size.
        second: an image file.

    Returns:
        False too where one of them can't be read.
    """
    try:
        pair = image_pairs.pair(images.read(first), images.read(second))
    except Unscored:
        return False
    change = np.abs(np.asarray(pair.candidate, np.int16) - np.asarray(pair.reference, np.int16))
    return bool((change.max(axis=2) > VISIBLE_LEVELS).mean() >= VISIBLE_SHARE)


def blank_like(image: bytes | None) -> bytes | None:
    """A black PNG of an image's size; None where it can't be read."""
    from PIL import Image

    try:
        size = images.read(image).size
    except Unscored:
        return None
    file = BytesIO()
    Image.new("RGB", size).save(file, format="PNG")
    return file.getvalue()
