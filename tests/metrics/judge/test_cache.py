import json
import random
import signal
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from medgen_metrics.cache_files import files
from medgen_metrics.cache_files import in_use
from medgen_metrics.judge.cache import CacheError
from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.judge.entry import Entry
from medgen_metrics.judge.entry import asked
from medgen_metrics.judge.entry import host
from medgen_metrics.judge.entry import key_of

from .entries import PARTS
from .entries import entry
from .entries import filled
from .entries import full_disk


@pytest.fixture
def told() -> list[str]:
    return []


# --- keys and entries -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"model": "judge-32b"},
        {"mode": "text"},
        {"params": {"temperature": 0.7, "seed": 0}},
        {"rubric_digest": "ac"},
        {"schema_digest": "ce"},
        {"sample": 1},
    ],
)
def test_all_that_determines_a_reply_is_in_its_key(change: dict[str, object]) -> None:
    messages = [{"role": "user", "content": "an image"}]
    same = {**PARTS, "params": {"seed": 0, "temperature": 0.0}}
    key = key_of(asked(messages, **PARTS))
    assert key == key_of(asked(messages, **same))
    assert key != key_of(asked(messages, **{**PARTS, **change}))
    assert key != key_of(asked([*messages, messages[0]], **PARTS))


@pytest.mark.parametrize("text", ["", "line\nbreaks\r\u2028\x00", "Läsion 病灶 \ud83d alone", '{"score": 5}'])
def test_an_entry_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    put = entry(1, text)
    assert ReplyCache(filled(tmp_path, put)).get(put.key) == put


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": "other"}, "doesn't have the digest"),
        ({"sum": None}, "doesn't have the digest"),
        ({"more": 1}, "not an entry"),
    ],
)
def test_a_changed_line_is_no_entry(change: dict[str, object], message: str) -> None:
    row = {**json.loads(entry(1).to_json()), **change}
    with pytest.raises(ValueError, match=message):
        Entry.from_json(json.dumps(row))


