"""The loop's thread: it ends with whoever holds it, survives a fork, and never waits for itself."""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading

import pytest

from medgen_metrics.serving.loop import LoopThread

from ...waiting import until

NAME = "loop-under-test"


def threads() -> int:
    return sum(thread.name == NAME for thread in threading.enumerate())


async def answer() -> int:
    await asyncio.sleep(0)
    return 42


def test_a_loop_that_nobody_holds_ends_after_its_last_words() -> None:
    said = threading.Event()

    async def last() -> None:
        said.set()

    loop = LoopThread(NAME, last)
    assert loop.run(answer()) == 42
    assert threads() == 1
    del loop
    gc.collect()
    assert said.wait(60)
    assert until(lambda: threads() == 0)


def test_a_closed_loop_starts_anew() -> None:
    loop = LoopThread(NAME)
    for _ in range(2):
        assert loop.run(answer()) == 42
        loop.close()
        assert threads() == 0
    loop.close()


def test_a_coroutine_on_the_loop_is_told_that_it_would_wait_for_itself() -> None:
    loop = LoopThread(NAME)

    async def outer() -> int:
        return loop.run(answer())

    with pytest.raises(RuntimeError, match="await it"):
        loop.run(outer())
    loop.close()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_a_loop_of_its_own() -> None:
    loop = LoopThread(NAME)
    loop.run(answer())
    child = os.fork()
    if child == 0:
        signal.alarm(60)  # a thread that the fork didn't copy would be waited for forever
        os._exit(0 if loop.run(answer()) == 42 else 1)
    assert os.waitpid(child, 0)[1] == 0
    loop.close()


ENDING = """
import asyncio, concurrent.futures.thread, gc
from medgen_metrics.serving.loop import LoopThread

async def last():
    await asyncio.to_thread(print)

loop = LoopThread("ending", last)
loop.run(asyncio.sleep(0))
thread = loop._thread
concurrent.futures.thread._python_exit()  # what Python does first when it ends
del loop
gc.collect()
thread.join(30)
print(thread.is_alive())
"""


def test_where_python_ends_first_nothing_is_said() -> None:
    """A judge in this process that nobody closed waits for its thread in another, which can't be started any more."""
    ended = subprocess.run([sys.executable, "-c", ENDING], capture_output=True, text=True, timeout=60)
    assert (ended.stdout, ended.stderr) == ("False\n", "")
