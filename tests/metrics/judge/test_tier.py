"""The judge's tier over a loopback server: rows, failures, the cache, samples, juries, budgets, interrupts."""

import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.specs import holistic
from medgen_metrics.judge.specs import specs
from medgen_metrics.judge.tier import JudgeTier
from medgen_metrics.rows import summarise
from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.faults import RunStopped

from ...builders import png
from ...servers.openai_server import OpenAIServer as Server
from ...servers.openai_server import openai_server
from ...waiting import until

WITH, WITHOUT = holistic("with_reference"), holistic("without_reference")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with openai_server() as running:
        yield running


def edit(number: int = 0, **changes: Any) -> JudgeSample:
    made = JudgeSample(
        id=f"edit-{number}",
        config="edit",
        task="noise-reconstruction",
        instruction=f"Remove the noise ({number}).",
        inputs=(png(number),),
        reference_image=png(number + 100),
        output_image=png(number + 200),
    )
    return replace(made, **changes)


def gen(number: int = 0) -> JudgeSample:
    return edit(
        number, id=f"gen-{number}", config="gen", task="organic-removal", answer="Gone.", response="It is gone."
    )


def tier(server: Server, **options: Any) -> JudgeTier:
    return JudgeTier(model="stub-judge", url=server.url, **options)


def requests(server: Server) -> int:
    return sum(bool(entry.images) for entry in server.log)


def test_a_row_holds_both_views_with_their_dimensions_and_what_they_took(server: Server) -> None:
    with tier(server) as judge:
        (row,) = judge.score([edit()])
        assert set(row.values) <= set(judge.columns)
        for view in judge.views:
            assert 1 <= row.values[holistic(view)] <= 5
            assert row.values[f"requests_{view}"] == 1
            assert row.values[f"prompt_tokens_{view}"] > 0
            assert all(f"{name}_{view}" in row.values for name in judge.rubric.names)
        assert not row.reasons
        assert summarise([row], judge.specs)["metrics"][WITH]["requests"] == 1
        assert "stub-judge@stub(json_schema)" in judge.signature


def test_in_layout_standard_a_dimension_that_does_not_apply_is_no_number(server: Server) -> None:
    with tier(server, protocol="standard") as judge:
        edited, generated = judge.score([edit(), gen()])
    name = "cross_modal_consistency_with_reference"
    assert name not in edited.values
    assert name not in edited.reasons
    assert name in generated.values
    scores = [edited.values[f"{key}_with_reference"] for key in judge.rubric.names if f"{key}_with_reference" != name]
    assert edited.values["dimensions_with_reference"] == pytest.approx(sum(scores) / len(scores))


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (edit(output_image=None), "missing"),
        (edit(output_image=b"not a picture"), "not_an_image"),
        (edit(output_image=png(1)[:60]), "unreadable"),
        (edit(reference_image=b"\x89PNG\r\n\x1a\n"), "reference_missing"),
        (replace(gen(), response=None), "missing"),
        (replace(gen(), response="VLM Error: no quota"), "error_text"),
        (replace(gen(), response=" \n"), "empty"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_shown_is_unscored_and_never_sent(server: Server, sample: JudgeSample, reason: str) -> None:
    before = requests(server)
    with tier(server) as judge:
        (row,) = judge.score([sample])
    assert requests(server) == before
    assert not row.values
    assert set(row.reasons.values()) == {reason}
    assert {WITH, WITHOUT} <= set(row.reasons)


def test_a_picture_that_only_one_view_shows_leaves_the_other_scored(server: Server) -> None:
    # layout paper hides the input where it shows the reference
    with tier(server) as judge:
        (row,) = judge.score([edit(inputs=(b"",))])
    assert WITH in row.values
    assert WITHOUT not in row.values
    assert row.reasons[WITHOUT] == "reference_missing"
    assert WITH not in row.reasons


def test_nothing_answered_is_asked_twice(server: Server, tmp_path: Path) -> None:
    samples = [edit(number) for number in range(20, 26)] + [edit(20)]
    start = len(server.log)
    with tier(server, cache=tmp_path) as judge:
        first = judge.score(samples)
    before = len(server.log)
    with tier(server, cache=tmp_path) as judge:
        again = judge.score(samples)
        assert judge.definition == tier(server, cache=tmp_path).definition
    assert len(server.log) == before, "a probe or a verdict was asked for again"
    assert [row.values for row in again] == [row.values for row in first]
    asked = [entry.digest for entry in server.log[start:] if entry.images]
    assert len(asked) == len(set(asked)), "the same request was sent twice"


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.3},
        {"seed": 1},
        {"scale": 10},
        {"layout": "standard"},
        {"rubric": "v1"},
        {"image_side": 256},
        {"max_tokens": 1000},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_moves_a_verdict_is_asked_for_anew(server: Server, tmp_path: Path, change: dict[str, Any]) -> None:
    sample = edit(30)
    with tier(server, cache=tmp_path) as judge:
        judge.score([sample])
        definition, signature = judge.definition, judge.signature
    before = requests(server)
    with tier(server, cache=tmp_path, **change) as judge:
        judge.score([sample])
        assert judge.definition != definition
        assert judge.signature != signature
    assert requests(server) == before + 2


def test_of_a_changed_reference_the_view_without_it_is_not_asked_again(server: Server, tmp_path: Path) -> None:
    with tier(server, cache=tmp_path) as judge:
        (first,) = judge.score([edit(40)])
        before = requests(server)
        (second,) = judge.score([edit(40, reference_image=png(999))])
    assert requests(server) == before + 1
    assert second.values[WITHOUT] == first.values[WITHOUT]


