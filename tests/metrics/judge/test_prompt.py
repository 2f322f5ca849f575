"""What a judge is shown in each view, layout and config."""

import base64
import io
import json
from dataclasses import replace
from itertools import pairwise
from itertools import product
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medgen_metrics.failures import Unscored
from medgen_metrics.judge import prompt_wording
from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.prompt import build
from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import rubric
from tests.metrics.judge.material import EDIT
from tests.metrics.judge.material import GEN
from tests.metrics.judge.material import INPUT
from tests.metrics.judge.material import OUTPUT
from tests.metrics.judge.material import REFERENCE
from tests.metrics.judge.material import VQA
from tests.metrics.judge.material import noise
from tests.metrics.judge.material import opened
from tests.metrics.judge.material import png

from .prompts import LAYOUTS
from .prompts import WITH
from .prompts import WITHOUT
from .prompts import held
from .prompts import made
from .prompts import said

ONE_IMAGE = replace(VQA, inputs=(INPUT,))


# --- what is shown ----------------------------------------------------------------------------------------------------

SHOWN = {
    ("paper", WITH): {"gen": "Reference Output", "edit": "Reference Output", "vqa": "Input"},
    ("paper", WITHOUT): {"gen": "Input Output", "edit": "Input Output", "vqa": "Input"},
    ("standard", WITH): {"gen": "Input Reference Output", "edit": "Input Reference Output", "vqa": "Input 1 Input 2"},
    ("standard", WITHOUT): {"gen": "Input Output", "edit": "Input Output", "vqa": "Input 1 Input 2"},
}
TEXTS = {
    WITH: {
        "gen": {"instruction", "reference answer", "response"},
        "edit": {"instruction"},
        "vqa": {"instruction", "options", "reference answer", "response"},
    },
    WITHOUT: {
        "gen": {"instruction", "response"},
        "edit": {"instruction"},
        "vqa": {"instruction", "options", "response"},
    },
}


@pytest.mark.parametrize("sample", [GEN, EDIT, VQA], ids=lambda sample: sample.config)
@pytest.mark.parametrize(("layout", "view"), SHOWN)
def test_what_each_view_shows(layout: str, view: str, sample: JudgeSample) -> None:
    prompt = made(sample, layout, view)
    labels = [picture.label for picture in prompt.images]
    # a question of two images: one sheet, or one after the other
    assert " ".join(labels) == SHOWN[layout, view][sample.config]
    blocks = held(prompt)
    assert blocks.keys() == TEXTS[view][sample.config]
    wanted = {"instruction": sample.instruction, "reference answer": sample.answer, "response": sample.response}
    wanted["options"] = "\n".join(sample.choices)
    assert blocks == {name: wanted[name] for name in blocks}


def test_each_picture_is_the_right_file_below_its_label() -> None:
    """The pixels above the strip are those of the file that the label names, and the text before it says the same."""
    prompt = made(GEN, "standard", WITH)
    content = prompt.messages[1]["content"]
    files = {"Input": INPUT, "Reference": REFERENCE, "Output": OUTPUT}
    seen = []
    for before, part in pairwise(content):
        if part["type"] != "image_url":
            continue
        head, _, body = part["image_url"]["url"].partition(",")
        assert head == "data:image/png;base64"
        image = np.asarray(opened(base64.b64decode(body)).convert("RGB"))
        left = (image.shape[1] - 40) // 2
        label = next(name for name in files if f'labelled "{name}"' in before["text"])
        assert (image[:30, left : left + 40] == np.asarray(opened(files[label]))).all()
        seen.append(label)
    assert seen == ["Input", "Reference", "Output"]


def test_without_the_reference_nothing_of_it_is_sent() -> None:
    for sample, layout in product((GEN, EDIT, VQA), LAYOUTS):
        prompt = made(sample, layout, WITHOUT)
        assert "Reference" not in said(prompt)
        assert "reference answer" not in said(prompt)
        hidden = replace(sample, answer="something else", reference_image=noise(99))
        other = made(hidden, layout, WITHOUT)
        assert other.identity == prompt.identity


def test_layout_paper_shows_several_inputs_on_one_sheet_and_standard_one_by_one() -> None:
    paper, standard = made(VQA, "paper", WITH), made(VQA, "standard", WITH)
    assert [len(picture.sources) for picture in paper.images] == [2]
    assert 'the 2 input images on one sheet, each below its own label, "Image 1" to "Image 2"' in said(paper)
    assert [picture.sources for picture in standard.images] == [(INPUT,), (noise(4),)]
    assert "sheet" not in said(standard)
    for layout in LAYOUTS:
        prompt = made(ONE_IMAGE, layout, WITH)
        assert [picture.label for picture in prompt.images] == ["Input"]
        assert "sheet" not in said(prompt)


