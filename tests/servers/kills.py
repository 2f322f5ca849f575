"""Kills a client of the loopback model server at random moments, and holds its cache against the server's log."""

import os
import random
import signal
import time
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field

from .openai_log import Seen


@dataclass(frozen=True)
class Run:
    """One run of the client, from its start until the server had nothing of it any more (monotonic clock).

    Attributes:
        committed: replies in its cache at the end.
        killed: False for the run that came to its end.
    """

    start: float
    end: float
    committed: int
    killed: bool


@dataclass
class Round:
    """Runs on one cache, which was empty at the start; the last one came to its end."""

    runs: list[Run] = field(default_factory=list)


@dataclass(frozen=True)
class Account:
    """What kills cost.

    Attributes:
        kills: runs that were killed at work.
        lost: requests, the most of a killed run, that had been sent and weren't in the cache.
        repeated: requests that were sent though the reply was in the cache: none, if all is well.
    """

    kills: int
    lost: int
    repeated: int


def disturbed(
    start: Callable[[], int],
    working: Callable[[float], bool],
    committed: Callable[[], int],
    finished: Callable[[], None],
    *,
    kills: int,
    span: float,
    settle: float,
    seed: int = 0,
) -> list[Round]:
    """Start and kill until so many were killed; a run that ends by itself ends a round.

    Args:
        start: starts a run and gives its process id.
        working: whether a run that began at this moment has had a reply.
        committed: number of replies in the cache.
        finished: called after each round; looks at the result and empties the cache.
        kills: how many.
        span: a kill comes so many seconds at most after the first reply.
        settle: seconds after which the server has noticed that its client is gone.
        seed: of the moments.

    Raises:
        RuntimeError: a run ended badly by itself.
    """
    moments = random.Random(seed)
    rounds = [Round()]
    killed = 0
    while killed < kills or rounds[-1].runs:
        begun = time.monotonic()
        child = start()
        status = None
        while status is None and not working(begun):
            status = _ended(child)
            time.sleep(0.005)
        until = time.monotonic() + moments.uniform(0, span) if killed < kills else float("inf")
        while status is None and time.monotonic() < until:
            status = _ended(child)
            time.sleep(0.002)
        is_killed = status is None
        if is_killed:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            killed += 1
        elif status:
            raise RuntimeError(f"the client ended with status {status}")
        time.sleep(settle)
        rounds[-1].runs.append(Run(begun, time.monotonic(), committed(), is_killed))
        if not is_killed:
            finished()
            rounds.append(Round())
    return rounds[:-1]


def _ended(child: int) -> int | None:
    found, status = os.waitpid(child, os.WNOHANG)
    return status if found else None


def account(rounds: Sequence[Round], log: Sequence[Seen]) -> Account:
    """What the server's log says about the runs.

    Each committed reply is of another request, so a run that asks nothing twice asks, in what is left of its round, as
    many different requests as the cache lacks.
    """
    kills = lost = repeated = 0
    for each in rounds:
        # a request without an image asks what the server can, and for no verdict
        sent = [seen for seen in log if seen.images]
        asked = [{seen.digest for seen in sent if run.start <= seen.received < run.end} for run in each.runs]
        total = each.runs[-1].committed
        before = 0
        for number, run in enumerate(each.runs):
            later = set().union(*asked[number + 1 :])
            repeated += len(later) - (total - run.committed)
            if run.killed:
                kills += 1
                lost = max(lost, len(asked[number]) - (run.committed - before))
            before = run.committed
    return Account(kills, lost, repeated)