def test_several_verdicts_have_a_mean_and_a_spread(server: Server) -> None:
    with tier(server, samples=3) as judge:
        assert judge.temperature > 0
        before = requests(server)
        rows = judge.score([edit(number) for number in range(50, 54)])
    assert requests(server) == before + 4 * 2 * 3
    assert all(row.values[f"requests_{view}"] == 3 for row in rows for view in judge.views)
    assert any(row.values[f"{WITH}_sd"] > 0 for row in rows)
    with pytest.raises(ValueError, match="one and the same"):
        tier(server, samples=2, temperature=0)


def test_a_jury_has_a_mean_and_its_agreement(server: Server) -> None:
    with openai_server() as other:
        jury = [f"one@{server.url}", f"two@{other.url}"]
        with JudgeTier(jury=jury) as judge:
            rows = judge.score([edit(number) for number in range(60, 72)])
            summary = summarise(rows, judge.specs)["metrics"][WITH]
    for row in rows:
        assert row.values[WITH] == (row.values[f"{WITH}@one"] + row.values[f"{WITH}@two"]) / 2
    assert summary["agreement"]["common"] == 12
    assert set(summary["agreement"]["means"]) == {"one", "two"}
    assert json.dumps(summary)
    assert [spec.name for spec in specs(**judge.options)] == [spec.name for spec in judge.specs]


def test_a_server_that_has_another_model_is_told_and_so_is_a_jury_of_one() -> None:
    with openai_server() as alone:
        with JudgeTier(model="Qwen/Qwen3-VL-8B-Instruct", url=alone.url) as judge:
            judge.score([edit()])
            assert [told for told in judge.fingerprint_changes() if "its server says that it is stub-judge" in told]
        with JudgeTier(model="stub-judge", url=alone.url) as judge:
            judge.score([edit()])
            assert judge.fingerprint_changes() == []
        with JudgeTier(jury=[f"stub-a@{alone.url}", f"stub-b@{alone.url}"]) as judge:
            judge.score([edit()])
            assert any("judges stub-a, stub-b are one model" in told for told in judge.fingerprint_changes())


def test_a_spent_budget_ends_the_run_and_keeps_what_was_answered(server: Server, tmp_path: Path) -> None:
    samples = [edit(number) for number in range(80, 90)]
    with tier(server, cache=tmp_path) as judge:
        judge.definition  # noqa: B018 - the probe isn't part of what is counted here
    rows: dict[int, Any] = {}
    before = requests(server)
    with tier(server, cache=tmp_path, max_requests=7, concurrency=2) as judge, pytest.raises(BudgetExhausted):
        judge.stream(enumerate(samples), rows.__setitem__)
    assert requests(server) == before + 7
    assert 1 <= len(rows) <= 3
    with tier(server, cache=tmp_path) as judge:
        assert len(judge.score(samples)) == 10
    assert requests(server) == before + 20


def test_a_refused_key_ends_the_run_at_once() -> None:
    with openai_server(key="right") as guarded, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEDGEN_JUDGE_API_KEY", "wrong-secret")
        with tier(guarded) as judge, pytest.raises(RunStopped) as stopped:
            judge.score([edit(number) for number in range(20)])
        assert "wrong-secret" not in str(stopped.value)
        assert len(guarded.log) < 5


def test_without_a_server_the_error_says_how_to_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEDGEN_JUDGE_URL", raising=False)
    with JudgeTier() as judge, pytest.raises(ValueError, match="MEDGEN_JUDGE_URL"):
        judge.score([edit()])


def test_a_dry_run_asks_nothing_and_leaves_out_what_is_known(server: Server, tmp_path: Path) -> None:
    samples = [edit(number) for number in range(90, 94)]
    with tier(server, cache=tmp_path) as judge:
        judge.score(samples[:1])
    before = len(server.log)
    with tier(server, cache=tmp_path, dry_run=True) as judge:
        found = judge.estimate(samples)
    assert len(server.log) == before
    assert found.requests == 6
    assert found.images == 3 * 4
    assert found.prompt_tokens > 0
    assert found.completion_tokens == 6 * judge.max_tokens


def test_ask_fresh_goes_past_the_cache_and_keeps_nothing(server: Server, tmp_path: Path) -> None:
    with tier(server, cache=tmp_path) as judge:
        (row,) = judge.score([edit(95)])
        before = requests(server)
        (fresh,) = judge.fresh([edit(95)])
        assert requests(server) == before + 2
        size = sum(path.stat().st_size for path in tmp_path.iterdir())
        judge.fresh([edit(95)])
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) == size
    assert fresh.values[WITH] == row.values[WITH]


def test_works_where_an_event_loop_runs_already(server: Server) -> None:
    import asyncio

    async def notebook() -> int:
        with tier(server) as judge:
            return len(judge.score([edit(97)]))

    assert asyncio.run(notebook()) == 1


def test_an_error_of_the_caller_ends_the_run_and_comes_through(server: Server) -> None:
    def samples() -> Iterator[tuple[int, JudgeSample]]:
        yield 0, edit(98)
        raise KeyError("no such record")

    threads = threading.active_count()
    with tier(server) as judge, pytest.raises(KeyError, match="no such record"):
        judge.stream(samples(), lambda tag, row: None)
    # threads that were told to end do so in their own time
    assert until(lambda: threading.active_count() <= threads + 1)
