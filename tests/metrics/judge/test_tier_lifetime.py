"""A judge's tier in other people's programs: never closed, copied, forked, in training loops, several at once."""

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medgen_metrics.judge import asking
from medgen_metrics.judge.entry import Entry
from medgen_metrics.judge.samples import SampleJudge
from medgen_metrics.judge.specs import holistic
from medgen_metrics.judge.tier import JudgeTier
from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.faults import RunStopped

from ...builders import png
from ...servers.openai_server import OpenAIServer as Server
from ...servers.openai_server import openai_server
from ...waiting import until
from .test_tier import edit
from .test_tier import tier

WITH, WITHOUT = holistic("with_reference"), holistic("without_reference")


@pytest.fixture
def server() -> Iterator[Server]:
    with openai_server() as running:
        yield running


def judging() -> bool:
    """Whether a judge has a thread."""
    return any("judge" in thread.name for thread in threading.enumerate())


def files() -> int:
    """Open files."""
    return len(os.listdir("/proc/self/fd"))


def test_tiers_that_nobody_closes_leave_no_thread_no_file_and_no_connection(server: Server, tmp_path: Path) -> None:
    def one(number: int) -> None:
        tier(server, cache=tmp_path).score([edit(number)])

    one(0)
    gc.collect()
    assert until(lambda: not judging())
    before = files()
    for number in range(1, 5):
        one(number)
    gc.collect()
    assert until(lambda: not judging())
    assert until(lambda: files() <= before + 2)  # the server's side of a connection may close later
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".jsonl.lock")] == []


