"""The judge's tier against a server that fails, and killed at work; `make bench` has the same at length."""

import pickle
import subprocess
import sys
from pathlib import Path

from medgen_metrics.judge.rubric import VIEWS

from ...servers import kills
from ...servers import misbehaviour
from ...servers.openai_server import openai_server
from .judged import CONCURRENCY
from .judged import samples
from .judged import tier


def test_a_fifth_of_the_replies_failing() -> None:
    with openai_server(plan=misbehaviour.chance(0.2), slow=0.2) as server, tier(server.url) as judge:
        rows = judge.score(samples(30))
        everything = server.chats()
        log = [seen for seen in everything if seen.images]
    verdicts = [(row, f"holistic_{view}") for row in rows for view in VIEWS]
    assert len({seen.misbehaviour for seen in log}) > 6
    for row, name in verdicts:
        assert (name in row.values) != (name in row.reasons)
        assert row.reasons.get(name, "judge_failed") == "judge_failed"
    # none is asked for again once it is there, and none is taken from a reply that can't be read
    assert sum(name in row.values for row, name in verdicts) == sum(seen.is_good for seen in log)
    replies = [seen for seen in log if seen.is_whole]
    for count, expected in (
        ("requests", len(replies)),
        ("prompt_tokens", sum(seen.prompt_tokens for seen in replies)),
        ("completion_tokens", sum(seen.completion_tokens for seen in replies)),
    ):
        assert sum(row.values[f"{count}_{view}"] for row in rows for view in VIEWS) == expected
    # of all requests, the failed ones and the one that found out the reply format included
    assert judge.usage.requests == len(everything)


def test_killed_at_random_moments_and_run_again(tmp_path: Path) -> None:
    count, number = 16, 6
    log = tmp_path / "log"
    with openai_server(latency=0.02, slots=2, log_file=log) as server:
        with tier(server.url) as judge:
            calm = judge.score(samples(count))
        command = [sys.executable, "-m", "tests.metrics.judge.judged", server.url, str(log), str(tmp_path)]
        root = Path(__file__).resolve().parents[3]
        subprocess.run([*command, str(count), str(number), "0.3"], cwd=root, check=True, capture_output=True)
        rounds, ended = pickle.loads((tmp_path / "rounds").read_bytes())
        found = kills.account(rounds, server.log)
    assert ended
    assert all(rows == calm for rows in ended)
    assert (found.kills, found.repeated) == (number, 0)
    assert 0 < found.lost <= CONCURRENCY
    assert any(run.committed for each in rounds for run in each.runs if run.killed)
