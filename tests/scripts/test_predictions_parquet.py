"""Predictions in Parquet are read as their JSONL is, and told apart from it and from data sets by looking."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from medgen_scripts import predictions_parquet
from medgen_scripts.errors import UsageError
from medgen_scripts.image_source import EmbeddedImage
from medgen_scripts.prediction import Prediction
from medgen_scripts.predictions import Predictions
from medgen_scripts.predictions import read_predictions
from medgen_scripts.predictions_parquet import holds_predictions
from medgen_scripts.predictions_parquet import shards
from medgen_scripts.records import Records
from medgen_scripts.validate import is_predictions

from ..readme import README
from . import given
from . import parquet
from .scored import png

COUNT = 5


@pytest.fixture(scope="module")
def gens() -> Records:
    return given.records([given.record("organic-removal", number) for number in range(COUNT)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A system's folder; images 0.png … lie in `images`."""
    (tmp_path / "mine/images").mkdir(parents=True)
    for number in range(COUNT):
        (tmp_path / f"mine/images/{number}.png").write_bytes(png(number))
    return tmp_path / "mine"


def rows(found: Records) -> list[dict[str, Any]]:
    """Rows of every kind: an answer, an empty one, a named failure, an error sentence, an image that isn't there."""
    return [
        {"id": found.ids[0], "text": "removed", "image": "images/0.png", "error": None, "meta": {"seconds": 2}},
        {"id": found.ids[1], "text": "", "image": "images/1.png", "error": None, "meta": None},
        {"id": found.ids[2], "text": None, "image": None, "error": {"kind": "refused", "message": "no"}, "meta": None},
        {"id": found.ids[3], "text": "Error: no reply", "image": None, "error": None, "meta": {"drawn": "x"}},
        {"id": found.ids[4], "text": "é\n", "image": "images/gone.png", "error": None, "meta": None},
    ]


def plain(read: Predictions) -> dict[str, Any]:
    """Predictions with the bytes of their images, wherever these lie."""
    fields = Prediction.__dataclass_fields__
    return {
        key: {name: getattr(row, name) for name in fields} | {"image": row.image and row.image.read_bytes()}
        for key, row in read.by_id.items()
    }


@pytest.mark.parametrize("form", ["embedded", "paths", "struct of paths", "bytes", "lists", "datasets"])
def test_parquet_gives_what_its_jsonl_gives(form: str, folder: Path, gens: Records) -> None:
    expected = read_predictions(given.write(folder / "gen.jsonl", rows(gens)), gens)
    made = rows(gens)
    if form == "struct of paths":
        made = [{**row, "image": row["image"] and {"bytes": None, "path": row["image"]}} for row in made]
    elif form != "paths":
        (folder / "images/gone.png").write_bytes(b"")
        made = parquet.embedded(made, folder)
        (folder / "images/gone.png").unlink()
        made[4]["image"] = None  # an image that isn't there has no bytes to be embedded
    if form == "bytes":
        made = [{**row, "image": row["image"] and row["image"]["bytes"]} for row in made]
    elif form == "lists":
        made = [{**row, "image": [row["image"]] if row["image"] else []} for row in made]
    path = folder / "gen.parquet"
    if form == "datasets":
        datasets.Dataset.from_list(made).cast_column("image", datasets.Image()).to_parquet(path)
    else:
        parquet.write(path, made, row_group_size=2)
    read = read_predictions(path, gens)
    assert plain(read) == plain(expected)
    assert (read.layout, read.join) == ("medgen-bench", {"id": COUNT})
    assert len(read.digest) == 64
    first = read.by_id[gens.ids[0]].image
    assert isinstance(first, EmbeddedImage) is ("path" not in form)
    assert first is not None
    assert first.name == ("" if form == "bytes" else "0.png")


@pytest.mark.usefixtures("cache")
def test_the_readmes_way_of_writing_parquet_gives_the_same_predictions(folder: Path, gens: Records) -> None:
    made = [{name: value for name, value in row.items() if value is not None} for row in rows(gens)[:4]]
    expected = read_predictions(given.write(folder / "gen.jsonl", made), gens)
    (block,) = re.findall(r"```python\n(import json\n.*?)```", README.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "README.md", "exec"), names)
    names["outputs"](folder, "gen").to_parquet(folder / "gen.parquet")
    read = read_predictions(folder / "gen.parquet", gens)
    assert plain(read) == plain(expected)
    assert isinstance(read.by_id[gens.ids[0]].image, EmbeddedImage)


