import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from medgen_metrics.cache_files import CacheError
from medgen_metrics.cache_files import files
from medgen_metrics.feature_cache import MEMORY
from medgen_metrics.feature_cache import Feature
from medgen_metrics.feature_cache import FeatureCache
from medgen_metrics.feature_cache import Features
from medgen_metrics.signature import digest

KEYS = [digest(number, 32) for number in range(5)]


def feature(seed: int, depth: str = "8-bit") -> Feature:
    return Feature(np.random.RandomState(seed).standard_normal(16).astype(np.float32), depth)


def filled(folder: Path, count: int = 3) -> None:
    with FeatureCache(folder) as cache:
        for number in range(count):
            cache.put(KEYS[number], feature(number), "tiny")


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
        assert {(entry.key, entry.model) for entry in cache.entries()} == {(key, "tiny") for key in KEYS[:3]}


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
            cache.put(KEYS[2], feature(2), "tiny")
            assert cache.get(KEYS[2]) is not None
        assert "its images are encoded again" in told[0]
        for other in files(tmp_path):
            if other != path:
                other.unlink()


def test_a_changed_value_is_never_taken(tmp_path: Path) -> None:
    filled(tmp_path)
    path = files(tmp_path)[0]
    lines = path.read_text("utf-8").splitlines()
    row = json.loads(lines[1])
    row["depth"] = "16-bit"
    path.write_text("\n".join([lines[0], json.dumps(row), lines[2]]) + "\n", encoding="utf-8")
    with (
        FeatureCache(tmp_path) as cache,
        pytest.raises(CacheError, match=r":2: expected an entry of the feature cache"),
    ):
        cache.get(KEYS[1])


def test_another_files_lines_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(CacheError, match="expected an entry of the feature cache"):
        FeatureCache(tmp_path)


def test_is_bounded(tmp_path: Path) -> None:
    told: list[str] = []
    with FeatureCache(tmp_path, limit=400, notice=told.append) as cache:
        for number, key in enumerate(KEYS):
            cache.put(key, feature(number), "tiny")
        assert 400 <= cache.size < 800
        assert 0 < len(cache) < len(KEYS)
    assert len(told) == 1
    assert "full" in told[0]


def _writes(folder: Path, first: int) -> None:
    with FeatureCache(folder) as cache:
        for number in range(first, first + 50):
            cache.put(digest(number, 32), feature(number), "tiny")


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
        assert len(list(cache.entries())) == 75


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