def test_what_is_put_fits_its_key_and_is_strict_json(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    one, other = entry(1), entry(2)
    with pytest.raises(ValueError, match="expected the entry's"):
        cache.put(other.key, one)
    with pytest.raises(ValueError, match="that of what was asked"):
        cache.put(other.key, replace(one, key=other.key))
    with pytest.raises(ValueError, match="text: got bytes"):
        cache.put(one.key, replace(one, text=b"five"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not JSON compliant"):
        cache.put(one.key, replace(one, meta={"score": float("nan")}))
    with pytest.raises(ValueError, match="32 hex digits"):
        cache.get("../../etc/passwd")
    assert len(ReplyCache(tmp_path)) == len(cache) == 0


@pytest.mark.parametrize("address", ["http://user:secret@gpu7:8000/v1?key=secret", "gpu7:8000", "https://gpu7:8000/v1"])
def test_an_endpoint_is_its_host(address: str) -> None:
    assert host(address) == "gpu7:8000"


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_not_there_is_an_empty_cache_and_stays_away(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "none")
    assert cache.get(entry(1).key) is None
    assert not cache.folder.exists()


def test_others_entries_are_there_at_the_start_or_at_a_refresh(tmp_path: Path) -> None:
    one, other = ReplyCache(tmp_path), ReplyCache(tmp_path)
    one.put(entry(1).key, entry(1))
    other.put(entry(2).key, entry(2))
    assert entry(1).key not in other
    other.refresh()
    assert other.get(entry(1).key) == entry(1)
    assert len(other) == len(ReplyCache(tmp_path)) == 2
    one.put(entry(3).key, entry(3))
    other.refresh()
    assert len(other) == 3


def test_a_key_twice_counts_once_and_everyone_sees_the_same(tmp_path: Path) -> None:
    twice = [entry(1, "second", created=2.0), entry(1, "first", created=1.0), entry(1, "third", created=3.0)]
    for order in range(3):
        folder = tmp_path / str(order)
        for item in twice[order:] + twice[:order]:
            filled(folder, item)
        cache = ReplyCache(folder)
        assert [item.text for item in cache] == ["first"]


def test_a_usable_reply_is_taken_before_an_unusable_one(tmp_path: Path) -> None:
    filled(tmp_path, entry(1, "sorry", created=1.0, unusable="refusal"))
    with ReplyCache(tmp_path) as cache:
        cache.put(entry(1).key, entry(1, "five", created=2.0))
        assert cache.get(entry(1).key).text == "five"  # type: ignore[union-attr]
    assert [item.text for item in ReplyCache(tmp_path)] == ["five"]


def test_a_torn_last_line_is_dropped_with_a_notice(tmp_path: Path, told: list[str]) -> None:
    (path,) = files(filled(tmp_path, entry(1), entry(2)))
    whole = path.read_bytes()
    second = whole.index(b"\n") + 1
    for length in (second + 1, len(whole) // 2 + 20, len(whole) - 1):
        path.write_bytes(whole[:length])
        cache = ReplyCache(tmp_path, notice=told.append)
        assert [item.key for item in cache] == [entry(1).key]
        cache.refresh()
        assert len(told) == 1, "told again"
        assert told.pop().startswith(f"{path}:2: dropped a torn last line")


def test_a_line_that_is_just_being_written_is_neither_told_nor_lost(tmp_path: Path, told: list[str]) -> None:
    with ReplyCache(tmp_path) as writer:
        writer.put(entry(1).key, entry(1))
        (path,) = files(tmp_path)
        assert in_use(path)
        line = entry(2).to_json().encode() + b"\n"
        with path.open("ab") as file:
            file.write(line[:100])
            file.flush()
            reader = ReplyCache(tmp_path, notice=told.append)
            assert len(reader) == 1
            file.write(line[100:])
        reader.refresh()
        assert len(reader) == 2
    assert told == []
    assert not in_use(path)
    assert [item.name for item in tmp_path.iterdir()] == [path.name], "the claim stays behind"


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    (path,) = files(filled(tmp_path, entry(1), entry(2), entry(3)))
    lines = path.read_bytes().splitlines(keepends=True)
    for bad in (b'{"key": "12"\n', b"[]\n", b"\n", b'{"key": "12", "created": 1, "meta": {}}\n', b"\xff\n"):
        path.write_bytes(lines[0] + bad + lines[2])
        with pytest.raises(CacheError, match=rf"{path.name}:2: expected an entry of the reply cache, got"):
            ReplyCache(tmp_path)


def test_a_reply_changed_by_hand_is_never_used(tmp_path: Path) -> None:
    (path,) = files(filled(tmp_path, entry(1), entry(2, "score 2")))
    path.write_text(path.read_text().replace("score 2", "score 5"))
    cache = ReplyCache(tmp_path)
    assert cache.get(entry(1).key) == entry(1)
    with pytest.raises(CacheError, match=rf"{path.name}:2: .*changed or damaged"):
        cache.get(entry(2).key)


def test_what_put_returned_from_survives_sigkill(tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from tests.metrics.judge.entries import *\n"
    script += "cache = ReplyCache(Path(sys.argv[1]))\n"
    script += (
        "for number in range(10**6): cache.put(entry(number).key, entry(number, 'x' * 5000)); print(number, flush=True)"
    )
    put = set()
    chance = random.Random(0)
    for _ in range(2):
        writer = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(chance.randrange(50, 400)):
            put.add(int(writer.stdout.readline()))
        writer.send_signal(signal.SIGKILL)
        put.update(int(line) for line in writer.stdout.read().splitlines() if line)
        writer.wait()
    cache = ReplyCache(tmp_path)
    assert len(put) >= 50
    assert {entry(number).key for number in put} <= {item.key for item in cache}
    assert not any(map(in_use, files(tmp_path)))


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path, told: list[str]) -> None:
    cache = ReplyCache(tmp_path)
    cache.put(entry(1).key, entry(1))
    (path,) = files(tmp_path)
    with full_disk(path.stat().st_size + 100):
        with pytest.raises(CacheError, match=r"replies can't be kept: .* make room"):
            cache.put(entry(2).key, entry(2))
        assert entry(2).key not in cache
    cache.put(entry(3).key, entry(3))
    assert {item.key for item in cache} == {entry(1).key, entry(3).key}
    assert {item.key for item in ReplyCache(tmp_path, notice=told.append)} == {entry(1).key, entry(3).key}
    assert told == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheError, match="replies can't be kept"):
        ReplyCache(tmp_path / "file" / "cache").put(entry(1).key, entry(1))


def test_memory_does_not_hold_the_replies(tmp_path: Path) -> None:
    with ReplyCache(tmp_path) as cache:
        for number in range(500):
            cache.put(entry(number).key, entry(number, "x" * 20_000))
    tracemalloc.start()
    cache = ReplyCache(tmp_path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(cache) == 500
    assert held < 500 * 1000


def test_facts_are_kept_beside_the_replies_and_the_latest_counts(tmp_path: Path) -> None:
    with ReplyCache(tmp_path) as cache:
        cache.note("mode", "text")
        cache.put(entry(1).key, entry(1))
        cache.note("mode", {"mode": "json_schema"})
        assert cache.facts["mode"] == {"mode": "json_schema"}
    again = ReplyCache(tmp_path)
    assert dict(again.facts) == {"mode": {"mode": "json_schema"}}
    assert len(again) == 1
