"""How samples become verdicts: prompts, the cache, the judges, all of it at once and within bounds."""

import logging
import sys
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from typing import NamedTuple
from typing import TypeVar

import anyio
import anyio.to_thread

from ..failures import Unscored
from ..serving.budget import Budget
from ..serving.budget import BudgetExhausted
from ..serving.usage import Usage
from ..serving.usage import estimate
from ..signature import digest
from .backend import Found
from .connected import Connected
from .entry import UNUSABLE
from .entry import Entry
from .entry import asked
from .entry import key_of
from .judges import Asking
from .judges import Judge
from .once import judge_once
from .prompt import JudgeSample
from .prompt import Prompt
from .prompt import build
from .rubric import Rubric
from .verdict import Unusable
from .verdict import read_verdict

if sys.version_info < (3, 11):
    from exceptiongroup import BaseExceptionGroup  # which anyio brings there

Tag = TypeVar("Tag")
Wanted = tuple[str, int, int]  # view, number of the verdict, seed
logger = logging.getLogger(__name__)


class _Room(NamedTuple):
    """Places for twice the requests in flight: prompts are made while others are waited for.

    Of samples, so that few are in memory; of a judge's requests, since a sample may be asked about many times.
    """

    samples: anyio.Semaphore
    requests: Mapping[str, anyio.Semaphore]