def test_objects_written_as_text_are_objects_again(folder: Path, gens: Records) -> None:
    made = [
        {"id": gens.ids[0], "text": "a", "meta": '{"seconds": 2}', "error": None},
        {"id": gens.ids[1], "text": None, "meta": None, "error": '{"kind": "refused", "message": "no"}'},
        {"id": gens.ids[2], "text": None, "meta": None, "error": "no reply"},
    ]
    read = read_predictions(parquet.write(folder / "gen.parquet", made), gens).by_id
    assert read[gens.ids[0]].meta == {"seconds": 2}
    assert [read[name].text_reason for name in gens.ids[1:3]] == ["refused", "error_text"]
    assert read[gens.ids[2]].error == "no reply"
    schema = pa.schema([("id", pa.string()), ("text", pa.string()), ("meta", pa.map_(pa.string(), pa.int64()))])
    table = pa.Table.from_pylist([{"id": gens.ids[0], "text": "a", "meta": [("seconds", 2)]}], schema=schema)
    pq.write_table(table, folder / "gen.parquet")
    assert read_predictions(folder / "gen.parquet", gens).by_id[gens.ids[0]].meta == {"seconds": 2}


def test_the_public_evaluators_columns_are_joined_by_sample_id_or_by_input_image(folder: Path, gens: Records) -> None:
    made = [
        {
            "sample_id": gens.column("release_id")[0] if number == 0 else None,
            "instruction": gens.column("instruction")[number],
            "input_image": {"bytes": gens[number].input_images[0].data, "path": None},
            "response": f"said {number}",
            "output_image": {"bytes": png(number), "path": None},
            "category": "Multimodal_Generation",
        }
        for number in range(2)
    ]
    read = read_predictions(parquet.write(folder / "gen.parquet", made), gens)
    assert (read.layout, read.join) == ("public", {"sample_id": 1, "instruction": 1})
    assert [read.by_id[name].text for name in gens.ids[:2]] == ["said 0", "said 1"]
    image = read.by_id[gens.ids[1]].image
    assert image is not None
    assert image.read_bytes() == png(1)


def test_a_folder_of_shards_is_one_file(folder: Path, gens: Records) -> None:
    made = parquet.embedded(rows(gens)[:4], folder)
    for number in range(2):
        parquet.write(folder / f"gen/test-{number:05d}-of-00002.parquet", made[2 * number : 2 * number + 2])
    read = read_predictions(folder / "gen", gens)
    parquet.write(folder / "gen.parquet", made)
    assert plain(read) == plain(read_predictions(folder / "gen.parquet", gens))
    parquet.write(folder / "gen/test-00001-of-00002.parquet", [*made[2:], {**made[0], "id": "nope"}, made[0]])
    with pytest.raises(UsageError) as told:
        read_predictions(folder / "gen", gens)
    said = str(told.value).splitlines()
    assert said[0] == f"{folder / 'gen'}: 2 bad rows in predictions"
    assert said[1].startswith("gen/test-00001-of-00002.parquet:3: unknown id 'nope'")
    first = "first on row test-00000-of-00002.parquet:1; keep one row a record"
    assert said[2] == f"gen/test-00001-of-00002.parquet:4: duplicate id {gens.ids[0]!r}, {first}"


def test_shards_that_are_missing_or_of_several_splits_are_refused(folder: Path) -> None:
    for number in (0, 2):
        parquet.write(folder / f"gen/test-{number:05d}-of-00003.parquet", [{"id": "a"}])
    with pytest.raises(
        UsageError, match=r"expected the 3 shards of 'test', got 2 .without test-00001-of-00003.parquet."
    ):
        shards(folder / "gen")
    parquet.write(folder / "gen/test-00001-of-00003.parquet", [{"id": "a"}])
    assert len(shards(folder / "gen")) == 3
    parquet.write(folder / "gen/train-00000-of-00001.parquet", [{"id": "a"}])
    with pytest.raises(UsageError, match=r"expected the Parquet shards of one split, got those of test, train"):
        shards(folder / "gen")


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("/etc/passwd", "gen.parquet:1: image '/etc/passwd': absolute paths are refused"),
        ("images/../../x.png", "gen.parquet:1: image 'images/../../x.png': paths with '..' are refused"),
        ("out.png", "outside the allowed folders; allow with --image-root"),
    ],
)
def test_paths_are_refused_as_in_jsonl(image: str, said: str, folder: Path, gens: Records) -> None:
    (folder.parent.parent / "elsewhere.png").write_bytes(png(1))
    (folder / "out.png").symlink_to(folder.parent.parent / "elsewhere.png")
    for value in (image, {"bytes": None, "path": image}):
        made = [{"id": gens.ids[0], "text": "a", "image": value}]
        with pytest.raises(UsageError) as told:
            read_predictions(parquet.write(folder / "gen.parquet", made), gens)
        assert said in str(told.value)
    # Beside bytes a path is a name and opens nothing.
    made = [{"id": gens.ids[0], "text": "a", "image": {"bytes": png(0), "path": image}}]
    found = read_predictions(parquet.write(folder / "gen.parquet", made), gens).by_id[gens.ids[0]].image
    assert found is not None
    assert found.read_bytes() == png(0)
    assert "/" not in found.name


