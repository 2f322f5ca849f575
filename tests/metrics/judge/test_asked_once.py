"""Of identical requests at the same time one is sent."""

import asyncio
from pathlib import Path

from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.judge.entry import Entry

from .entries import entry


class Judge:
    """Answers when it is let; counts."""

    def __init__(self, *texts: str, unusable: str | None = None) -> None:
        self.texts = list(texts or ["five"])
        self.unusable = unusable
        self.asked = 0
        self.ended = 0
        self.go = asyncio.Event()

    async def __call__(self) -> Entry:
        self.asked += 1
        await self.go.wait()
        self.ended += 1
        return entry(1, self.texts.pop(0), unusable=self.unusable)


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_identical_requests_in_flight_are_sent_once(tmp_path: Path) -> None:
    async def main() -> None:
        judge, cache = Judge(), ReplyCache(tmp_path)
        tasks = [asyncio.create_task(cache.get_or_ask(entry(1).key, judge)) for _ in range(5)]
        await settle()
        judge.go.set()
        assert {item.text for item in await asyncio.gather(*tasks)} == {"five"}
        assert (await cache.get_or_ask(entry(1).key, judge)).text == "five"
        assert judge.asked == 1

    asyncio.run(main())
    assert len(ReplyCache(tmp_path)) == 1


def test_whoever_is_cancelled_takes_the_reply_from_nobody(tmp_path: Path) -> None:
    async def main() -> None:
        judge, cache = Judge(), ReplyCache(tmp_path)
        first, second = (asyncio.create_task(cache.get_or_ask(entry(1).key, judge)) for _ in range(2))
        await settle()
        first.cancel()
        await settle()
        judge.go.set()
        assert (await second).text == "five"
        assert first.cancelled()
        assert judge.asked == 1

    asyncio.run(main())


def test_a_request_that_nobody_waits_for_is_ended_and_can_be_sent_again(tmp_path: Path) -> None:
    async def main() -> None:
        judge, cache = Judge(), ReplyCache(tmp_path)
        tasks = [asyncio.create_task(cache.get_or_ask(entry(1).key, judge)) for _ in range(2)]
        await settle()
        for task in tasks:
            task.cancel()
        late = asyncio.create_task(cache.get_or_ask(entry(1).key, judge))
        await settle()
        judge.go.set()
        assert (await late).text == "five"
        await settle()
        assert judge.ended == 1

    asyncio.run(main())


def test_an_error_reaches_all_who_wait_and_is_not_kept(tmp_path: Path) -> None:
    async def main() -> None:
        cache = ReplyCache(tmp_path)
        asked = []

        async def fail() -> Entry:
            asked.append(1)
            await asyncio.sleep(0)
            raise ConnectionError("gone")

        found = await asyncio.gather(*(cache.get_or_ask(entry(1).key, fail) for _ in range(3)), return_exceptions=True)
        assert [type(item) for item in found] == [ConnectionError] * 3
        assert len(asked) == 1
        judge = Judge()
        judge.go.set()
        assert (await cache.get_or_ask(entry(1).key, judge)).text == "five"

    asyncio.run(main())


def test_an_unusable_reply_is_asked_for_again_where_a_usable_one_is_wanted(tmp_path: Path) -> None:
    async def main() -> None:
        cache = ReplyCache(tmp_path)
        refusing, judge = Judge("sorry", unusable="refusal"), Judge("five")
        refusing.go.set()
        judge.go.set()
        assert (await cache.get_or_ask(entry(1).key, refusing, usable=True)).text == "sorry"
        assert (await cache.get_or_ask(entry(1).key, judge)).text == "sorry"
        assert judge.asked == 0
        assert (await cache.get_or_ask(entry(1).key, judge, usable=True)).text == "five"
        assert (await cache.get_or_ask(entry(1).key, judge, usable=True)).text == "five"
        assert (refusing.asked, judge.asked) == (1, 1)

    asyncio.run(main())
