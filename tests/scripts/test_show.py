"""`show`: what is printed, what is on the sheet, and what a hostile text can't do."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medgen_bench
from medgen_scripts.cli import main
from medgen_scripts.errors import UsageError
from medgen_scripts.records import load_records
from medgen_scripts.show import panels
from medgen_scripts.show import show
from medgen_scripts.show_sheet import CELL
from medgen_scripts.show_sheet import COLUMNS
from medgen_scripts.show_sheet import LINE
from medgen_scripts.show_sheet import MARGIN
from medgen_scripts.show_sheet import Panel
from medgen_scripts.show_sheet import sheet

from .. import builders
from . import given

EDITS = load_records("edit", "sample")


def predictions(out: Path, system: str, rows: list[dict[str, object]], image: bytes | None = None) -> None:
    folder = out / "predictions" / system
    given.write(folder / "edit.jsonl", rows)
    if image is not None:
        (folder / "images").mkdir()
        (folder / "images" / "a.png").write_bytes(image)


def cell(picture: Image.Image, index: int, width: int, height: int, top: int) -> np.ndarray:
    """The pixels where the picture of a panel in the first row should be."""
    left = MARGIN + index * (CELL + MARGIN)
    return np.asarray(picture.crop((left, top, left + width, top + height)))


def test_a_record_and_two_systems_are_printed_and_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = EDITS[3]
    red = Image.new("RGB", (CELL, CELL), (200, 0, 0))
    predictions(tmp_path, "good", [{"id": record.id, "image": "images/a.png", "text": "done"}], builders.encoded(red))
    predictions(tmp_path, "failed", [{"id": record.id, "image": None, "error": {"kind": "Timeout", "message": "late"}}])
    predictions(tmp_path, "other", [{"id": EDITS.ids[4], "image": None, "error": "x"}])
    path = show(record.id, edition="sample", out=tmp_path)
    assert path == tmp_path / "show" / f"{record.id}.png"
    out = " ".join(capsys.readouterr().out.split())
    for words in (record.id, record.release_id, record.modality, record.instruction, "done", "(Timeout: late)"):
        assert " ".join(words.split()) in out
    assert "other" not in out
    with Image.open(path) as picture:
        assert picture.width == 4 * (CELL + MARGIN) + MARGIN
        # input, reference, then systems by name: failed has no picture, good's is red
        red_rows = np.flatnonzero(
            (np.asarray(picture)[:, MARGIN + 3 * (CELL + MARGIN) + 9] == (200, 0, 0)).all(axis=-1)
        )
        top = int(red_rows[0])
        assert top > MARGIN + LINE, "no room for a heading"
        assert (cell(picture, 3, CELL, CELL, top) == (200, 0, 0)).all()
        assert not (cell(picture, 2, CELL, CELL, top) == (200, 0, 0)).all(axis=-1).any()
        reference = Image.open(io.BytesIO(record.output_images[0].data)).convert("RGB")
        scale = CELL / max(reference.size)
        size = (round(reference.width * scale), round(reference.height * scale))
        way = Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.NEAREST
        assert (cell(picture, 1, *size, top) == np.asarray(reference.resize(size, way))).all()


def test_several_inputs_and_the_name_in_the_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = load_records("vqa", "sample")
    record = max(records, key=lambda each: len(each.input_images))
    path = show(record.release_id, edition="sample", out=tmp_path, to=tmp_path / "here.png")
    assert path.name == "here.png"
    assert record.id in capsys.readouterr().out
    labels = [panel.label for panel in panels(record, [])]
    assert labels == [f"input image {n + 1}" for n in range(len(record.input_images))]


def test_an_unknown_id_has_near_matches(capsys: pytest.CaptureFixture[str]) -> None:
    known = EDITS.ids[0]
    with pytest.raises(SystemExit) as end:
        main(["show", f"{known[:-1]}{'0' if known[-1] != '0' else '1'}", "--edition", "sample"])
    assert end.value.code == 2
    assert f"near matches: {known}" in capsys.readouterr().err
    with pytest.raises(UsageError, match=r"unknown id 'nonsense' in vqa, edit, gen, edition sample\. Ids"):
        show("nonsense", edition="sample")


def test_a_bad_row_of_another_record_does_not_hide_this_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_id = EDITS.ids[0]
    rows: list[dict[str, object]] = [{"id": record_id, "image": "images/a.png"}, {"id": "nobody", "image": None}]
    predictions(tmp_path, "good", rows, builders.png(1))
    show(record_id, edition="sample", out=tmp_path)
    said = capsys.readouterr()
    assert "good" in said.out
    assert "1 bad rows" in said.err


def test_texts_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record_id = EDITS.ids[0]
    predictions(
        tmp_path, "sly", [{"id": record_id, "image": None, "text": "[bold]x[/bold] \x1b[2J", "error": "[red]no[/red]"}]
    )
    show(record_id, edition="sample", out=tmp_path)
    out = capsys.readouterr().out
    assert "[bold]x[/bold] \\x1b[2J" in out
    assert "\x1b[2J" not in out
    assert "([red]no[/red])" in out


def test_deep_odd_and_broken_pictures_have_a_place_on_the_sheet() -> None:
    deep = builders.encoded(Image.fromarray(np.arange(600, dtype=np.uint16).reshape(20, 30) * 100), format="TIFF")
    row = given.record(
        "style-transfer",
        1,
        input_images=builders.images(deep, builders.png(1)[:60], builders.encoded(Image.new("RGB", (1, 900)))),
    )
    made = panels(given.records([row])[0], [])
    assert made[0].note == "30x20, 16-bit, shown from 0 to 59900"
    assert made[1].image is None
    assert made[1].note.startswith("unreadable")
    picture = sheet(made)
    assert picture.width == 4 * (CELL + MARGIN) + MARGIN


def test_many_systems_go_to_further_rows() -> None:
    panel = Panel("s", Image.new("RGB", (10, 10)), "10x10")
    one, two = sheet([panel] * COLUMNS), sheet([panel] * (COLUMNS + 1))
    assert one.width == two.width
    assert two.height > 1.9 * one.height - MARGIN
    assert sheet([]).width > 0


def test_the_configs_of_ids_are_found_without_loading_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []
    load = medgen_bench.load

    def counted(config: str, **options: object) -> object:
        asked.append(config)
        return load(config, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(medgen_bench, "load", counted)
    show(EDITS.ids[0], edition="sample", out=tmp_path)
    assert asked == ["edit"]
