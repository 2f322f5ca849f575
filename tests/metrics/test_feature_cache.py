import errno
import multiprocessing
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medgen_metrics.cache_files import CacheError
from medgen_metrics.cache_files import files
from medgen_metrics.feature_cache import MEMORY
from medgen_metrics.feature_cache import Entry
from medgen_metrics.feature_cache import Feature
from medgen_metrics.feature_cache import FeatureCache
from medgen_metrics.feature_cache import Features
from medgen_metrics.signature import digest

from .judge.entries import full_disk

KEYS = [digest(number, 32) for number in range(5)]


def feature(seed: int, depth: str = "8-bit") -> Feature:
    return Feature(np.random.RandomState(seed).standard_normal(16).astype(np.float32), depth)


def entry(key: str, seed: int, definition: str = "d" * 16) -> Entry:
    return Entry(key, 1000.0 + seed, definition, "tiny", feature(seed))


def filled(folder: Path, count: int = 3) -> None:
    with FeatureCache(folder) as cache:
        for number in range(count):
            cache.put(entry(KEYS[number], number))


def test_gives_back_the_bits_that_were_put(tmp_path: Path) -> None:
    filled(tmp_path)
    with FeatureCache(tmp_path) as cache:
        assert len(cache) == 3
        for number in range(3):
            found = cache.get(KEYS[number])
            assert found is not None
            assert found.vector.tobytes() == feature(number).vector.tobytes()
            assert found.depth == "8-bit"
        assert cache.get(KEYS[3]) is None
        assert {(found.key, found.model) for found in cache} == {(key, "tiny") for key in KEYS[:3]}


def test_what_is_there_is_not_written_again(tmp_path: Path) -> None:
    filled(tmp_path)
    size = sum(path.stat().st_size for path in files(tmp_path))
    filled(tmp_path)
    assert sum(path.stat().st_size for path in files(tmp_path)) == size


def test_a_torn_last_line_is_dropped_with_a_notice(tmp_path: Path) -> None:
    filled(tmp_path)
    path = files(tmp_path)[0]
    content = path.read_bytes()
    for end in range(content.rindex(b"\n", 0, -1) + 2, len(content), 7):
        path.write_bytes(content[:end])
        told: list[str] = []
        with FeatureCache(tmp_path, notice=told.append) as cache:
            assert len(cache) == 2
            assert cache.get(KEYS[2]) is None
            cache.put(entry(KEYS[2], 2))
            assert cache.get(KEYS[2]) is not None
        assert "its images are encoded again" in told[0]
        for other in files(tmp_path):
            if other != path:
                other.unlink()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "a value": lambda line: line.replace(b'"8-bit"', b'"float"'),
    "a block of zeros": lambda line: line[:60] + b"\0" * 100 + line[160:],
    "half a line": lambda line: line[: len(line) // 2] + b"\n",
    "bytes of a picture": lambda line: b"\x89PNG\xff\xfe\n",
    "another cache's": lambda line: b'{"id": "x"}\n',
    "deep": lambda line: b"[" * 100_000 + b"\n",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_broken_in_the_middle_is_told_and_left_out(tmp_path: Path, damage: str) -> None:
    filled(tmp_path)
    path = files(tmp_path)[0]
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + DAMAGE[damage](lines[1]) + lines[2])
    with pytest.raises(CacheError, match=r":2: expected an entry of the feature cache"):
        FeatureCache(tmp_path, strict=True)
    told: list[str] = []
    with FeatureCache(tmp_path, notice=told.append) as cache:
        assert len(told) == 1
        assert f"{path}:2: expected an entry" in told[0]
        assert "its images are encoded again" in told[0]
        assert [cache.get(key) is not None for key in KEYS[:3]] == [True, False, True]
        cache.put(entry(KEYS[1], 1))
    with FeatureCache(tmp_path) as later:
        found = later.get(KEYS[1])
        assert found is not None
        assert found.vector.tobytes() == feature(1).vector.tobytes()


def test_what_is_changed_while_it_is_open_is_not_taken_but_kept_anew(tmp_path: Path) -> None:
    filled(tmp_path)
    path = files(tmp_path)[0]
    told: list[str] = []
    with FeatureCache(tmp_path, notice=told.append) as cache, FeatureCache(tmp_path, strict=True) as strict:
        path.write_bytes(path.read_bytes().replace(b'"8-bit"', b'"float"'))
        with pytest.raises(CacheError, match=":1: expected"):
            strict.get(KEYS[0])
        assert [cache.get(key) for key in KEYS[:3]] == [None] * 3
        assert len(told) == 1
        assert cache.put(entry(KEYS[0], 0))
        assert cache.get(KEYS[0]) is not None


def test_a_file_that_cant_be_read_is_told_and_left_out(tmp_path: Path) -> None:
    filled(tmp_path)
    (tmp_path / "a.jsonl").mkdir()
    told: list[str] = []
    with FeatureCache(tmp_path, notice=told.append) as cache:
        assert len(cache) == 3
        cache.refresh()
    assert len(told) == 1
    assert "a.jsonl: expected a file of embeddings" in told[0]


def test_a_definition_has_one_length(tmp_path: Path) -> None:
    filled(tmp_path)
    other = entry(KEYS[3], 3)._replace(feature=Feature(np.ones(4, np.float32), "8-bit"))
    with FeatureCache(tmp_path) as cache:
        with pytest.raises(ValueError, match="expected 16 dimensions, as others of its definition have, got 4"):
            cache.put(other)
        assert cache.put(other._replace(definition="e" * 16))


