"""The layouts that are JSONL with image files: the records that Parquet gives, bad lines named, no stale cache."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import medgen_bench
from medgen_bench import DataError
from medgen_bench import MedGenBench

from . import builders
from . import layouts
from .builders import images
from .builders import public_row
from .layouts import write_lines
from .loading import export
from .loading import load
from .loading import raw

pytestmark = [
    pytest.mark.usefixtures("cache"),
    pytest.mark.filterwarnings("ignore:.*records; edition .* has:UserWarning"),
]


def rows() -> layouts.Rows:
    """All tasks; some rows repeat, some share images, over the configs too."""
    made = builders.release_rows()
    made["edit"] += [made["edit"][1], made["edit"][0], public_row("style-transfer", 90, output_images=images(501))]
    made["gen"].append(public_row("organic-removal", 91, input_images=images(508)))
    return made


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same records in each layout."""
    top = tmp_path_factory.mktemp("layouts")
    release = builders.write_release(top / "release", rows())
    folder = layouts.write_folder(top / "folder", rows())
    return {
        "release": release,
        "folder": folder,
        "view of folder": layouts.write_view_of_folder(top / "view", folder),
        "view of release": layouts.write_view_of_release(top / "new-view", release),
    }


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small folder layout to be spoilt."""
    return layouts.write_folder(
        tmp_path / "data", {"edit": [public_row("style-transfer", n) for n in range(3)], "vqa": [], "gen": []}
    )


def change(path: Path, line: int, **columns: Any) -> None:
    """Change a line of a file, `None` to take a column out."""
    records = [json.loads(text) for text in path.read_text().splitlines()]
    records[line - 1] = {k: v for k, v in (records[line - 1] | columns).items() if v is not None}
    write_lines(path, records)


# ---- The same records


@pytest.mark.parametrize("config", medgen_bench.CONFIGS)
def test_every_layout_gives_the_same_records(config: str, written: dict[str, Path], tmp_path: Path) -> None:
    wanted = load(written["release"], config)
    assert len(wanted) == len(rows()[config])
    by_id = {record["id"]: record for record in wanted}
    export(tmp_path / "export", written["release"])
    assert load(tmp_path / "export", config) == wanted
    assert load(written["view of release"], config) == wanted  # release_id and order too
    for layout in ("folder", "view of folder"):
        records = load(written[layout], config)
        assert len(records) == len(wanted)
        for record in records:
            same = by_id[record["id"]]
            # Options stand beside the instruction there, not in it.
            apart = {"instruction", "release_id"}
            assert {k: v for k, v in record.items() if k not in apart} == {
                k: v for k, v in same.items() if k not in apart
            }
            assert record["instruction"] == medgen_bench.split_options(same["instruction"])[0]


def test_records_bear_the_names_of_their_layout(written: dict[str, Path]) -> None:
    for layout in ("folder", "view of folder"):
        names = {record["release_id"] for record in load(written[layout], "vqa")}
        assert len(names) == 8
        assert "tableiv:VQA:multiple-choice:000002" in names


@pytest.mark.parametrize("layout", ["folder", "view of folder", "view of release"])
def test_streaming_and_several_processes_give_the_same(layout: str, written: dict[str, Path], tmp_path: Path) -> None:
    plain = load(written[layout], "edit")
    assert load(written[layout], "edit", streaming=True) == plain
    if layout == "folder":  # one piece a task's file
        builder = MedGenBench(str(tmp_path / "other"), config_name="edit", edition="release", data_dir=written[layout])
        builder.download_and_prepare(num_proc=2)
        assert raw(builder.as_dataset(split="test")) == plain
        assert len(list(Path(builder.cache_dir).glob("medgen-bench-test*.arrow"))) == 2


def test_a_long_file_is_shared_out_in_pieces(tmp_path: Path) -> None:
    many = [public_row("style-transfer", 1, instruction=f"Nr. {n}") for n in range(130)]
    layouts.write_folder(tmp_path / "data", {"edit": many})
    path = tmp_path / "data" / "ImageEditing" / "style-transfer" / "data.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n\r\n", 70))  # numbers count blank lines
    stream = medgen_bench.load("edit", edition="release", data_dir=tmp_path / "data", streaming=True)
    assert stream.num_shards == 4
    records = list(stream)
    assert [record["instruction"] for record in records] == [f"Nr. {n}" for n in range(130)]
    assert records[129]["release_id"].endswith(":000200")


# ---- What rows of the older layout may hold


def test_generic_tasks_report_sections_and_odd_choices(tmp_path: Path) -> None:
    made = {"vqa": [public_row("report-generation", 1), public_row("multiple-choice", 2)]}
    data = layouts.write_folder(tmp_path / "data", {**made, "edit": [public_row("style-transfer", 3)] * 2})
    sections = {"IMPRESSION": ["No nodule", "no effusion"], "ZONES": {"LEFT": "clear"}, "FINDINGS": "Clear.", "AGE": 50}
    change(data / "VQA/report-generation/data.jsonl", 1, answer=sections, source="roco", paper_subtask="Chest")
    change(data / "VQA/multiple-choice/data.jsonl", 1, choice=["(A) left", "B) right  "], modality="Radiograph")
    edits = data / "ImageEditing/style-transfer/data.jsonl"
    change(edits, 1, paper_task="image_editing", **{"sub-category": "Dye Transfer"})
    change(
        edits,
        2,
        paper_task="ImageEditing".lower().replace("ee", "e-e"),
        paper_subtask="resolution-edit",
        **{"sub-category": "generate"},
    )
    report, question = sorted(load(data, "vqa"), key=lambda record: record["task"], reverse=True)
    assert report["answer"] == "FINDINGS: Clear.\nIMPRESSION: No nodule; no effusion\nAGE: 50\nZONES:\n  LEFT: clear"
    assert (report["source"], report["subtask"]) == ("roco", "Chest")
    assert (question["choices"], question["modality"]) == (["A. left", "B. right"], "X-ray")
    assert question["subtask"] is None  # not the observed one, which is of another taxonomy
    assert [record["task"] for record in load(data)] == ["style-transfer", "resolution-editing"]


def test_a_name_in_metadata_is_the_records_name_where_it_is_its_alone(data: Path) -> None:
    path = data / "ImageEditing/style-transfer/data.jsonl"
    for line, metadata in enumerate([{"sample_id": "case-7"}, {"unique_id": "twice"}, {"sample_id": "twice"}], start=1):
        change(path, line, metadata=metadata)
    line = "tableiv:ImageEditing:style-transfer:00000"
    assert [record["release_id"] for record in load(data)] == ["case-7", f"{line}2", f"{line}3"]


# ---- Bad lines


def test_bad_lines_are_named_all_at_once(tmp_path: Path) -> None:
    made = {"edit": [public_row("style-transfer", n) for n in range(14)], "vqa": [public_row("multiple-choice", 30)]}
    data = layouts.write_folder(tmp_path / "data", made)
    path = data / "ImageEditing/style-transfer/data.jsonl"
    outside = tmp_path / "outside.png"
    outside.write_bytes(builders.png(1))
    (path.parent / "images" / "out.png").symlink_to(outside)
    (path.parent / "images" / "empty.png").touch()
    changes: list[dict[str, Any]] = [
        {"input_image": ["/etc/passwd"]},
        {"input_image": ["images/../x.png"]},
        {"input_image": ["images/absent.png"]},
        {"input_image": ["images/out.png"]},
        {"input_image": []},
        {"input_image": {"path": "x"}},
        {"paper_task": "cell-counting"},
        {"paper_task": "organic-removal"},
        {"paper_task": "image-edit", "sub-category": "generate"},
        {"instruction": 3},
        {"ground_truth_image": ["images/empty.png"]},
        {"instruction": "a lone \ud800 surrogate"},
    ]
    records = [
        json.loads(text) | columns for text, columns in zip(path.read_text().splitlines(), changes, strict=False)
    ]
    lines = [json.dumps(record) for record in records] + ['{"torn', "[1]"]
    path.write_text("\n".join(lines))
    change(data / "VQA/multiple-choice/data.jsonl", 1, answer=["a", "list"])
    with pytest.raises(DataError) as caught:
        load(data)
    said = str(caught.value).splitlines()
    assert said[0] == f"{data}: 15 problem(s)"
    name = "  ImageEditing/style-transfer/data.jsonl:"
    expected = [
        "  VQA/multiple-choice/data.jsonl:1: answer: expected a string or an object of sections, got ['a', 'list']",
        f"{name}1: input_image '/etc/passwd': absolute paths are refused; write it relative to its JSONL file",
        f"{name}2: input_image 'images/../x.png': paths with '..' are refused; write it relative",
        f"{name}3: input_image 'images/absent.png': no such file in {path.parent}",
        f"{name}4: input_image 'images/out.png': it is a link to '{outside}', outside the allowed folders",
        f"{name}5: input_images: expected one image or more, got none",
        f"{name}6: input_image: expected a list of relative paths, got {{'path': 'x'}}",
        f"{name}7: unknown task 'cell-counting'; expected one of multiple-choice, ",
        f"{name}8: task 'organic-removal' is one of config 'gen', but lies in a file of 'edit'",
        f"{name}9: no task in ['image-edit', 'generate', None]; expected one of",
        f"{name}10: instruction: expected a string, got 3",
        f"{name}11: ground_truth_image 'images/empty.png': an empty file",
        rf"{name}12: instruction: expected text, got a lone surrogate in 'a lone \ud800 surrogate'",
        f"{name}13: expected one JSON object, got '{{\"torn' (",
        f"{name}14: expected a JSON object, got [1]",
    ]
    for line, beginning in zip(said[1:], expected, strict=True):
        assert line.startswith(beginning)


def test_many_bad_lines_are_counted(tmp_path: Path) -> None:
    data = layouts.write_folder(tmp_path / "data", {"edit": [public_row("style-transfer", 1)] * 25})
    shutil.rmtree(data / "ImageEditing/style-transfer/images")
    with pytest.raises(DataError, match=r"25 problem\(s\)") as caught:
        load(data)
    assert str(caught.value).endswith("… and 5 more")


def test_a_view_is_held_to_its_names_and_originals(written: dict[str, Path], tmp_path: Path) -> None:
    view = layouts.write_view_of_folder(tmp_path / "view", written["folder"])
    edits = view / "edit.jsonl"
    first, second = (json.loads(line)["sample_id"] for line in edits.read_text().splitlines()[:2])
    change(edits, 2, sample_id=first)
    change(edits, 3, sample_id=None)
    asked = [json.loads(line) for line in (view / "vqa.jsonl").read_text().splitlines()]
    sheet = next(n for n, row in enumerate(asked, start=1) if len(row["eval_adapter"]["original_input_image"]) > 1)
    change(view / "vqa.jsonl", sheet, eval_adapter=None)
    with pytest.raises(DataError) as caught:
        load(view)
    problems = "\n".join(str(caught.value).splitlines()[1:])
    assert first != second
    assert f"vqa.jsonl:{sheet}: input_image 'images/vqa_contact_sheets/" in problems
    assert "edit.jsonl:3: sample_id: expected a string, got None; prepare the view again" in problems
    assert problems.count(f"release_id {first!r} stands 2 times") == 2
    (view / "source").unlink()
    with pytest.raises(DataError, match=r"input_images 'source/ImageEditing/.*no such file in .*view; restore"):
        load(view)


def test_links_are_followed_into_the_source_and_no_further(written: dict[str, Path], tmp_path: Path) -> None:
    folder = shutil.copytree(written["folder"], tmp_path / "folder")
    view = layouts.write_view_of_folder(tmp_path / "view", folder)
    assert load(view) == load(written["view of folder"])
    moved = tmp_path / "elsewhere"
    (folder / "ImageEditing/style-transfer/images").rename(moved)
    (folder / "ImageEditing/style-transfer/images").symlink_to(moved)
    for data in (view, folder):
        with pytest.raises(
            DataError, match=r"it is a link to .*elsewhere.*, outside the allowed folders; copy the file"
        ):
            load(data)


def test_a_link_to_a_file_of_records_is_refused(written: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "edit.jsonl").symlink_to(written["view of folder"] / "edit.jsonl")
    with pytest.raises(DataError, match=r"edit.jsonl: a link out of the folder, to .*; copy the file instead"):
        load(tmp_path / "data")


# ---- Which files are read


def test_layouts_are_found_below_the_folder_and_not_mixed(written: dict[str, Path], tmp_path: Path) -> None:
    top = tmp_path / "top"
    shutil.copytree(written["view of release"], top / "a" / "view")
    assert load(top) == load(written["release"])
    builders.write_release(top / "b", rows())
    with pytest.raises(
        DataError, match=r"more than one data set: .*\(edit, prepared\).*\(edit, public\).*name the folder"
    ):
        load(top)
    # The data behind a view may be a copy and not a link: it is the view's.
    view = layouts.write_view_of_folder(tmp_path / "view", written["folder"])
    (view / "source").unlink()
    shutil.copytree(written["folder"], view / "source")
    assert load(view) == load(written["view of folder"])


def test_predictions_are_not_taken_for_data(tmp_path: Path) -> None:
    write_lines(tmp_path / "a" / "edit.jsonl", [{"id": "style-transfer-1", "text": None, "image": "images/1.png"}])
    write_lines(tmp_path / "b" / "vqa.jsonl", [{"instruction": "x", "input_image": "x.png", "response": "y"}])
    with pytest.raises(DataError, match=r"got 2 other JSONL file\(s\): a/edit.jsonl \(not records"):
        load(tmp_path)


def test_a_manifest_that_disagrees_is_told(data: Path) -> None:
    manifest = {"tasks": {"ImageEditing/style-transfer": {"record_count": 5}, "VQA/blank-filling": {"record_count": 1}}}
    (data / "manifest.json").write_text(json.dumps(manifest))
    said = "not as manifest.json states: ImageEditing/style-transfer/data.jsonl has 3 records of 5; VQA/blank-filling"
    with pytest.warns(UserWarning, match=said):
        assert len(load(data)) == 3
    (data / "manifest.json").write_text("{")
    with pytest.raises(DataError, match=r"manifest.json: expected a JSON object, can't be read"):
        load(data)


# ---- Caches


def test_changed_lines_and_images_are_seen(data: Path) -> None:
    path = data / "ImageEditing/style-transfer/data.jsonl"
    image = path.parent / "images" / "input 000-0.png"
    before = load(data)
    stamp = path.stat()
    path.write_text(path.read_text().replace("Instruction 0", "Instruction 9"))  # as long as before
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert load(data)[0]["instruction"] == "Instruction 9 of style-transfer."
    stamp = image.stat()
    content = bytearray(image.read_bytes())
    content[-20] ^= 1
    image.write_bytes(content)
    os.utime(image, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    after = load(data)
    assert after[0]["input_images"][0]["bytes"] == bytes(content)
    assert after[0]["id"] != before[0]["id"]
    image.unlink()
    with pytest.raises(DataError, match=r"input 000-0.png': no such file"):
        load(data)


def test_prepared_data_serve_a_folder_that_was_moved(data: Path, tmp_path: Path, cache: Path) -> None:
    records = load(data)
    prepared = sorted(cache.rglob("medgen-bench-test*.arrow"))
    data.rename(tmp_path / "moved")
    assert load(tmp_path / "moved") == records
    assert sorted(cache.rglob("medgen-bench-test*.arrow")) == prepared
