import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medgen_scripts.backends.base import Ask
from medgen_scripts.backends.base import Gave
from medgen_scripts.backends.base import make
from medgen_scripts.errors import UsageError
from medgen_scripts.records import load_records
from medgen_scripts.run import run
from medgen_scripts.systems.component import Component

from .asking import BOTH
from .asking import IMAGE
from .asking import TEXT
from .asking import answers
from .asking import picture


def component(folder: Path) -> Component:
    return Component(backend="folder", model=str(folder))


def test_files_are_found_by_record(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").write_bytes(picture(form="JPEG"))
    (tmp_path / "a.txt").write_text(" Yes.\n")
    (tmp_path / "notes.md").write_text("mine")
    backend = make(component(tmp_path))
    text, image, both, absent = answers(
        backend, Ask("a", "x"), Ask("a", "x", wants=IMAGE), Ask("a", "x", wants=BOTH), Ask("b", "x", wants=IMAGE)
    )
    assert isinstance(text, Gave)
    assert (text.text, text.image) == ("Yes.", None)
    assert isinstance(image, Gave)
    assert image.image == picture(form="JPEG")
    assert isinstance(both, Gave)
    assert (both.text, both.image) == ("Yes.", picture(form="JPEG"))
    assert "no file b.png" in str(absent)
    (absent,) = answers(backend, Ask("b", "x", wants=TEXT))
    assert "no file b.txt" in str(absent)


def test_another_content_is_another_system_and_another_place_is_not(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.txt").write_text("Yes")
    before = make(component(tmp_path / "mine")).describe()
    assert str(tmp_path) not in json.dumps(before)
    (tmp_path / "mine" / "b.txt").write_text("No")
    assert make(component(tmp_path / "mine")).describe() != before


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a folder of outputs: No such file"):
        make(component(tmp_path / "absent"))
    with pytest.raises(UsageError, match="expected files named by record id"):
        make(component(tmp_path))
    for name in ("a.png", "a.jpg"):
        (tmp_path / name).write_bytes(picture())
    with pytest.raises(UsageError, match=r"expected one file a record, got a\.jpg and a\.png"):
        make(component(tmp_path))


def test_a_folder_of_outputs_becomes_predictions(tmp_path: Path) -> None:
    ids = load_records("edit", "sample").ids[:3]
    folder = tmp_path / "my outputs"
    folder.mkdir()
    (folder / f"{ids[0]}.jpg").write_bytes(picture(form="JPEG"))
    (folder / f"{ids[1]}.png").write_bytes(b"no image")
    path = run(f"folder:{folder}", "edit", edition="sample", out=tmp_path / "out", ids=tuple(ids))
    assert path == tmp_path / "out" / "predictions" / "my-outputs" / "edit.jsonl"
    rows = {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}
    assert [rows[name].get("error", {}).get("kind") for name in ids] == [None, "not_an_image", "missing"]
    with Image.open(path.parent / rows[ids[0]]["image"]) as image:
        assert (image.format, image.size) == ("PNG", (40, 30))
        expected = Image.open(folder / f"{ids[0]}.jpg").convert("RGB")
        assert np.array_equal(np.asarray(image), np.asarray(expected))