def test_bad_cells_name_row_and_column(folder: Path, gens: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions_parquet, "MAX_LINE", 30)
    texts = pa.array([b"fine", b"\xff\xfe", b"x" * 31]).view(pa.string())
    table = pa.table({"id": gens.ids[:3], "text": texts, "image": pa.nulls(3, pa.int64())})
    pq.write_table(table, folder / "gen.parquet")
    with pytest.raises(UsageError) as told:
        read_predictions(folder / "gen.parquet", gens)
    said = str(told.value).splitlines()[1:]
    assert said[0].startswith("gen.parquet:2: column 'text': expected text in UTF-8")
    assert said[1] == "gen.parquet:3: column 'text': expected at most 30 characters, got 31"
    pq.write_table(table.slice(0, 1).set_column(2, "image", pa.array([7])), folder / "gen.parquet")
    with pytest.raises(UsageError, match=r"gen.parquet:1: expected image to be a path, a list of paths or null, got 7"):
        read_predictions(folder / "gen.parquet", gens)


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def _damage(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4:200] = b"\xff" * 196
    path.write_bytes(data)


def _text(path: Path) -> None:
    path.write_text("PAR1, but no Parquet")


@pytest.mark.parametrize("spoil", [_cut, _damage, _text])
def test_a_damaged_file_is_one_clear_error(spoil: Callable[[Path], None], folder: Path, gens: Records) -> None:
    path = parquet.write(folder / "gen.parquet", parquet.embedded(rows(gens)[:2], folder))
    spoil(path)
    with pytest.raises(UsageError, match=r"gen.parquet: expected a readable Parquet file, got .* again"):
        read_predictions(path, gens)


def test_other_columns_no_rows_and_giant_row_groups_are_refused(
    folder: Path, gens: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = parquet.write(folder / "gen.parquet", [{"name": gens.ids[0], "answer": "x"}])
    with pytest.raises(UsageError, match=r"expected columns id .* got 'name', 'answer'; rename its columns"):
        read_predictions(path, gens)
    pq.write_table(pa.table({"id": pa.array([], pa.string()), "text": pa.array([], pa.string())}), path)
    with pytest.raises(UsageError, match=r"gen.parquet: expected at least one row, got no row"):
        read_predictions(path, gens)
    table = pa.table([[gens.ids[0]], ["a"], ["b"]], names=["id", "text", "text"])
    pq.write_table(table, path)
    with pytest.raises(UsageError, match=r"expected each column once, got text more than once"):
        read_predictions(path, gens)
    monkeypatch.setattr(predictions_parquet, "MAX_GROUP", 1000)
    parquet.write(path, parquet.embedded(rows(gens)[:2], folder))
    with pytest.raises(UsageError, match=r"row group 0: expected at most 1,000 bytes of images .* row_group_size=100"):
        read_predictions(path, gens)


def test_a_folder_of_parquet_is_predictions_or_data_by_its_columns(folder: Path, gens: Records) -> None:
    parquet.write(folder / "gen/test-00000-of-00001.parquet", parquet.embedded(rows(gens)[:1], folder))
    assert is_predictions(folder)
    assert is_predictions(folder / "gen")
    data = folder.parent / "data/gen/test-00000-of-00001.parquet"
    parquet.write(data, [{"id": "x", "instruction": "y", "input_images": [], "answer": "z"}])
    assert not holds_predictions(data)
    assert not is_predictions(data.parent)
    assert not is_predictions(data.parent.parent)
