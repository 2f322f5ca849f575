"""What processes share: numbers, each to one of them, and texts for the main one."""

import os
import time
from pathlib import Path

import pytest

from medgen_scripts.errors import Failure
from medgen_scripts.scoring import signs
from medgen_scripts.scoring.launch import Ranks
from medgen_scripts.scoring.launch import ranks
from medgen_scripts.scoring.signs import LocalStore
from medgen_scripts.scoring.signs import gone

from ...spawned import in_two
from ...waiting import until


def alone() -> Ranks:
    return Ranks(0, 1, None)


def test_alone_all_numbers_are_ones_own() -> None:
    here = alone()
    assert list(here.take("a", 3)) == [0, 1, 2]
    assert list(here.take("a", 3)) == []
    assert list(here.take("b", 2)) == [0, 1]
    assert list(here.take("c", 0)) == []


@pytest.mark.parametrize("length", [0, 5, 2**20, 2**21 + 7])
def test_a_text_of_any_length_is_heard(length: int) -> None:
    here = alone()
    text = "é" * length
    here.tell("x", text)
    assert here.heard("x") == [text]


def test_of_one_that_leaves_what_it_told_is_heard_and_the_rest_not_waited_for() -> None:
    store = LocalStore()
    told, silent = Ranks(1, 3, None, store=store), Ranks(2, 3, None, store=store)
    told.tell("x", "it")
    for each in (told, silent):
        store.set(gone(each.rank), "")
    assert Ranks(0, 3, None, store=store).heard("x", [1, 2]) == ["it", None]


def test_one_that_gives_no_sign_of_life_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "SILENT", 0.2)
    here = Ranks(0, 2, None)
    assert here.heard("x", [1]) == [None]


def test_one_that_gives_signs_of_life_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "SILENT", 0.1)

    class Alive(LocalStore):
        asked = 0

        def check(self, keys: list[str]) -> bool:
            if keys == ["x/1"]:
                self.asked += 1
                self.add("alive/1", 1)
                if self.asked == 20:
                    self.set("x/1/0", "at last")
                    self.set("x/1", "1")
            return super().check(keys)

    assert Ranks(0, 2, None, store=Alive()).heard("x", [1]) == ["at last"]


def test_a_process_without_a_step_of_work_gives_no_more_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signs, "BEAT", 0.01)
    monkeypatch.setattr(signs, "STUCK", 0.3)
    store = LocalStore()
    here = Ranks(1, 2, None, store=store, beat=signs.Beat(store, 1))
    assert until(lambda: store.add("alive/1", 0) > 2)
    time.sleep(0.4)
    still = store.add("alive/1", 0)
    time.sleep(0.1)
    assert store.add("alive/1", 0) == still
    here.step()
    assert until(lambda: store.add("alive/1", 0) > still)
    here.leave()
    assert store.check([gone(1)])


def _worker(rank: int, port: int, folder: str) -> None:
    told = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "MASTER_PORT": port}
    os.environ |= {name: str(value) for name, value in told.items()}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    for run in range(2):  # a second run in the same processes counts from the start
        here = ranks(2, "cpu")
        here.tell("here")
        here.heard("here")
        taken = []
        done = Path(folder, f"{run}-done")
        for number in here.take("stage", 12):
            taken.append(number)
            if rank:  # as slow as can be
                assert until(done.exists)
        if not rank:
            done.touch()
        here.tell("taken", f"{rank}:{len(taken)}")
        heard = here.heard("taken") if here.is_main else []
        Path(folder, f"{run}-{rank}").write_text(f"{taken}|{heard}")
        here.tell("done")
        if here.is_main:  # whose store it is
            here.heard("done")


def test_the_slow_one_of_two_processes_does_less(tmp_path: Path) -> None:
    in_two(_worker, tmp_path)
    for run in range(2):
        taken = [(tmp_path / f"{run}-{rank}").read_text().split("|")[0] for rank in range(2)]
        numbers = [[int(n) for n in text.strip("[]").split(", ") if n] for text in taken]
        assert sorted(numbers[0] + numbers[1]) == list(range(12))
        # what the slow one holds, and no more: all else is taken meanwhile
        assert len(numbers[1]) <= 1
        assert (tmp_path / f"{run}-0").read_text().endswith(f"['0:{len(numbers[0])}', '1:{len(numbers[1])}']")


def test_a_store_that_is_gone_is_a_failure() -> None:
    class Gone:
        def add(self, key: str, amount: int) -> int:
            raise RuntimeError("Broken pipe")

        def set(self, key: str, value: str) -> None:
            raise RuntimeError("Broken pipe")

        def get(self, key: str) -> bytes:
            raise RuntimeError("Broken pipe")

        def check(self, keys: list[str]) -> bool:
            raise RuntimeError("Broken pipe")

    here = Ranks(1, 2, None, None, Gone())
    for call in (lambda: list(here.take("a", 1)), lambda: here.tell("a", ""), lambda: here.heard("a")):
        with pytest.raises(Failure, match="another process of this run has ended"):
            call()
