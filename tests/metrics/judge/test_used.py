"""What verdicts took, a record and in total."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from medgen_metrics.judge.specs import holistic
from medgen_metrics.rows import summarise

from ...servers.openai_server import OpenAIServer as Server
from ...servers.openai_server import openai_server
from .test_tier import edit
from .test_tier import tier

WITH = holistic("with_reference")


@pytest.fixture
def server() -> Iterator[Server]:
    with openai_server() as running:
        yield running


def test_rows_and_the_result_tell_requests_tokens_images_bytes_and_cost(server: Server, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("stub-judge: {input: 2.0, output: 8.0}\n")
    options: dict[str, Any] = {"views": ["with_reference"], "cache": tmp_path / "cache"}
    before = len(server.log)
    with tier(server, prices=prices, **options) as judge:
        rows = judge.score([edit(60), edit(61), edit(62, output_image=None)])
        figures = summarise(rows, judge.specs)["metrics"][WITH]
        assert set(rows[0].values) <= set(judge.columns)
        spent = judge.usage
    log = [entry for entry in server.log[before:] if entry.images]
    assert [row.values.get("images_with_reference") for row in rows] == [2, 2, None]
    assert all(row.values["bytes_with_reference"] > 1000 for row in rows[:2])
    assert figures["requests"] == 2
    assert figures["images"] == sum(len(entry.images) for entry in log) == 4
    assert figures["bytes"] == sum(row.values.get("bytes_with_reference", 0) for row in rows)
    tokens = (figures["prompt_tokens"], figures["completion_tokens"])
    assert tokens == (sum(entry.prompt_tokens for entry in log), sum(entry.completion_tokens for entry in log))
    assert figures["cost"] == pytest.approx((2 * tokens[0] + 8 * tokens[1]) / 1e6)
    assert spent.cost is not None
    assert spent.cost > figures["cost"]  # finding out the reply format was paid for too
    # from the cache as it was counted then; what was asked without prices has no cost, and then the sum has none
    with tier(server, **options) as judge:
        assert judge.score([edit(60)])[0].values == rows[0].values
        mixed = judge.score([edit(60), edit(63)])
        figures = summarise(mixed, judge.specs)["metrics"][WITH]
    assert "cost_with_reference" not in mixed[1].values
    assert "cost" not in figures
    assert figures["requests"] == 2