def test_options_are_shown_once() -> None:
    asked = replace(VQA, instruction=VQA.instruction + "\nOptions:\n" + "\n".join(VQA.choices))
    assert "options" not in held(made(asked, "paper", WITHOUT))
    assert said(made(asked, "paper", WITHOUT)).count("B. In the second") == 1


@pytest.mark.parametrize("response", [None, "", " \n"])
def test_a_missing_response_is_said_where_one_was_asked_for(response: str | None) -> None:
    for sample, asked in ((GEN, True), (VQA, True), (EDIT, False)):
        prompt = made(replace(sample, response=response), "paper", WITHOUT)
        assert "response" not in held(prompt)
        assert (prompt_wording.WORDING["no response"] in said(prompt)) is asked


def test_an_edits_comment_is_shown_and_its_absence_not_mentioned() -> None:
    assert held(made(replace(EDIT, response="Done."), "paper", WITH))["response"] == "Done."
    assert "response" not in said(made(EDIT, "paper", WITH))
    assert "answer" not in said(made(EDIT, "paper", WITH))


def test_pieces_that_a_view_needs_are_reasons() -> None:
    cases = [
        (replace(GEN, output_image=None), WITHOUT, "missing"),
        (replace(GEN, reference_image=None), WITH, "reference_missing"),
        (replace(EDIT, reference_image=None), WITH, "reference_missing"),
        (replace(VQA, answer=None), WITH, "reference_missing"),
    ]
    for sample, view, reason in cases:
        with pytest.raises(Unscored, match=sample.id) as caught:
            made(sample, "paper", view)
        assert caught.value.reason == reason
    assert made(replace(GEN, reference_image=None), "paper", WITHOUT).messages
    assert made(replace(VQA, answer=None), "paper", WITHOUT).messages


def test_bad_images_are_reasons_when_they_are_drawn() -> None:
    prompt = made(replace(GEN, output_image=b"<html>"), "paper", WITHOUT)
    assert prompt.identity
    with pytest.raises(Unscored) as caught:
        prompt.prepare()
    assert caught.value.reason == "not_an_image"
    with pytest.raises(Unscored) as caught:
        _ = made(replace(GEN, inputs=(b"<html>",)), "paper", WITHOUT).messages
    assert caught.value.reason == "reference_missing"


def test_images_of_different_depth_have_no_common_scale_in_either_view() -> None:
    """As in the pixel metrics: what is unreadable there is not judged here."""
    deep = png(np.full((30, 40), 40_000, dtype=np.uint16))
    for view, layout in product(VIEWS, LAYOUTS):
        with pytest.raises(Unscored, match="16-bit") as caught:
            made(replace(EDIT, reference_image=deep), layout, view).prepare()
        assert caught.value.reason == "unreadable"
        both = replace(EDIT, reference_image=deep, output_image=deep)
        made(both, layout, view).prepare()


@pytest.mark.parametrize("options", [{"image_side": 64}, {"image_format": "gif"}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="image_"):
        made(GEN, "paper", WITH, **options)
    with pytest.raises(ValueError, match="view"):
        made(GEN, "paper", "w_gt")


def test_image_options_reach_the_pictures() -> None:
    large = replace(GEN, output_image=noise(8, 900, 500))
    prompt = made(large, "paper", WITHOUT, image_side=256, image_format="jpeg")
    for picture in prompt.images:
        image = Image.open(io.BytesIO(picture.data))
        assert image.format == "JPEG"
        assert max(image.size) <= 256
        assert image.size == (picture.width, picture.height)


# --- structure --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("sample", [GEN, EDIT, VQA], ids=lambda sample: sample.config)
def test_the_rubric_is_in_the_system_message_which_all_records_of_a_task_share(
    sample: JudgeSample, view: str, version: str
) -> None:
    """Servers keep what prompts begin with: rubric and rules are computed once a task."""
    of = rubric(version, "paper")
    first = build(sample, of, view)
    second = build(replace(sample, id="other", instruction="Other.", response="Other."), of, view)
    assert of.describe(sample.config, sample.task, view) in first.system
    assert first.system == second.system
    assert first.fence not in first.system


def test_two_messages_and_each_picture_once() -> None:
    for sample, layout, view in product((GEN, EDIT, VQA), LAYOUTS, VIEWS):
        messages = made(sample, layout, view).messages
        assert [message["role"] for message in messages] == ["system", "user"]
        urls = [part["image_url"]["url"] for part in messages[1]["content"] if part["type"] == "image_url"]
        assert len(urls) == len(set(urls))
        assert "base64" not in messages[0]["content"]
        json.dumps(messages)


def test_an_output_equal_to_the_input_is_still_two_labelled_pictures() -> None:
    prompt = made(replace(EDIT, output_image=INPUT), "paper", WITHOUT)
    assert [picture.label for picture in prompt.images] == ["Input", "Output"]
    assert prompt.images[0].data != prompt.images[1].data
