"""What `validate` says of predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import medgen_bench
from medgen_scripts.cli import main
from medgen_scripts.errors import UsageError
from medgen_scripts.export import export
from medgen_scripts.validate import is_predictions
from medgen_scripts.validate import validate
from medgen_scripts.validate_predictions import validate_predictions

from .. import builders
from . import given
from .validated import BROKEN


def predictions(folder: Path, rows: list[dict[str, Any]], images: dict[str, bytes]) -> Path:
    for name, data in images.items():
        path = folder / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return given.write(folder / "edit.jsonl", rows)


def test_predictions_with_every_fault(tmp_path: Path) -> None:
    records = given.records(
        [
            given.record("style-transfer", n, input_images=builders.images(n), output_images=builders.images(100 + n))
            for n in range(12)
        ]
    )
    ids = records.ids
    # Enough structure for each of the hash's 256 frequencies to have a sign of its own.
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32), dtype=np.uint8)
    same, near = builders.picture(900), Image.fromarray(pixels).resize((128, 128), Image.Resampling.BICUBIC)
    files = {
        "leak.png": builders.png(100),
        "shifted.png": builders.png(105),
        "noop.png": builders.encoded(builders.picture(2), format="BMP"),
        f"{ids[7]}.png": builders.png(903),
        "broken.png": BROKEN,
        "twice_a.png": builders.encoded(same),
        "twice_b.png": builders.encoded(same, compress_level=1),
        "near_a.png": builders.encoded(near),
        "near_b.png": builders.encoded(near.point(lambda level: level // 2 * 2), format="TIFF"),
    }
    named = dict(enumerate(("leak", "shifted", "noop", ids[7], "broken", "twice_a", "twice_b", "near_a", "near_b")))
    rows: list[dict[str, Any]] = [{"id": ids[n], "image": f"images/{name}.png"} for n, name in named.items()]
    rows += [
        {"id": ids[9], "image": "Edit Error: no GPU"},
        {"id": ids[9][:-1] + "z", "image": "images/leak.png"},
        {"id": ids[0], "image": "images/leak.png"},
        {"id": ids[10], "image": "images/nowhere.png"},
        {"id": ids[10], "image": "../leak.png"},
    ]
    report = validate_predictions(predictions(tmp_path, rows, files), records)
    kinds = {
        "unknown id": ["edit.jsonl:11"],
        "duplicate id": ["edit.jsonl:12"],
        "bad row": ["edit.jsonl:14"],
        "unreadable output": ["broken.png: unreadable"],
        "output equals a reference": ["its own, pixel by pixel", f"that of {ids[5]}"],
        "output named for another record": [f"{ids[3]}: "],
        "no row": [ids[11]],
        "no output": [f"{ids[10]}: image: missing"],
        "error message as output": ["Edit Error: no GPU"],
        "file name of another format": ["noop.png holds BMP", "near_b.png holds TIFF"],
        "output equals the input": ["noop.png"],
        "same output for several records": [f"{ids[5]}, {ids[6]}"],
        "nearly the same output for several records": [f"{ids[7]}, {ids[8]}"],
        "notice": ["do not exist"],
    }
    assert set(report.totals) == set(kinds)
    for kind, words in kinds.items():
        assert report.totals[kind] == len(words), (kind, report.findings[kind])
        assert all(word in said for word, said in zip(words, report.findings[kind], strict=True)), report.findings[kind]
    assert report.counts["rows joined"] == 11


def test_records_of_one_picture_may_have_one_output(tmp_path: Path) -> None:
    records = given.records([given.record("style-transfer", n, group="g") for n in range(2)])
    rows = [{"id": name, "image": f"images/{n}.png"} for n, name in enumerate(records.ids)]
    report = validate_predictions(
        predictions(tmp_path, rows, dict.fromkeys(("0.png", "1.png"), builders.png(9))), records
    )
    assert not report.totals


def test_pictures_that_show_nothing_are_warned_of_by_record(tmp_path: Path) -> None:
    noise = builders.picture(7).convert("RGBA")
    clear, faint = noise.copy(), noise.copy()
    clear.putalpha(0)
    faint.putalpha(0)
    faint.putpixel((3, 3), (9, 9, 9, 1))
    palette = Image.new("RGB", (8, 8), (9, 9, 9)).quantize(4)
    deep = Image.fromarray(np.full((8, 8), 300, dtype=np.uint16))
    files = {
        "opaque": builders.encoded(noise),
        "clear": builders.encoded(clear),
        "faint": builders.encoded(faint),
        "grey": builders.encoded(clear.convert("LA")),
        "palette": builders.encoded(palette, transparency=0),
        "solid": builders.encoded(builders.picture(8).quantize(4), transparency=0),
        "colour": builders.encoded(Image.new("RGB", (8, 8), (1, 2, 3)), transparency=(1, 2, 3)),
        "deep": builders.encoded(deep, transparency=300),
        "pixel": builders.encoded(Image.new("RGBA", (1, 1))),
        "strip": builders.encoded(Image.new("L", (1, 2))),
        "broken": BROKEN,
    }
    records = given.records([given.record("style-transfer", n, group="g") for n in range(len(files))])
    ids = dict(zip(files, records.ids, strict=True))
    rows = [{"id": ids[name], "image": f"images/{name}.png"} for name in files]
    path = predictions(tmp_path, rows, {f"{name}.png": data for name, data in files.items()})
    report = validate_predictions(path, records)
    assert report.findings["output of one pixel"] == [ids["pixel"]]
    assert report.findings["transparent output"] == [ids[name] for name in ("clear", "grey", "palette", "colour")]
    assert report.errors == report.totals["unreadable output"] == 1
    assert f"  {ids['clear']}, {ids['grey']}, {ids['palette']}, … and 1 more" in report.lines()


def test_errors_of_a_kind_that_nothing_knows_are_warned_of_by_record(tmp_path: Path) -> None:
    known = ("refused", "unparsable", "rate_limit", "rejected", "url_refused", "ValueError", "OSError", "Exception")
    unknown = ("refusal", "Refused", "REFUSED", "judge_failed", "my own")
    errors: list[Any] = [{"kind": kind, "message": "a: b", "attempts": 1} for kind in (*known, *unknown)]
    errors += [{"message": "no kind"}, "a sentence"]
    records = given.records([given.record("report-generation", n, answer="Clear.") for n in range(len(errors) + 1)])
    rows = [{"id": name, "error": error} for name, error in zip(records.ids, errors, strict=False)]
    rows.append({"id": records.ids[-1], "text": "VLM Error: x"})
    report = validate_predictions(given.write(tmp_path / "vqa.jsonl", rows), records)
    told = [*map(repr, unknown), "'no kind'", "'a sentence'"]
    wanted = [f"{name} ({kind})" for name, kind in zip(records.ids[len(known) :], told, strict=False)]
    assert report.findings["error of unknown kind"] == wanted
    assert report.errors == 0
    assert f"  {', '.join(wanted[:3])}, … and 4 more" in report.lines()


def test_errors_of_the_public_evaluator_have_no_kind(tmp_path: Path) -> None:
    records = given.records([given.record("report-generation", 1, answer="Clear.")])
    rows = [{"sample_id": records.ids[0], "response": None, "error": "a sentence"}]
    report = validate_predictions(given.write(tmp_path / "vqa.jsonl", rows), records)
    assert report.totals == {"error message as output": 1}


def test_texts_of_predictions(tmp_path: Path) -> None:
    answer = "No focal consolidation, no effusion and no pneumothorax are seen; heart size is normal."
    records = given.records([given.record("report-generation", n, answer=answer) for n in range(5)])
    texts = [answer, " ", "I'm sorry, I cannot assist with that.", "VLM Error: x", "Clear lungs."]
    rows = [{"id": name, "text": text} for name, text in zip(records.ids, texts, strict=True)]
    report = validate_predictions(given.write(tmp_path / "vqa.jsonl", rows), records)
    assert dict(report.totals) == {
        "output equals a reference": 1,
        "empty output": 1,
        "refusal": 1,
        "error message as output": 1,
    }


def test_a_wrong_root_and_an_empty_file_are_errors(tmp_path: Path) -> None:
    records = given.records([given.record("style-transfer", 1)])
    path = given.write(tmp_path / "edit.jsonl", [{"id": records.ids[0], "image": "elsewhere/1.png"}])
    report = validate_predictions(path, records)
    assert "name their folder with --image-root" in report.findings["bad row"][0]
    assert report.totals["no output"] == 1
    path.write_text("")
    assert "got no row" in validate_predictions(path, records).findings["bad row"][0]


def test_predictions_are_told_from_data_by_looking(tmp_path: Path) -> None:
    given.write(tmp_path / "out" / "edit.jsonl", [{"id": "x", "image": None}])
    view = {"instruction": "Q?", "input_image": "a.png", "category": "VQA", "paper_task": "question-answering"}
    given.write(tmp_path / "view" / "vqa.jsonl", [view])
    assert is_predictions(tmp_path / "out")
    assert is_predictions(tmp_path / "out" / "edit.jsonl")
    assert not is_predictions(tmp_path / "view")
    assert not is_predictions(builders.write_release(tmp_path / "release"))


def test_predictions_with_other_columns_are_no_data_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    columns = pa.table({"record": ["x"], "prediction": ["yes"]})
    (tmp_path / "mine" / "gen").mkdir(parents=True)
    pq.write_table(columns, tmp_path / "mine" / "vqa.parquet")
    pq.write_table(columns, tmp_path / "mine" / "gen" / "test-00000-of-00001.parquet")
    for target in (tmp_path / "mine", tmp_path / "mine" / "gen", tmp_path / "mine" / "vqa.parquet"):
        assert is_predictions(target)
        with pytest.raises(SystemExit) as end:
            main(["validate", str(target), "--edition", "sample"])
        assert end.value.code == 2
        said = capsys.readouterr()
        assert "expected columns id (or sample_id, or instruction and input_image) and text" in said.out
        assert "data set" not in said.err
    folder = export(tmp_path / "medgen-bench", edition="sample")
    pq.write_table(columns, folder / "extra.parquet")
    assert not is_predictions(folder)
    (records,) = (folder / "vqa").iterdir()
    with pytest.raises(UsageError, match="expected predictions or the folder of a data set, got a file of records"):
        validate(records, edition="sample")


def test_pillows_own_words_about_a_large_image_are_not_passed_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    records = medgen_bench.load("edit", edition="sample")
    claimed = {"large.png": builders.encoded(Image.new("1", (12_000, 12_000)))}
    path = predictions(tmp_path, [{"id": records[0]["id"], "image": "images/large.png"}], claimed)
    with pytest.raises(SystemExit) as end:
        main(["validate", str(path), "--edition", "sample"])
    assert end.value.code == 2
    assert "12000x12000 pixels; expected at most" in capsys.readouterr().out
    assert not [warning for warning in recwarn if "exceeds limit" in str(warning.message)]
