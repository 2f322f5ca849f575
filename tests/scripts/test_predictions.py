import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from medgen_scripts.errors import UsageError
from medgen_scripts.jsonl import to_line
from medgen_scripts.prediction import Prediction
from medgen_scripts.predictions import Predictions
from medgen_scripts.predictions import read_predictions
from medgen_scripts.records import Records

from .given import record
from .given import records
from .given import write
from .scored import png

COUNT = 4


def edit_id(number: int) -> str:
    return f"style-transfer-{number:012x}"


@pytest.fixture(scope="module")
def edits() -> Records:
    return records([record("style-transfer", number) for number in range(COUNT)])


@pytest.fixture(scope="module")
def gens() -> Records:
    return records([record("organic-removal", number) for number in range(COUNT)])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a file is written; images 0.png … lie in `images` beside it."""
    images = tmp_path / "mine" / "images"
    images.mkdir(parents=True)
    for number in range(COUNT):
        (images / f"{number}.png").write_bytes(png(number))
    return images.parent / "edit.jsonl"


def said_of(path: Path, found: Records, rows: list[dict[str, Any]]) -> list[str]:
    with pytest.raises(UsageError) as told:
        read_predictions(write(path, rows), found)
    return str(told.value).splitlines()


def test_our_rows_are_read_as_they_are(path: Path, gens: Records) -> None:
    ids = gens.ids
    write(
        path,
        [
            {"id": ids[0], "text": "removed", "image": "images/0.png", "meta": {"seconds": 2}},
            {"id": ids[1], "text": "", "image": "images/1.png"},
            {"id": ids[2], "text": None, "image": None, "error": {"kind": "timeout", "message": "no reply in 60 s"}},
        ],
    )
    read = read_predictions(path, gens)
    folder = path.parent / "images"
    assert read == Predictions(
        path=path,
        layout="medgen-bench",
        digest=hashlib.sha256(path.read_bytes()).hexdigest(),
        by_id={
            ids[0]: Prediction(ids[0], "removed", folder / "0.png", meta={"seconds": 2}),
            ids[1]: Prediction(ids[1], "", folder / "1.png"),
            ids[2]: Prediction(
                ids[2], text_reason="error_text", image_reason="error_text", error="timeout: no reply in 60 s"
            ),
        },
        join={"id": 3},
    )


def test_the_public_evaluators_rows_are_read(path: Path, gens: Records) -> None:
    results = path.parent.parent / "inference_jsonl"
    sample = {"category": "MMGeneration", "paper_task": "organic-removal", "raw_response": "{}"}
    rows = [
        {"response": "done", "output_image": "mine/images/0.png"},
        {"response": "", "output_image": "mine/images/1.png"},
        {"response": "VLM Error: 500", "output_image": "Generation Error: no prompt"},
        {"response": "done", "output_image": "Edit Error: HTTP 429", "error": "HTTP 429"},
    ]
    for number, row in enumerate(rows):
        row.update(sample, sample_id=f"medgen:gen:organic-removal:{number}")
    read = read_predictions(write(results / "qwen_seedream_generate.jsonl", rows), gens)
    assert (read.layout, read.join) == ("public", {"sample_id": 4})
    first, empty, failed, half = (read.by_id[name] for name in gens.ids)
    assert (first.text, first.image) == ("done", path.parent / "images/0.png")
    assert (empty.text, empty.text_reason, empty.image_reason) == ("", None, None)
    assert (failed.text_reason, failed.image_reason, failed.image) == ("error_text", "error_text", None)
    assert failed.error == "VLM Error: 500"
    assert (half.text, half.text_reason, half.image_reason, half.error) == ("done", None, "error_text", "HTTP 429")


@pytest.mark.parametrize(
    ("row", "text", "image"),
    [
        ({"text": "I'm done."}, None, "missing"),
        ({"text": "Parsing Error: no JSON"}, "error_text", "missing"),
        ({"text": None, "image": ""}, "missing", "missing"),
        ({"image": "images/0.png"}, "missing", None),
        ({"image": "API Error: 402"}, "missing", "error_text"),
        ({"text": "half", "error": {"kind": "X", "message": "y"}}, None, "error_text"),
        ({"text": " ", "error": {"kind": "X", "message": "y"}}, "error_text", "error_text"),
        ({"error": {"kind": "refused", "message": "policy"}}, "refused", "refused"),
        ({"error": {"kind": "weights_missing", "message": "not a system's reason"}}, "error_text", "error_text"),
    ],
)
def test_what_is_not_there_has_a_reason(row: dict[str, Any], text: str, image: str, path: Path, gens: Records) -> None:
    there = {"id": gens.ids[1], "image": "images/1.png"}
    prediction = read_predictions(write(path, [{"id": gens.ids[0], **row}, there]), gens).by_id[gens.ids[0]]
    assert (prediction.text_reason, prediction.image_reason) == (text, image)


def test_of_several_images_the_first_counts(path: Path, edits: Records) -> None:
    rows = [
        {"id": edit_id(0), "image": ["images/2.png", "images/3.png"]},
        {"id": edit_id(1), "image": ["images/1.png"]},
    ]
    read = read_predictions(write(path, rows), edits)
    assert read.by_id[edit_id(0)].image == path.parent / "images/2.png"
    assert [read.by_id[edit_id(number)].several_images for number in (0, 1)] == [2, 0]


def test_an_answer_outweighs_a_failure_of_the_same_record(path: Path, edits: Records) -> None:
    failure = {"error": {"kind": "timeout", "message": "…"}}
    rows = [
        {"id": edit_id(0), **failure},
        {"id": edit_id(0), "image": "images/0.png"},
        {"id": edit_id(1), "image": "images/1.png"},
        {"id": edit_id(1), **failure},
        {"id": edit_id(2), **failure},
        {"id": edit_id(2), "error": {"kind": "refused", "message": "…"}},
    ]
    read = read_predictions(write(path, rows), edits)
    assert read.by_id[edit_id(0)].image == path.parent / "images/0.png"
    assert read.by_id[edit_id(1)].image == path.parent / "images/1.png"
    assert read.by_id[edit_id(2)].image_reason == "refused"
    assert (read.superseded, read.join) == (3, {"id": 3})
    assert read.notices == (f"{path}: 3 failed rows are replaced by later rows of the same records",)


def test_all_bad_rows_are_named_in_one_pass(path: Path, edits: Records) -> None:
    (path.parent / "out.png").symlink_to("/etc/hostname")
    rows: list[dict[str, Any]] = [
        {"id": edit_id(0), "image": "images/0.png"},
        {"id": edit_id(0), "image": "images/0.png"},
        {"id": "style-transfer-00000000000f", "image": "images/1.png"},
        {"image": "images/1.png"},
        {"id": edit_id(1), "image": "/etc/hostname"},
        {"id": edit_id(1), "image": "images/../../x.png"},
        {"id": edit_id(1), "image": "out.png"},
        {"id": edit_id(1), "image": 7},
        {"id": edit_id(1), "text": float("nan")},
        {"id": edit_id(1), "prediction": "images/1.png"},
        {"id": edit_id(1), "image": "images/1.png", "meta": [1]},
        {"id": edit_id(1), "response": "", "output_image": "images/1.png"},
        {"id": "multiple-choice-000000000001", "text": "A"},
    ]
    first, *lines = said_of(path, edits, rows)
    assert first == f"{path}: 12 bad rows in predictions"
    expected = [
        f"edit.jsonl:2: duplicate id '{edit_id(0)}', first on line 1; keep one row a record",
        "edit.jsonl:3: unknown id 'style-transfer-00000000000f' in edit, edition release; 3 near matches: ",
        "edit.jsonl:4: expected an id (or sample_id, or instruction and input_image), got none",
        "edit.jsonl:5: image '/etc/hostname': absolute paths are refused; write it relative and name its folder with",
        "edit.jsonl:6: image 'images/../../x.png': paths with '..' are refused",
        "edit.jsonl:7: image 'out.png': it is a link to '/etc/hostname', outside the allowed folders",
        "edit.jsonl:8: expected image to be a path, a list of paths or null, got 7",
        "edit.jsonl:9: expected text to be a string or null, got nan",
        "edit.jsonl:10: expected text, image or error, got only 'id', 'prediction'",
        "edit.jsonl:11: expected meta to be an object, got [1]",
        "edit.jsonl:12: expected the medgen-bench layout as in the rows before it, got public",
        "edit.jsonl:13: id 'multiple-choice-000000000001' is of config vqa, expected edit; move the row to vqa.jsonl",
    ]
    assert len(lines) == len(expected)
    for line, beginning in zip(lines, expected, strict=True):
        assert line.startswith(beginning)


def test_a_file_of_another_config_is_told_from_rows_in_the_wrong_file(path: Path, edits: Records) -> None:
    strays = [{"id": f"organic-removal-{number:012x}", "text": "x", "image": "images/1.png"} for number in range(2)]
    for line in said_of(path, edits, strays)[1:]:
        assert line.endswith("is of config gen, expected edit; give --config gen")
    for line in said_of(path, edits, [*strays, {"id": edit_id(0), "image": "images/0.png"}])[1:]:
        assert line.endswith("is of config gen, expected edit; move the row to gen.jsonl")
    other = {"id": "multiple-choice-000000000001", "text": "A"}
    lines = said_of(path, edits, [*strays, other])
    assert [line.rsplit(" ", 1)[1] for line in lines[1:]] == ["gen.jsonl", "gen.jsonl", "vqa.jsonl"]


def test_more_than_twenty_bad_rows_are_counted(path: Path, edits: Records) -> None:
    lines = said_of(path, edits, [{"id": f"nothing-{number}", "image": "images/1.png"} for number in range(45)])
    assert len(lines) == 22
    assert lines[-1] == "… and 25 more"


def test_rows_of_a_task_that_the_edition_lacks_are_left_out_and_counted(path: Path, gens: Records) -> None:
    rows = [
        {"id": gens.ids[0], "text": "x", "image": "images/0.png"},
        {"id": "disease-prediction-00000000000a", "text": "x", "image": "images/1.png"},
    ]
    read = read_predictions(write(path, rows), gens)
    assert (set(read.by_id), read.outside) == ({gens.ids[0]}, 1)
    assert read.notices == (f"{path}: 1 rows are of a task that edition release does not have, left out",)


def test_a_file_of_another_edition_is_told_row_by_row(path: Path, edits: Records) -> None:
    first, *lines = said_of(
        path, edits, [{"id": f"style-transfer-{'ab' * 5}{n:02x}", "image": "x.png"} for n in range(3)]
    )
    assert first == f"{path}: 3 bad rows in predictions"
    assert all("in edit, edition release" in line for line in lines)


def test_absent_images_are_missing_and_a_wrong_root_is_told(path: Path, tmp_path: Path, edits: Records) -> None:
    rows = [{"id": edit_id(0), "image": "images/0.png"}, {"id": edit_id(1), "image": "images/gone.png"}]
    read = read_predictions(write(path, rows), edits)
    assert read.by_id[edit_id(1)].image_reason == "missing"
    (notice,) = read.notices
    assert "1 of 2 images do not exist under" in notice
    assert "the first is 'images/gone.png'" in notice
    moved = write(tmp_path / "elsewhere" / "deep" / "edit.jsonl", rows)
    with pytest.raises(UsageError, match=r"none of the 2 images that it names exists under .*--image-root"):
        read_predictions(moved, edits)
    found = read_predictions(moved, edits, image_roots=[path.parent])
    assert found.by_id[edit_id(0)].image == path.parent / "images/0.png"


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf", b'{"id": "torn'])
def test_a_file_without_rows_is_bad_input(content: bytes, path: Path, edits: Records) -> None:
    path.write_bytes(content)
    with pytest.raises(UsageError, match="expected one JSON object a line, got no row"):
        read_predictions(path, edits)


def test_what_the_reader_noticed_is_said(path: Path, edits: Records) -> None:
    lines = [to_line({"id": edit_id(number), "image": f"images/{number}.png"}) for number in range(2)]
    odd = to_line({"id": edit_id(2), "image": "images/2.png", "text": "a\ud800b"})
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([lines[0].strip(), b"", odd.strip(), lines[1][:-9]]))
    read = read_predictions(path, edits)
    assert set(read.by_id) == {edit_id(0), edit_id(2)}
    assert read.by_id[edit_id(2)].text == "a\ufffdb"
    assert ["torn" in notice for notice in read.notices] == [True, False]
    assert "1 lone surrogates" in read.notices[1]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
KEYS = ("id", "text", "image", "error", "meta", "response", "output_image", "sample_id", "category", "instruction")
ROWS = st.lists(
    st.dictionaries(
        st.sampled_from([*KEYS, "input_image", "choice", "metadata", "paper_task"]),
        JSON | st.sampled_from([edit_id(0), edit_id(1), "images/0.png", "Do what number 1 says.", "ImageEdit"]),
        max_size=6,
    ),
    min_size=1,
    max_size=5,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(rows=ROWS)
def test_any_rows_are_read_or_refused_in_words(rows: list[dict[str, Any]], path: Path, edits: Records) -> None:
    refused = None
    try:
        read = read_predictions(write(path, rows), edits)
    except UsageError as told:
        refused = str(told)
    if refused is not None:
        assert refused.startswith(str(path))
        return
    assert len(read.by_id) + read.superseded + read.outside == len(rows)
    for prediction in read.by_id.values():
        assert (prediction.image is None) == (prediction.image_reason is not None)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused_in_words(data: st.DataObject, path: Path, edits: Records) -> None:
    whole = b"".join(to_line({"id": edit_id(n), "image": f"images/{n}.png", "text": "é"}) for n in range(COUNT))
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content)))
        length = data.draw(st.sampled_from([0, 1, 10, len(content)]))
        content[place : place + length] = data.draw(st.binary(max_size=6) | st.sampled_from([b"\n", b'"', b"\r\n"]))
    path.write_bytes(content)
    filled = [line for line in bytes(content).removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    refused = None
    try:
        read = read_predictions(path, edits)
    except UsageError as told:
        refused = str(told)
    if refused is not None:
        assert str(path) in refused
    else:
        torn = sum("torn" in notice for notice in read.notices)
        assert len(read.by_id) + read.superseded + read.outside + torn == len(filled)
