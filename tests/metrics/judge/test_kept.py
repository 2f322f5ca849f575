"""Values that are made once and kept, within bounds."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from medgen_metrics.failures import Unscored
from medgen_metrics.judge.kept import Kept


def test_kept_values_are_bounded_by_bytes_and_the_oldest_go() -> None:
    kept: Kept[bytes] = Kept(10, len)
    made: list[str] = []

    def get(name: str, size: int) -> bytes:
        return kept.get(name, lambda: made.append(name) or bytes(size))

    for name in ("a", "b", "a", "c", "a", "b"):
        get(name, 4)
        assert kept.bytes <= 10
    assert made == ["a", "b", "c", "b"]
    get("large", 11)
    get("large", 11)
    assert made[-2:] == ["large", "large"], "a value above the limit is never kept"
    kept.clear()
    assert kept.bytes == 0


def test_a_failure_reaches_all_who_wait_and_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: Kept[bytes] = Kept(10, len)
    started, go_on = threading.Event(), threading.Event()

    def fail() -> bytes:
        started.set()
        assert go_on.wait(20)
        raise Unscored("unreadable")

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(kept.get, "a", fail)
        assert started.wait(20)
        pending = kept._pending["a"]
        wait = pending.result
        # whoever comes to wait lets the first go on

        def waited(timeout: float | None = None) -> bytes:
            go_on.set()
            return wait(timeout)

        monkeypatch.setattr(pending, "result", waited)
        second = pool.submit(kept.get, "a", lambda: pytest.fail("made twice at once"))
        for future in (first, second):
            with pytest.raises(Unscored):
                future.result(20)
    assert kept.get("a", lambda: b"x") == b"x"