@pytest.mark.parametrize("dimensions", [1, 2, 3, 5, 768, 1024])
def test_dimensions_are_told_from_the_line(tmp_path: Path, dimensions: int) -> None:
    with FeatureCache(tmp_path) as cache:
        cache.put(entry(KEYS[0], 0)._replace(feature=Feature(np.ones(dimensions, np.float32), "8-bit")))
        assert list(cache._dimensions.values()) == [dimensions]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"feature": Feature(np.array([1, np.nan], np.float32), "8-bit")}, "finite"),
        ({"feature": Feature(np.empty(0, np.float32), "8-bit")}, "finite"),
        ({"key": "../../etc"}, "key of 32 hex digits"),
    ],
)
def test_an_entry_is_checked(changes: dict[str, Any], message: str) -> None:
    good = entry(KEYS[0], 0)._replace(imported="e.jsonl")
    back = Entry.from_json(good.to_json().encode())
    assert back._replace(feature=good.feature) == good
    with pytest.raises(ValueError, match=message):
        Entry.from_json(good._replace(**changes).to_json().encode())


def test_is_bounded(tmp_path: Path) -> None:
    told: list[str] = []
    with FeatureCache(tmp_path, limit=500, notice=told.append) as cache:
        for number, key in enumerate(KEYS):
            cache.put(entry(key, number))
        assert 500 <= cache.size < 1000
        assert 0 < len(cache) < len(KEYS)
        assert not cache.put(entry(digest("one more", 32), 9))
    assert len(told) == 1
    assert "full" in told[0]


def _writes(folder: Path, first: int) -> None:
    with FeatureCache(folder) as cache:
        for number in range(first, first + 50):
            cache.put(entry(digest(number, 32), number))


def test_processes_write_beside_one_another(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    running = [context.Process(target=_writes, args=(tmp_path, first)) for first in (0, 25)]
    for process in running:
        process.start()
    with FeatureCache(tmp_path) as cache:
        for process in running:
            process.join()
            assert process.exitcode == 0
        cache.refresh()
        assert len(cache) == 75
        assert len(list(cache)) == 75


def test_memory_is_bounded_and_candidates_stay_in_it(tmp_path: Path) -> None:
    with FeatureCache(tmp_path) as cache:
        features = Features(cache, "kind", "tiny")
        one = feature(0)
        for number in range(MEMORY + 1):
            features.keep(str(number), one, is_reference=number == 0)
        assert len(features._memory) == MEMORY
        assert features.get("0") is not None  # from the folder
        assert len(cache) == 1
        assert Features(cache, "another kind", "tiny").get("0") is None


# --- what happens to the folder during a run --------------------------------------------------------------------------


def test_a_folder_deleted_meanwhile_is_begun_anew(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "cache"
    with FeatureCache(folder) as cache:
        features = Features(cache, "kind", "tiny")
        features.keep("a", feature(0), is_reference=True)
        shutil.rmtree(folder)
        features.keep("b", feature(1), is_reference=True)
    assert "was deleted while a run wrote to it" in caplog.text
    with FeatureCache(folder) as later:
        assert [Features(later, "kind", "tiny").get(content) is not None for content in "ab"] == [False, True]
    assert [path.name for path in folder.iterdir()] == [files(folder)[0].name]


def test_a_read_only_folder_still_serves(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FeatureCache(tmp_path) as cache:
        Features(cache, "kind", "tiny").keep("a", feature(0), is_reference=True)
    opened = os.open

    def read_only(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, flags, *more, **options)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", read_only)  # root may write whatever a folder's mode is
        _serves(tmp_path, caplog)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_full_disk_costs_no_reading(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with FeatureCache(tmp_path) as cache:
        Features(cache, "kind", "tiny").keep("a", feature(0), is_reference=True)
    with full_disk(100):
        _serves(tmp_path, caplog)
    assert len(FeatureCache(tmp_path, strict=True)) == 1


def _serves(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with FeatureCache(folder) as cache:
        features = Features(cache, "kind", "tiny")
        for content in "bc":
            features.keep(content, feature(1), is_reference=True)
        assert caplog.text.count("embeddings can't be kept") == 1
        assert features.get("a") is not None
        assert features.get("b") is not None  # from memory


def test_another_encoders_embeddings_under_this_ones_name_end_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    short = Feature(np.ones(3, np.float32), "8-bit")
    with FeatureCache(tmp_path) as cache:
        cache.put(Entry(KEYS[0], 1000.0, "kind", "tiny", short))
    with FeatureCache(tmp_path) as cache:
        features = Features(cache, "kind", "tiny")
        for number in range(2):
            features.keep(KEYS[number], feature(number), is_reference=True)
            assert features.get(KEYS[number]) is not None
    (said,) = caplog.messages
    assert said.startswith(f"{tmp_path}: the feature cache isn't used any more")
    assert said.endswith("delete the folder: its images are encoded again")


def test_what_others_keep_meanwhile_is_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FeatureCache(tmp_path) as ours, FeatureCache(tmp_path) as theirs:
        features = Features(ours, "kind", "tiny")
        Features(theirs, "kind", "tiny").keep("a", feature(0), is_reference=True)
        features.look_again()
        assert features.get("a") is None
        monkeypatch.setattr("medgen_metrics.feature_cache.LOOK_AGAIN", -1.0)
        features.look_again()
        assert features.get("a") is not None
