import json
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts.errors import UsageError
from medgen_scripts.records import Records
from medgen_scripts.records import load_records
from medgen_scripts.running.options import Shard
from medgen_scripts.running.store import Store

from .fakes import rows_of


@pytest.fixture(scope="module")
def vqa() -> Records:
    return load_records("vqa", "sample")


def failure(record_id: str, attempts: int = 1) -> dict[str, Any]:
    error = {"kind": "timeout", "message": "", "attempts": attempts}
    return {"id": record_id, "text": None, "image": None, "error": error}


def text(record_id: str, text: str = "yes") -> dict[str, Any]:
    return {"id": record_id, "text": text, "image": None}


def written(store: Store, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    store.read()
    store.open()
    for row in rows:
        store.add(row)
    store.finish()
    return rows_of(store.path)


def test_one_row_a_record_in_the_datas_order_and_an_answer_outweighs_a_failure(vqa: Records, tmp_path: Path) -> None:
    a, b, c = vqa.ids[:3]
    assert written(Store(tmp_path, vqa), text(c), failure(a), failure(b)) == [failure(a), failure(b), text(c)]
    rows = written(Store(tmp_path, vqa), text(a), failure(c), failure(b, 5))
    assert rows == [text(a), failure(b, 5), text(c)]
    store = Store(tmp_path, vqa)
    store.read()
    place = store.earlier(b)
    assert place is not None
    assert (place.failed, place.attempts) == (True, 5)


def test_a_row_whose_image_is_gone_is_none(vqa: Records, tmp_path: Path) -> None:
    store = Store(tmp_path, vqa)
    name = store.add_image(vqa.ids[0], b"png")
    assert written(store, {"id": vqa.ids[0], "text": None, "image": name})
    (tmp_path / name).unlink()
    store.read()
    assert store.earlier(vqa.ids[0]) is None


def test_a_torn_line_of_the_journal_is_dropped_and_nothing_is_appended_to_it(vqa: Records, tmp_path: Path) -> None:
    store = Store(tmp_path, vqa)
    store.open()
    store.add(text(vqa.ids[0]))
    store.release()
    with store.journal.open("ab") as journal:
        journal.write(b'{"id": "' + vqa.ids[1].encode() + b'", "te')
    assert written(Store(tmp_path, vqa), text(vqa.ids[1])) == [text(vqa.ids[0]), text(vqa.ids[1])]


def test_every_damaged_line_is_told_and_the_file_stays(vqa: Records, tmp_path: Path) -> None:
    path = tmp_path / "vqa.jsonl"
    path.write_text("nonsense\n" + json.dumps(text(vqa.ids[0])) + "\n[]\n")
    with pytest.raises(UsageError, match=r"2 bad rows(.|\n)*vqa.jsonl:1(.|\n)*vqa.jsonl:3"):
        Store(tmp_path, vqa).read()
    assert path.read_text().startswith("nonsense")


def test_drafts_stay_until_their_record_has_a_row(vqa: Records, tmp_path: Path) -> None:
    a, b = vqa.ids[:2]
    draft = {"text": "t", "prompt": "p", "meta": {}, "usage": {}}
    written(Store(tmp_path, vqa), {"id": a, "draft": draft}, {"id": b, "draft": draft}, text(b))
    store = Store(tmp_path, vqa)
    store.read()
    assert store.draft(a) == draft
    assert store.earlier(a) is None
    assert rows_of(store.journal) == [{"id": a, "draft": draft}]
    written(store, text(a))
    assert not store.journal.exists()


def test_a_shards_end_leaves_the_journal_of_another_that_is_at_work(vqa: Records, tmp_path: Path) -> None:
    one, two = Store(tmp_path, vqa, Shard(1, 2)), Store(tmp_path, vqa, Shard(2, 2))
    for store, record_id in ((one, vqa.ids[0]), (two, vqa.ids[1])):
        store.hold()
        store.read()
        store.open()
        store.add(text(record_id))
    one.finish()
    one.release()
    assert two.journal.exists()
    two.add(text(vqa.ids[3]))
    two.finish()
    two.release()
    assert [row["id"] for row in rows_of(one.path)] == [vqa.ids[0], vqa.ids[1], vqa.ids[3]]
    assert not list(tmp_path.glob(".vqa.journal*"))


def test_a_second_run_of_a_shard_is_refused_and_of_another_is_not(vqa: Records, tmp_path: Path) -> None:
    first = Store(tmp_path, vqa, Shard(1, 2))
    first.hold()
    with pytest.raises(UsageError, match="another run is producing vqa predictions"):
        Store(tmp_path, vqa, Shard(1, 2)).hold()
    other = Store(tmp_path, vqa, Shard(2, 2))
    other.hold()
    other.release()
    first.release()