class Asker:
    """Asks judges, through a cache; see `tier.JudgeTier` for what the arguments mean."""

    def __init__(
        self,
        judges: Sequence[Judge],
        rubric: Rubric,
        asking: Asking,
        *,
        cache: Path | None,
        budget: Budget,
        dry_run: bool = False,
    ) -> None:
        self.judges = judges
        self.rubric = rubric
        self.asking = asking
        self.connected = Connected(judges, asking, cache, budget, dry_run=dry_run)
        self._budget = budget
        self._fingerprints: dict[str, set[str]] = {}
        self._spent: BudgetExhausted | None = None
        self._told: set[tuple[str, str]] = set()

    @property
    def usage(self) -> Usage:
        """Of all requests, those that failed and those that found out the reply format included."""
        return self._budget.used

    @property
    def fingerprints(self) -> Mapping[str, frozenset[str]]:
        """Judge -> fingerprints that came with the replies that were used."""
        return {judge: frozenset(found) for judge, found in self._fingerprints.items()}

    def estimate(self, samples: Iterable[JudgeSample], wanted: Callable[[JudgeSample], Sequence[Wanted]]) -> Usage:
        """What asking for what is wanted of samples would take at most, beyond what the cache holds; asks nothing."""
        total = Usage()
        for sample in samples:
            for judge in self.judges:
                for item in wanted(sample):
                    try:
                        prompt, what = self._asked(sample, judge, *item)
                        if self.connected.cache.has_usable(key_of(what)):
                            continue
                        found = estimate(prompt.messages, self.asking.max_tokens)
                    except Unscored:
                        continue
                    total += self._budget.price(found, judge.name)
        return total

    # --- samples ----------------------------------------------------------------------------------------------------

    def stream(
        self,
        samples: Iterable[tuple[Tag, JudgeSample]],
        wanted: Callable[[JudgeSample], Sequence[Wanted]],
        on_found: Callable[[Tag, JudgeSample, Sequence[Found]], None],
        *,
        fresh: bool = False,
    ) -> None:
        """Ask for the verdicts that are wanted of each sample, and hand over what came, in any order.

        Args:
            samples: drawn as there is room.
            wanted: what to ask of a sample of each judge; nothing is an answer too.
            on_found: called when all of a sample is there; found in the order of judges, views and numbers.
            fresh: ask past the cache, and don't keep the replies.

        Raises:
            As `tier.JudgeTier.score`.
        """
        if self.connected.dry_run:
            raise ValueError("dry_run: nothing is asked, so that nothing can be scored; `estimate` says what would be")
        self.connected.own()
        for judge in self.judges:
            self.connected.mode(judge)
        self._spent = None
        try:
            self.connected.run(self._stream(samples, wanted, on_found, fresh))
        except BaseExceptionGroup as group:
            raise _first(group) from None
        if self._spent is not None:
            raise self._spent

    async def _stream(self, samples: Any, wanted: Any, on_found: Any, fresh: bool) -> None:
        places = 2 * self.asking.concurrency
        room = _Room(anyio.Semaphore(places), {judge.name: anyio.Semaphore(places) for judge in self.judges})
        iterator = iter(samples)
        async with anyio.create_task_group() as group:
            while self._spent is None:
                await room.samples.acquire()
                drawn = await anyio.to_thread.run_sync(next, iterator, None)
                if drawn is None:
                    break
                group.start_soon(self._sample, drawn[0], drawn[1], wanted(drawn[1]), on_found, fresh, room)

    async def _sample(
        self, tag: Any, sample: JudgeSample, wanted: Sequence[Wanted], on_found: Any, fresh: bool, room: "_Room"
    ) -> None:
        todo = [(judge, *item) for judge in self.judges for item in wanted]
        found: list[Found | None] = [None] * len(todo)

        async def one(place: int) -> None:
            try:
                async with room.requests[todo[place][0].name]:
                    found[place] = await self._found(sample, *todo[place], fresh)
            except BudgetExhausted as error:
                # What is in flight comes to its end, and nothing new begins.
                self._spent = error

        try:
            async with anyio.create_task_group() as group:
                for place in range(len(todo)):
                    group.start_soon(one, place)
            whole = [item for item in found if item is not None]
            if len(whole) == len(todo):
                on_found(tag, sample, whole)
        finally:
            room.samples.release()

    async def _found(self, sample: JudgeSample, judge: Judge, view: str, number: int, seed: int, fresh: bool) -> Found:
        try:
            prompt, what = await anyio.to_thread.run_sync(self._asked, sample, judge, view, number, seed)
        except Unscored as error:
            return Found(judge.name, view, number, reason=error.reason)

        async def ask() -> Entry:
            return await self._ask(sample, judge, view, seed, prompt, what)

        try:
            if fresh:
                entry = await ask()
            else:
                entry = await self.connected.cache.get_or_ask(key_of(what), ask, usable=True)
        except Unscored as error:
            return Found(judge.name, view, number, reason=error.reason)
        except _NoReply as error:
            self._tell(judge, *error.args)
            return Found(judge.name, view, number)
        return self._read(entry, sample, judge, view, number)

    def _asked(
        self, sample: JudgeSample, judge: Judge, view: str, number: int, seed: int
    ) -> tuple[Prompt, dict[str, Any]]:
        prompt = build(
            sample, self.rubric, view, image_side=self.asking.image_side, image_format=self.asking.image_format
        )
        what = asked(
            prompt.identity,
            model=judge.name,
            mode=self.connected.mode(judge),
            params={
                "temperature": self.asking.temperature,
                "seed": seed,
                "max_tokens": self.asking.max_tokens,
                "revision": judge.revision,
            },
            rubric_digest=self.rubric.digest,
            schema_digest=digest(self.rubric.schema(sample.config, sample.task, view)),
            sample=number,
        )
        return prompt, what

    async def _ask(
        self, sample: JudgeSample, judge: Judge, view: str, seed: int, prompt: Prompt, what: Mapping[str, Any]
    ) -> Entry:
        outcome = await judge_once(
            self.connected.backend(judge),
            prompt,
            self.rubric,
            sample,
            view,
            temperature=self.asking.temperature,
            seed=seed,
            max_tokens=self.asking.max_tokens,
        )
        if not outcome.replies:
            raise _NoReply(str(outcome.kind), outcome.message)
        if outcome.verdict is None:
            said = f"no verdict could be read from a reply ({outcome.kind}): {outcome.message}"
            self._tell(judge, str(outcome.kind), said)
        meta: dict[str, Any] = {} if outcome.verdict is not None else {UNUSABLE: outcome.kind}
        earlier = [reply.text for reply in outcome.replies[:-1]]
        meta |= {"record": sample.id, "view": view, "earlier": earlier}
        return Entry.of(what, outcome.replies[-1], outcome.usage, meta)

    def _read(self, entry: Entry, sample: JudgeSample, judge: Judge, view: str, number: int) -> Found:
        usage = Usage.read(entry.usage)
        if entry.unusable:
            return Found(judge.name, view, number, usage=usage)
        try:
            verdict = read_verdict(
                entry.text,
                self.rubric,
                sample.config,
                sample.task,
                view,
                finish_reason=entry.finish_reason,
                response=sample.response,
            )
        except Unusable as error:
            # An entry of before, under another reading; or one that a lab's export brought.
            self._tell(judge, "cached", f"a reply in the cache can't be read ({error.kind}); prune it to ask anew")
            return Found(judge.name, view, number, usage=usage)
        if entry.fingerprint:
            self._fingerprints.setdefault(judge.name, set()).add(entry.fingerprint)
        return Found(judge.name, view, number, verdict, usage=usage, repaired=verdict.repaired)

    def _tell(self, judge: Judge, kind: str, message: str) -> None:
        # Of a thousand records that fail in one way the first says enough; the result counts them.
        if (judge.name, kind) not in self._told:
            self._told.add((judge.name, kind))
            logger.warning("%s: %s (others of the kind are counted, not told)", judge.name, message)


class _NoReply(Exception):
    """A request that brought no reply after all attempts; its kind, and what happened."""


def _first(group: "BaseExceptionGroup[BaseException]") -> BaseException:
    """The error that ended a group; the others are cancellations that it caused."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
