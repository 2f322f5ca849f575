"""The texts on the sheet of `show`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from PIL import ImageDraw
from PIL import ImageFont

from medgen_scripts.prediction import Prediction
from medgen_scripts.records import Record
from medgen_scripts.show import Output
from medgen_scripts.show import heading
from medgen_scripts.show import panels
from medgen_scripts.show import show
from medgen_scripts.show_sheet import CELL
from medgen_scripts.show_sheet import MARGIN
from medgen_scripts.show_sheet import Panel
from medgen_scripts.show_sheet import sheet
from medgen_scripts.show_sheet import wrapped

from .. import builders
from . import given

FONT = ImageFont.load_default(14)


def record(task: str = "multiple-choice", **columns: Any) -> Record:
    return given.records([given.record(task, 1, **columns)])[0]


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that are drawn, in order."""
    lines: list[str] = []
    draw = ImageDraw.ImageDraw.text

    def text(self: Any, place: Any, words: str, *rest: Any, **options: Any) -> None:
        lines.append(words)
        draw(self, place, words, *rest, **options)

    monkeypatch.setattr(ImageDraw.ImageDraw, "text", text)
    return lines


def test_question_choices_answers_and_failures_are_on_the_sheet(tmp_path: Path, written: list[str]) -> None:
    from medgen_scripts.records import load_records

    records = load_records("vqa", "sample")
    chosen = next(each for each in records if each.task == "multiple-choice")
    for system, row in {
        "mine": {"text": "An answer of mine"},
        "reference": {"text": chosen.answer},
        "late": {"text": None, "error": {"kind": "Timeout", "message": "too late"}},
    }.items():
        given.write(tmp_path / "predictions" / system / "vqa.jsonl", [{"id": chosen.id, **row}])
    show(chosen.id, edition="sample", out=tmp_path)
    all_of_it = " ".join(written)
    assert " ".join(chosen.instruction.split()) in " ".join(all_of_it.split())
    for words in (*chosen.choices, "reference answer", str(chosen.answer), "An answer of mine"):
        assert words in written
    assert "no answer: error_text: Timeout: too late" in all_of_it
    # The record's own and the baseline's can be told apart.
    assert written.count("reference answer") == written.count("system reference") == 1
    assert "reference" not in written


def test_choices_stand_once() -> None:
    options = ["A. left", "B. right"]
    alone = record(instruction="Which side?", choices=options)
    assert ("choices", "A. left\nB. right") in heading(alone, "vqa")
    inside = record(instruction="Which side?\nA. left\n B. right", choices=options)
    assert "choices" not in dict(heading(inside, "vqa"))


def test_an_answer_stands_under_its_picture() -> None:
    red = Image.new("RGB", (CELL, CELL), (200, 0, 0))
    plain, answered = sheet([Panel("a", red, "note")]), sheet([Panel("a", red, "note", "word " * 200)])
    assert answered.width == plain.width
    assert answered.height > plain.height + 300
    below = np.asarray(answered.convert("L"))[plain.height :, MARGIN : MARGIN + CELL]
    assert (below < 128).any()


def test_what_is_missing_is_said_per_kind() -> None:
    images = {"input_images": builders.images(1), "output_images": builders.images(2)}
    both = record("organic-removal", answer="gone", **images)
    (failed,) = panels(both, [Output("x", Prediction(both.id, None, None, "missing", "unreadable", "boom"))])[2:]
    assert (failed.label, failed.image, failed.text) == ("system x", None, "")
    assert failed.note == "unreadable, no answer: missing: boom"


def test_lines_fit_whatever_the_words() -> None:
    for text in ("W" * 500, "word " * 300, "a\n\nb", "", "胸部 x", "x" * 60 + " y"):
        lines = wrapped(text, FONT, CELL, 30)
        assert all(FONT.getlength(line) <= CELL for line in lines)
        assert len(lines) <= 30
    assert wrapped("a\n\nb", FONT, CELL, 30) == ["a", "", "b"]
    assert "".join(wrapped("W" * 200, FONT, CELL, 30)) == "W" * 200
    words = " ".join(["one two three"] * 20)
    assert " ".join(wrapped(words, FONT, CELL, 30)) == words


def test_a_long_text_is_cut_and_says_so() -> None:
    lines = wrapped("word " * 5000, FONT, CELL, 30)
    assert len(lines) == 30
    assert lines[-1].endswith(" ...")
    assert len(wrapped("\n".join("abc"), FONT, CELL, 3)) == 3
    assert wrapped("\n".join("abcd"), FONT, CELL, 3) == ["a", "b", "c ..."]


def test_a_text_can_not_bring_control_characters() -> None:
    assert wrapped("a\x1b[31mb\tc", FONT, CELL, 3) == ["a\\x1b[31mb\\tc"]
