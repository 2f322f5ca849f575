from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from medgen_metrics.serving.redact import Redactor
from medgen_scripts.records import Record
from medgen_scripts.running.pipeline import Busy
from medgen_scripts.running.pipeline import Pipeline
from medgen_scripts.running.stages import Stage
from medgen_scripts.running.work import Work


def works(count: int, drawn: list[int] | None = None) -> Iterator[Work]:
    for number in range(count):
        if drawn is not None:
            drawn.append(number)
        yield Work(Record(f"r{number}", "", "", None, "", "", (), (), (), None, None, ""), number)


class Turn:
    """A stage that takes a while; knows how many were at it at a time."""

    def __init__(self, seconds: float, field: str) -> None:
        self.seconds, self.field = seconds, field
        self.now = self.most = self.count = 0

    async def __call__(self, work: Work) -> None:
        self.now += 1
        self.count += 1
        self.most = max(self.most, self.now)
        try:
            await anyio.sleep(self.seconds)
        finally:
            self.now -= 1
        setattr(work, self.field, "done")


def piped(turns: list[tuple[Turn, int]], count: int, drawn: list[int] | None = None) -> list[Work]:
    kept: list[Work] = []

    async def keep(work: Work) -> None:
        kept.append(work)

    stages = [Busy(Stage(str(number), turn), limit) for number, (turn, limit) in enumerate(turns)]
    anyio.run(Pipeline(stages, keep, Redactor()).run, works(count, drawn))
    return kept


def test_every_record_passes_every_stage_within_its_limit() -> None:
    first, second = Turn(0.15, "prompt"), Turn(0.15, "text")
    kept = piped([(first, 8), (second, 3)], 24)
    assert len({work.record.id for work in kept}) == 24
    assert all(work.prompt == work.text == "done" for work in kept)
    assert (first.count, second.count) == (24, 24)
    assert (first.most, second.most) == (8, 3)


def test_a_slow_second_stage_holds_the_first_up() -> None:
    async def main() -> int:
        first, second = Turn(0, "prompt"), Turn(5, "text")
        drawn: list[int] = []

        async def keep(work: Work) -> None: ...

        pipeline = Pipeline([Busy(Stage("a", first), 5), Busy(Stage("b", second), 2)], keep, Redactor())
        with anyio.move_on_after(0.8):
            await pipeline.run(works(1000, drawn))
        # 2 are drawn on, 5 wait in hand; as many again lie ready
        assert first.count == 7
        return len(drawn)

    assert anyio.run(main) <= 14


def test_no_stage_waits_for_a_batch() -> None:
    slow = {0}

    class Uneven(Turn):
        async def __call__(self, work: Work) -> None:
            self.seconds = 0.3 if work.seed in slow else 0.0
            await super().__call__(work)

    order: list[int] = []

    async def keep(work: Work) -> None:
        order.append(work.seed)

    stages = [Busy(Stage("a", Uneven(0, "prompt")), 4), Busy(Stage("b", Turn(0, "text")), 4)]
    anyio.run(Pipeline(stages, keep, Redactor()).run, works(40))
    assert order[-1] == 0
    assert sorted(order) == list(range(40))


def test_cancelled_it_keeps_what_was_answered_and_written() -> None:
    kept: list[Work] = []

    async def keep(work: Work) -> None:
        await anyio.sleep(0.01)
        kept.append(work)

    first, second = Turn(0.01, "prompt"), Turn(0.02, "text")
    pipeline = Pipeline([Busy(Stage("a", first), 4), Busy(Stage("b", second), 2)], keep, Redactor())

    async def main() -> None:
        with anyio.move_on_after(0.8):
            await pipeline.run(works(1000))

    anyio.run(main)
    answered = [work for work in kept if not work.stopped]
    drafts = [work for work in kept if work.stopped and work.prompt]
    assert len(answered) == sum(work.text == "done" for work in kept) > 5
    # nothing that a first model wrote is lost
    assert len(answered) + len(drafts) == first.count - sum(work.stopped and not work.prompt for work in kept)
    assert drafts


def test_what_the_keeper_raises_ends_the_run_as_it_is() -> None:
    async def keep(work: Work) -> None:
        raise OSError("no room")

    pipeline = Pipeline([Busy(Stage("a", Turn(0, "text")), 4)], keep, Redactor())
    with pytest.raises(OSError, match="no room"):
        anyio.run(pipeline.run, works(100))


def test_what_the_source_raises_ends_the_run_as_it_is() -> None:
    def source() -> Iterator[Work]:
        yield from works(3)
        raise ValueError("a damaged record")

    async def keep(work: Work) -> None: ...

    pipeline = Pipeline([Busy(Stage("a", Turn(0, "text")), 4)], keep, Redactor())
    with pytest.raises(ValueError, match="a damaged record"):
        anyio.run(pipeline.run, source())


def test_secrets_are_masked_in_failures() -> None:
    kept: list[Any] = []

    async def keep(work: Work) -> None:
        kept.append(work.error)

    async def turn(work: Work) -> None:
        raise RuntimeError("sent hush-hush-hush to them")

    pipeline = Pipeline([Busy(Stage("a", turn), 1)], keep, Redactor(["hush-hush-hush"]))
    anyio.run(pipeline.run, works(1))
    assert kept == [{"kind": "RuntimeError", "message": "sent *** to them", "attempts": 1}]
