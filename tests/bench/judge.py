"""The judge behind a loopback server: its share of the server's rate, the cache, faults, kills, memory."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from collections.abc import Sequence
from pathlib import Path

from medgen_metrics.judge.cache import ReplyCache
from medgen_metrics.rows import Row
from medgen_scripts import result_file

from ..servers import kills
from ..servers import misbehaviour
from ..servers.openai_log import Seen
from ..servers.process import Served
from ..servers.process import served
from . import command

LATENCY, SLOTS = 2.0, 16
RATE = SLOTS / LATENCY
VIEWS = ("with_reference", "without_reference")
RECORDS, MANY = 400, 2000
FEW = 1000  # whose pictures already fill the cache of drawn pictures, which is bounded
KILLS = 20


def run() -> Iterator[str]:
    """Figures."""
    for part in (_rate, _cache_and_memory, _faults, _kills):
        with tempfile.TemporaryDirectory() as name:
            yield from part(Path(name))


def _judge(server: Served, cache: Path) -> tuple[object, ...]:
    named = ("--tiers", "judge", "--judge-url", server.url, "--judge-model", "stub-judge", "--view", "both")
    return (*named, "--judge-cache", cache, "--judge-concurrency", SLOTS)


def _asked(log: Sequence[Seen]) -> list[Seen]:
    """Requests for a verdict; one without an image asks what the server can."""
    return [seen for seen in log if seen.images]


def _rate(folder: Path) -> Iterator[str]:
    source = _made(folder / "made", RECORDS)
    few = ("--limit", SLOTS)
    with served(folder / "log", latency=LATENCY, slots=SLOTS) as server:
        # builds the data set's cache, and shows what a run costs that judges next to nothing
        idle = command.spent(command.score(source, folder / "idle", *_judge(server, folder / "idle-cache"), *few))
        before = len(server.log())
        full = command.spent(command.score(source, folder / "out", *_judge(server, folder / "cache")))
        log = _asked(server.log()[before:])
    begin = min(seen.received for seen in log if seen.in_flight >= SLOTS)
    end = max(seen.received for seen in log)
    share = sum(begin <= seen.answered < end for seen in log) / (end - begin) / RATE
    cpu = (full.cpu - idle.cpu) / (RECORDS - SLOTS)
    yield f"{RECORDS} records, both views, {SLOTS} slots, {LATENCY:g} s: {share:.1%} of slots/latency after ramp-up"
    ramp = begin - min(seen.received for seen in log)
    yield f"  ramp-up {ramp:.1f} s; CPU seconds a record {cpu:.3f} (three pictures, grey, 512x512, as PNG)"


def _cache_and_memory(folder: Path) -> Iterator[str]:
    peaks = {}
    with served(folder / "log") as server:
        for count in (FEW, MANY):
            source = _made(folder / str(count), count)
            judge = _judge(server, folder / f"cache-{count}")
            command.spent(command.score(source, folder / "first", *judge, "--limit", 1))  # the data set's cache
            peaks[count] = command.own_memory(command.score(source, folder / f"out-{count}", *judge))
        before = len(server.log())
        warm = command.spent(command.score(source, folder / "again", *judge))
        requests = len(server.log()) - before
    first = MANY * len(VIEWS) / RATE
    yield (
        f"{MANY:,} records again from the cache: {requests} requests, {warm.wall / first:.1%} of the first run's "
        f"{first:.0f} s at that rate"
    )
    ratio = f"{peaks[MANY] / peaks[FEW]:.2f} ({peaks[MANY] / 2**10:.0f} MB)"
    yield f"peak memory, pages of mapped files left out, {MANY:,} records / {FEW:,}: {ratio}"


def _faults(folder: Path) -> Iterator[str]:
    source = _made(folder / "made", RECORDS, size=128)
    with served(folder / "log", latency=0.1, slots=SLOTS, failing=0.2) as server:
        command.spent(command.score(source, folder / "out", *_judge(server, folder / "cache")))
        log = _asked(server.log())
    rows = _rows(folder / "out")
    verdicts = [(row, f"holistic_{view}") for row in rows for view in VIEWS]
    scored = sum(name in row.values for row, name in verdicts)
    unscored = sum(name in row.reasons for row, name in verdicts)
    both = sum(name in row.values and name in row.reasons for row, name in verdicts)
    failed = sum(seen.misbehaviour is not None for seen in log)
    replies = [seen for seen in log if seen.is_whole]
    tokens = sum(seen.prompt_tokens + seen.completion_tokens for seen in replies)
    told = {
        count: sum(row.values.get(f"{count}_{view}", 0) for row in rows for view in VIEWS)
        for count in ("requests", "prompt_tokens", "completion_tokens")
    }
    yield f"{failed} of {len(log)} replies failing, in {len(misbehaviour.RANDOM)} ways, {RECORDS} records, both views:"
    yield f"  verdicts {len(verdicts)}, scored {scored}, with a reason {unscored}, both at once {both}"
    yield f"  server's log: {sum(seen.is_good for seen in log)} good of {len(replies)} replies, {tokens} tokens"
    yield f"  result: {told['requests']:g} replies, {told['prompt_tokens'] + told['completion_tokens']:g} tokens"


def _kills(folder: Path) -> Iterator[str]:
    source = _made(folder / "made", RECORDS, size=128)
    out, cache = folder / "out", folder / "cache"
    equal = []
    with served(folder / "log", latency=0.2, slots=SLOTS) as server:
        judge = _judge(server, cache)
        command.spent(command.score(source, folder / "calm", *_judge(server, folder / "calm-cache")))
        calm = _rows(folder / "calm")

        def finished() -> None:
            equal.append(_rows(out) == calm)
            shutil.rmtree(out)
            shutil.rmtree(cache)

        rounds = kills.disturbed(
            lambda: command.start(command.score(source, out, *judge)).pid,
            server.answered,
            lambda: len(ReplyCache(cache)),
            finished,
            kills=KILLS,
            span=2.0,
            settle=0.5,
        )
        found = kills.account(rounds, server.log())
    yield (
        f"SIGKILL at {found.kills} random moments, {len(equal)} final results, {sum(equal)} equal to the undisturbed "
        f"one; kept replies asked again {found.repeated}; lost by a kill at most {found.lost} ({SLOTS} in flight)"
    )


def _made(folder: Path, count: int, size: int = 512) -> tuple[Path, Path]:
    """`made.write` in a process of its own: on Linux a child's peak memory counts from its parent's."""
    code = f"from tests.bench import made; made.write(Path({str(folder)!r}), {count}, {size}, unlike=True, grey=True)"
    subprocess.run([sys.executable, "-c", f"from pathlib import Path; {code}"], check=True, stderr=subprocess.DEVNULL)
    return folder / "data", folder / "mine"


def _rows(out: Path) -> list[Row]:
    rows = result_file.load(out / "results" / "mine.json").configs["edit"].rows
    return rows.tiers["judge"].unpack(len(rows.id))
