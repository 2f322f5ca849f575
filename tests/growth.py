"""How a function's time grows with its input: holds on a slow or busy machine, where a bound in seconds does not."""

import gc
import time
from collections.abc import Callable

STEPS = 8
# eight times the input takes 8 times as long if the work is linear and 64 times if it is quadratic
ALLOWED = 24.0
# what a call costs whatever its input, and the clock's own grain
SECONDS = 0.05
TRIES = 3


def assert_linear(work: Callable[[str], object], unit: str, times: int, *, head: str = "", tail: str = "") -> None:
    """Holds `work` on `times` times `unit` to at most 24 times what it takes on an eighth of them.

    `head` stands before them and `tail` behind. The time is this thread's own, without garbage collection, whose cost
    is that of what other tests left. A pair of timings that another process disturbed is taken again.
    """
    ratios = []
    for _ in range(TRIES):
        some = _seconds(work, head + unit * (times // STEPS) + tail)
        all_of_it = _seconds(work, head + unit * times + tail)
        ratios.append(max(0.0, all_of_it - SECONDS) / max(some, 1e-9))
        if ratios[-1] <= ALLOWED:
            return
    found = ", ".join(f"{ratio:.0f}" for ratio in ratios)
    raise AssertionError(f"{unit!r}: {STEPS} times the text takes {found} times as long")


def _seconds(work: Callable[[str], object], text: str) -> float:
    collecting = gc.isenabled()
    gc.disable()
    try:
        start = time.thread_time()
        work(text)
        return time.thread_time() - start
    finally:
        if collecting:
            gc.enable()
