"""What a run says while it is under way: a bar at a terminal, a line a minute elsewhere."""

import sys
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic

from ..errors import Failure
from ..progress import progress
from ..terminal import say
from .store import Written

_EVERY = 60.0  # seconds between lines


class Teller:
    """Counts records as they end.

    Args:
        label: of the run.
        total: records.
        cost: dollars so far; None where unknown.
        advance: moves the bar.
    """

    def __init__(
        self, label: str, total: int, cost: Callable[[], float | None], advance: Callable[[str], None]
    ) -> None:
        self.done = 0
        self.kinds: Counter[str] = Counter()
        self._label = label
        self._total = total
        self._cost = cost
        self._advance = advance
        self._began = self._told = monotonic()

    def ended(self, kind: str | None) -> None:
        """A record has its row; `kind` is its failure's, None of an answer."""
        self.done += 1
        if kind is not None:
            self.kinds[kind] += 1
        self._advance(self.said)
        now = monotonic()
        if not sys.stderr.isatty() and now - self._told >= _EVERY:
            self._told = now
            rate = self.done / (now - self._began)
            left = (self._total - self.done) / rate / 60
            counts = f"{self.done:,}/{self._total:,}, {rate:.2g}/s, {left:.0f} min left"
            say(f"{self._label}: {counts}{self.said}")

    @property
    def answered(self) -> int:
        """Records that have an answer."""
        return self.done - sum(self.kinds.values())

    @property
    def said(self) -> str:
        """Failures and cost so far; empty where there are none."""
        cost = self._cost()
        failed = sum(self.kinds.values())
        return (f", {failed:,} failed" if failed else "") + (f", ${cost:,.2f}" if cost else "")


@contextmanager
def telling(label: str, total: int, cost: Callable[[], float | None]) -> Iterator[Teller]:
    """Tell of a run of `total` records until the block ends."""
    with progress(label, total) as advance:
        yield Teller(label, total, cost, lambda note: advance(1, note=note))


def tell_failed(path: Path, written: Written, remedy: str, *, may_fail: bool = True) -> None:
    """Say what of a finished file failed.

    Args:
        path: the file.
        written: what it holds.
        remedy: what tries them again.
        may_fail: whether nothing but failures is the run's own failure.

    Raises:
        Failure: nothing but failures came.
    """
    first = written.first_failed
    if first is None:
        return
    message = (
        f"{path}: {written.failed} of {written.rows} records failed, the first is {first['id']}: "
        f"{first['error']['kind']}: {first['error']['message']}; {remedy}"
    )
    if may_fail and written.failed == written.rows:
        raise Failure(message)
    say(message)
