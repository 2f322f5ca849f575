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
    """A stage that takes a while; knows how many were at it at a time.

    Args:
        seconds: that it takes.
        field: of the work, that it sets.
        fills: nobody leaves before so many were at it at a time.
    """

    def __init__(self, seconds: float, field: str, fills: int = 0) -> None:
        self.seconds, self.field, self.fills = seconds, field, fills
        self.now = self.most = self.count = 0

    async def __call__(self, work: Work) -> None:
        self.now += 1
        self.count += 1
        self.most = max(self.most, self.now)
        try:
            while self.most < self.fills:
                await anyio.sleep(0.001)
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
    first, second = Turn(0.01, "prompt", fills=8), Turn(0.01, "text", fills=3)
    kept = piped([(first, 8), (second, 3)], 24)
    assert len({work.record.id for work in kept}) == 24
    assert all(work.prompt == work.text == "done" for work in kept)
    assert (first.count, second.count) == (24, 24)
    assert (first.most, second.most) == (8, 3)


def test_a_slow_second_stage_holds_the_first_up() -> None:
    async def main() -> int:
        first, second = Turn(0, "prompt"), Turn(600, "text")
        drawn: list[int] = []

        async def keep(work: Work) -> None: ...

        pipeline = Pipeline([Busy(Stage("a", first), 5), Busy(Stage("b", second), 2)], keep, Redactor())
        async with anyio.create_task_group() as group:
            group.start_soon(pipeline.run, works(1000, drawn))
            with anyio.fail_after(60):
                while first.count < 7:
                    await anyio.sleep(0.001)
            await anyio.sleep(0.2)  # in which it could go on
            group.cancel_scope.cancel()
        # 2 are drawn on, 5 wait in hand; as many again lie ready
        assert first.count == 7
        return len(drawn)

    assert anyio.run(main) <= 14


def test_no_stage_waits_for_a_batch() -> None:
    order: list[int] = []

    async def uneven(work: Work) -> None:
        # the first takes as long as all others together
        while work.seed == 0 and len(order) < 39:
            await anyio.sleep(0.001)

    async def keep(work: Work) -> None:
        order.append(work.seed)

    async def main() -> None:
        stages = [Busy(Stage("a", uneven), 4), Busy(Stage("b", Turn(0, "text")), 4)]
        with anyio.fail_after(60):
            await Pipeline(stages, keep, Redactor()).run(works(40))

    anyio.run(main)
    assert sorted(order) == list(range(40))


def test_cancelled_it_keeps_what_was_answered_and_written() -> None:
    kept: list[Work] = []

    async def keep(work: Work) -> None:
        await anyio.sleep(0.01)
        kept.append(work)

    first, second = Turn(0.01, "prompt"), Turn(0.02, "text")
    pipeline = Pipeline([Busy(Stage("a", first), 4), Busy(Stage("b", second), 2)], keep, Redactor())

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(pipeline.run, works(1000))
            while len(kept) < 10:
                await anyio.sleep(0.005)
            group.cancel_scope.cancel()

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