def test_a_program_that_never_closes_ends_without_a_word(server: Server, tmp_path: Path) -> None:
    script = (
        "import sys\nfrom tests.metrics.judge.test_tier import edit\nfrom medgen_metrics.judge.tier import JudgeTier\n"
        "judge = JudgeTier(model='stub-judge', url=sys.argv[1], cache=sys.argv[2])\n"
        "judge.score([edit(0), edit(1)])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "default::ResourceWarning", "-c", script, server.url, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert len(list(tmp_path.glob("*.jsonl"))) == 1
    assert not list(tmp_path.glob(".*.jsonl.lock"))


def test_a_used_tier_can_be_pickled_and_its_copy_asks_for_itself(server: Server) -> None:
    with tier(server) as judge:
        (row,) = judge.score([edit(10)])
        with pickle.loads(pickle.dumps(judge)) as copy:
            assert copy.definition == judge.definition
            assert copy.score([edit(10)])[0].values[WITH] == row.values[WITH]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_scores_with_connections_of_its_own(server: Server) -> None:
    with tier(server) as judge:
        (row,) = judge.score([edit(20)])
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            rows = judge.score([edit(20), edit(21)])
            os._exit(0 if rows[0] == row and WITH in rows[1].values else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert judge.score([edit(20)]) == [row]
        assert judge.score([edit(22)])[0].values[WITH]


def test_a_dry_run_scores_nothing_and_says_so(server: Server) -> None:
    with tier(server, dry_run=True) as judge, pytest.raises(ValueError, match="estimate"):
        judge.score([edit(30)])
    assert not server.log


def test_tiers_that_begin_together_find_out_the_reply_format_once(server: Server, tmp_path: Path) -> None:
    tiers = [tier(server, cache=tmp_path) for _ in range(4)]
    try:
        with ThreadPoolExecutor(4) as pool:
            definitions = list(pool.map(lambda judge: judge.definition, tiers))
    finally:
        for judge in tiers:
            judge.close()
    assert definitions == [definitions[0]] * 4
    assert len(server.chats()) == 1


def test_an_estimate_counts_what_would_be_asked_again(tmp_path: Path) -> None:
    with (
        openai_server(replies=lambda asked: "I can't.") as failing,
        tier(failing, cache=tmp_path, reply_format="json_schema") as judge,
    ):
        (row,) = judge.score([edit(40)])
        assert set(row.reasons.values()) == {"judge_failed"}
        assert judge.estimate([edit(40)]).requests == 2


def test_a_signature_says_which_reply_format_was_chosen(server: Server) -> None:
    with tier(server, reply_format="text") as one, tier(server, reply_format="json_object") as other:
        assert one.definition != other.definition
        assert one.signature != other.signature
        assert "stub-judge@stub(text)" in one.signature


def test_a_server_is_met_once_whatever_reply_format_was_chosen(server: Server, tmp_path: Path) -> None:
    for _ in range(2):
        with tier(server, cache=tmp_path, reply_format="json_object") as judge:
            judge.score([edit(130)])
    assert [entry.mode for entry in server.chats() if not entry.images] == ["json_object"]
    with (
        openai_server(modes=["text"]) as plain,
        tier(plain, reply_format="json_schema") as judge,
        pytest.raises(RunStopped, match="tiny request"),
    ):
        judge.score([edit(131)])


@pytest.mark.parametrize(
    "options",
    [
        {"url": "user:planted@host:8000/v1"},
        {"url": "http://user:planted@host/v1", "backend": "transformers"},
        {"jury": ["model@user:planted@host/v1"]},
        {"jury": ["model@http://user:planted@host:port/v1"]},
    ],
)
def test_bad_addresses_are_told_at_once_and_without_their_secrets(options: dict[str, object]) -> None:
    with pytest.raises(ValueError) as failure:
        JudgeTier(**options)  # type: ignore[arg-type]
    assert "planted" not in str(failure.value)


def test_a_price_that_is_missing_is_told_at_once(server: Server, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("other: {input: 1.0, output: 2.0}\n")
    with pytest.raises(ValueError, match="stub-judge"):
        tier(server, prices=prices)


def test_the_same_sample_in_another_batch_is_not_asked_again(server: Server, tmp_path: Path) -> None:
    judge = SampleJudge(model="stub-judge", url=server.url, cache=tmp_path)
    outputs = [png(50), png(51)]

    def score(order: list[int]) -> list[float]:
        rows = judge.score(
            predictions=[outputs[which] for which in order],
            references=[png(52)] * len(order),
            inputs=[png(53)] * len(order),
            instructions=["Remove the noise."] * len(order),
            tasks=["noise-reconstruction"] * len(order),
        )
        return [row.values[WITH] for row in rows]

    first = score([0, 1])
    asked = len(server.log)
    assert score([1, 0]) == first[::-1]
    assert score([1]) == first[1:]
    assert len(server.log) == asked
    judge.close()


def test_of_a_file_that_is_there_and_cannot_be_read_the_reason_is_not_that_it_is_missing(
    server: Server, tmp_path: Path
) -> None:
    with SampleJudge(model="stub-judge", url=server.url) as judge:
        rows = judge.score(
            predictions=[tmp_path, tmp_path / "none.png", []],
            references=[png(60)] * 3,
            inputs=[png(61)] * 3,
            instructions=["Remove the noise."] * 3,
            tasks=["noise-reconstruction"] * 3,
        )
    assert [row.reasons[WITH] for row in rows] == ["unreadable", "missing", "missing"]


def test_rows_say_what_the_system_saw_of_several_images(server: Server) -> None:
    asked = edit(70, config="vqa", task="multi-image-vqa", inputs=(png(70), png(71)), answer="B", response="B")
    with tier(server) as judge:
        rows = judge.score([edit(70, **{**_fields(asked), "saw_sheet": saw}) for saw in (True, False, None)])
    assert [row.flags for row in rows] == [("system_saw_sheet",), ("system_saw_images",), ()]


def _fields(sample: object) -> dict[str, object]:
    names = ("config", "task", "inputs", "answer", "response")
    return {**{name: getattr(sample, name) for name in names}, "reference_image": None, "output_image": None}


def test_a_mean_over_fewer_verdicts_than_were_drawn_is_counted() -> None:
    with (
        openai_server(replies=lambda asked: "I can't." if asked.body["seed"] == 0 else None) as flaky,
        tier(flaky, samples=3, views=["with_reference"], reply_format="json_schema") as judge,
    ):
        (row,) = judge.score([edit(80)])
    assert WITH in row.values
    assert row.values["requests_with_reference"] == 3 + 2
    assert row.flags == ("fewer_verdicts_with_reference",)


def test_a_judge_in_this_process_keeps_to_the_budget(tiny_judge: Path) -> None:
    options = {"max_requests": 1, "max_tokens": 4, "views": ["with_reference"]}
    judge = JudgeTier(model=str(tiny_judge), backend="transformers", **options)  # type: ignore[arg-type]
    with judge, pytest.raises(BudgetExhausted):
        judge.score([edit(90), edit(91)])
    assert judge.usage.requests == 1


def test_without_weights_what_does_not_apply_is_not_counted(tmp_path: Path) -> None:
    with JudgeTier(model="nobody/nothing", backend="transformers", protocol="standard", offline=True) as judge:
        (row,) = judge.score([edit(95)])
    assert set(row.reasons.values()) == {"weights_missing"}
    assert "cross_modal_consistency_with_reference" not in row.reasons


def test_many_verdicts_a_sample_are_not_all_prepared_at_once(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    running, peak = 0, 0
    ask = asking.judge_once

    async def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        try:
            return await ask(*args, **kwargs)
        finally:
            running -= 1

    monkeypatch.setattr(asking, "judge_once", counted)
    with tier(server, samples=8, concurrency=2) as judge:
        judge.score([edit(100), edit(101), edit(102)])
    assert 2 <= peak <= 4


def test_a_judge_that_changed_since_the_signature_was_made_is_told(server: Server, tmp_path: Path) -> None:
    with tier(server, cache=tmp_path) as judge:
        judge.score([edit(110)])
        assert judge.fingerprint_changes() == []
    (kept,) = tmp_path.glob("*.jsonl")
    fact, *replies = kept.read_text().splitlines(keepends=True)
    assert '"fact"' in fact
    kept.write_text(fact.replace('"fingerprint": "stub"', '"fingerprint": "earlier"') + "".join(replies))
    with tier(server, cache=tmp_path) as judge:
        judge.score([edit(110)])
        assert "@earlier(" in judge.signature
        (said,) = judge.fingerprint_changes()
    assert "earlier" in said
    assert "stub" in said


def test_an_imported_reply_with_odd_usage_is_a_verdict_all_the_same(server: Server, tmp_path: Path) -> None:
    with tier(server, cache=tmp_path, views=["with_reference"]) as judge:
        (row,) = judge.score([edit(120)])
    (kept,) = tmp_path.glob("*.jsonl")
    lines = kept.read_text().splitlines()
    entry = Entry.from_json(lines[1])
    odd = replace(entry, usage={"requests": "many", "prompt_tokens": None, "images": 2.0})
    kept.write_text(f"{lines[0]}\n{odd.to_json()}\n")
    with tier(server, cache=tmp_path, views=["with_reference"]) as judge:
        (again,) = judge.score([edit(120)])
    assert again.values[WITH] == row.values[WITH]
    assert again.values["requests_with_reference"] == 0


def test_deep_images_as_datasets_decodes_them_are_judged(server: Server, tmp_path: Path) -> None:
    deep = Image.fromarray(np.arange(64 * 64, dtype=np.uint16).reshape(64, 64) * 16)
    assert deep.mode == "I;16"
    deep.save(tmp_path / "deep.png")
    with SampleJudge(model="stub-judge", url=server.url, views=["with_reference"]) as judge:
        rows = judge.score(
            predictions=[deep, tmp_path / "deep.png"],
            references=[deep, tmp_path / "deep.png"],
            inputs=[deep, tmp_path / "deep.png"],
            instructions=["Remove the noise."] * 2,
            tasks=["noise-reconstruction"] * 2,
        )
    assert [row.reasons for row in rows] == [{}, {}]
    shown = [entry.images for entry in server.chats() if entry.images]
    assert len(shown) == 2
    assert shown[0] == shown[1]
