import asyncio
import json
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from medgen_metrics.judge.backend import Reply
from medgen_metrics.judge.local import TransformersBackend
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.local_model import Chat
from medgen_metrics.serving.local_model import LocalModel
from medgen_metrics.serving.local_model import Noise
from medgen_metrics.serving.local_model import load

from .in_process import ATTACK
from .in_process import ask
from .in_process import messages
from .in_process import run
from .in_process import url

# --- replies --------------------------------------------------------------------------------------------------------

REQUESTS = [(0, "a"), (1, "a longer question, so that the batch is padded", 2), (2, ATTACK), (3, "", 0)]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_reply_does_not_depend_on_the_batch(backend: TransformersBackend, temperature: float) -> None:
    async def work() -> None:
        together = await asyncio.gather(*(ask(backend, *request, temperature=temperature) for request in REQUESTS))
        alone = [await ask(backend, *request, temperature=temperature) for request in REQUESTS]
        assert backend.batches == [4, 1, 1, 1, 1]
        assert [reply.text for reply in together] == [reply.text for reply in alone]
        assert [reply.usage for reply in together] == [reply.usage for reply in alone]
        assert len({reply.text for reply in alone}) == len(REQUESTS), "the model doesn't look at what it is asked"

    run(backend, work)


def test_no_more_than_a_batch_at_once_and_each_with_its_own_limit(backend: TransformersBackend) -> None:
    async def work() -> None:
        replies = await asyncio.gather(*(ask(backend, number, limit=3 + number) for number in range(6)))
        assert backend.batches == [4, 2]
        assert [reply.usage.completion_tokens for reply in replies] == [3, 4, 5, 6, 7, 8]
        assert {reply.finish_reason for reply in replies} == {"length"}
        long = await ask(backend, 0, limit=8)
        assert long.text.startswith(replies[0].text.rstrip("\ufffd"))

    run(backend, work)


def test_a_reply_that_comes_to_its_end_says_so(
    backend: TransformersBackend, model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = list(range(0, len(model.tokenizer), 8))  # the random model hardly ever says the two that end its turn
    monkeypatch.setattr(model, "_ends", ends)
    monkeypatch.setattr(model._settings, "eos_token_id", ends)

    async def work() -> None:
        together = await asyncio.gather(*(ask(backend, number, temperature=3.0, limit=60) for number in range(4)))
        ended = [reply for reply in together if reply.finish_reason == "stop"]
        assert len({reply.usage.completion_tokens for reply in ended}) > 1
        assert all(reply.usage.completion_tokens < 60 for reply in ended)

    run(backend, work)


def test_what_a_reply_says_of_itself(backend: TransformersBackend, tiny_judge: Path) -> None:
    async def work() -> None:
        assert await backend.probe() == backend.mode == "text"
        reply = await ask(backend, 1, "x", 2)
        assert (reply.mode, reply.model, reply.endpoint) == ("text", "tiny-qwen3-vl", "in process")
        assert reply.fingerprint == backend.fingerprint()["weights"]
        assert (reply.usage.requests, reply.usage.images) == (1, 2)
        assert reply.usage.bytes > len(url(1)) + len(url(2))
        encoded = backend._model.encode([Chat(messages(1, "x", 2), 0.0, 0, 1)])  # type: ignore[union-attr]
        assert reply.usage.prompt_tokens == encoded["input_ids"].shape[1]
        assert str(tiny_judge) not in json.dumps(backend.fingerprint())

    run(backend, work)


def test_draws_follow_the_seed_and_the_record(backend: TransformersBackend) -> None:
    async def work() -> None:
        async def text(number: int, seed: int | None) -> str:
            return (await ask(backend, number, temperature=1.0, seed=seed)).text

        assert await text(0, 1) == await text(0, 1)
        assert await text(0, 1) != await text(0, 2)
        assert await text(0, None) != await text(0, None)

    run(backend, work)


def test_noise_draws_from_the_softmax() -> None:
    logits = torch.tensor([[2.0, 1.0, 0.0, -1.0, -3.0]])
    counts = torch.zeros(5)
    for block in range(4):
        chats = [Chat([{"role": "user", "content": str(block)}], 2.0, seed, 1) for seed in range(1000)]
        drawn = Noise(chats)(torch.zeros(1000, 1), logits.expand(1000, 5)).argmax(dim=1)
        counts += drawn.bincount(minlength=5)
    expected = 4000 * (logits[0] / 2.0).softmax(0)
    assert ((counts - expected) ** 2 / expected).sum() < 13.28  # chi square of 4 degrees of freedom at 1 %


def test_greedy_rows_get_no_noise() -> None:
    logits = torch.randn(2, 7, generator=torch.Generator().manual_seed(0))
    chats = [Chat([], 0.0, 0, 1), Chat([], 1.0, 0, 1)]
    noisy = Noise(chats)(torch.zeros(2, 1), logits)
    assert torch.equal(noisy[0], logits[0].double())
    assert not torch.equal(noisy[1], logits[1].double())


def test_two_records_of_one_seed_draw_apart() -> None:
    chats = [Chat([{"role": "user", "content": text}], 1.0, 0, 1) for text in "ab"]
    noisy = Noise(chats)(torch.zeros(2, 1), torch.zeros(2, 7))
    assert not torch.equal(noisy[0], noisy[1])


def test_the_models_own_generation_settings_are_not_used(tiny_judge: Path, model: LocalModel, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_judge, tmp_path / "penal"))
    settings = json.loads((folder / "generation_config.json").read_text())
    assert settings["do_sample"] is True
    (folder / "generation_config.json").write_text(json.dumps({**settings, "repetition_penalty": 50.0}))
    chats = [Chat(messages(), 0.0, 0, 12)]
    assert load(folder, "cpu").reply(chats) == model.reply(chats)


def test_another_type_is_used_and_told(tiny_judge: Path) -> None:
    backend = TransformersBackend(str(tiny_judge), dtype="bfloat16", device="cpu")

    async def work() -> None:
        assert "dtype" not in backend.fingerprint()
        await ask(backend)
        assert backend.fingerprint()["dtype"] == "bfloat16"
        assert backend.fingerprint()["device"] == "cpu"

    run(backend, work)


# --- troubles -------------------------------------------------------------------------------------------------------


def test_a_bad_request_fails_alone(backend: TransformersBackend) -> None:
    bad = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.org/x.png"}}]}]

    async def work() -> None:
        asked = [ask(backend, 0), backend.ask(bad, {}, temperature=0, seed=0, max_tokens=4), ask(backend, 1)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(item) for item in found] == [Reply, CallFailed, Reply]
        assert found[1].kind == "rejected"  # type: ignore[union-attr]
        assert "expected a data URL" in str(found[1])

    run(backend, work)


def test_a_prompt_beyond_the_model_is_refused_and_a_reply_ends_with_its_context(
    backend: TransformersBackend, model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    length = model.reply([Chat(messages(0), 0.0, 0, 1)])[0].prompt_tokens
    monkeypatch.setattr(model.model.config.text_config, "max_position_embeddings", length + 3)

    async def work() -> None:
        asked = [ask(backend, 0), ask(backend, 0, "word " * 20)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert (found[0].finish_reason, found[0].usage.completion_tokens) == ("length", 3)  # type: ignore[union-attr]
        assert f"fewer than {length + 3} tokens" in str(found[1])

    run(backend, work)


def test_too_little_memory_halves_the_batch(
    backend: TransformersBackend, model: LocalModel, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    whole = model.reply

    def small(chats: Any, unwanted: Any) -> Any:
        if len(chats) > 1 or chats[0].max_tokens > 50:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return whole(chats, unwanted)

    monkeypatch.setattr(model, "reply", small)

    async def work() -> None:
        asked = [ask(backend, number, limit=60 if number == 1 else 4) for number in range(4)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(item) for item in found] == [Reply, CallFailed, Reply, Reply]
        assert "too small for one request" in str(found[1])
        assert backend.batches == [1, 1, 1]
        await asyncio.gather(ask(backend, 0), ask(backend, 2))
        assert backend.batches == [1] * 5

    run(backend, work)
    assert caplog.text.count("too little memory") >= 1


def test_whoever_is_cancelled_is_not_waited_for(backend: TransformersBackend, model: LocalModel) -> None:
    async def work() -> None:
        endless = [asyncio.ensure_future(ask(backend, number, limit=10**6)) for number in range(2)]
        short = asyncio.ensure_future(ask(backend, 2))
        while not backend._batches.idle:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)
        for task in endless:
            task.cancel()
        assert (await asyncio.wait_for(short, 30)).finish_reason == "length"
        assert (await asyncio.wait_for(ask(backend, 3), 30)).text

    run(backend, work)


def test_a_closed_back_end_has_no_thread_and_opens_again(tiny_judge: Path, model: LocalModel) -> None:
    backend = TransformersBackend(str(tiny_judge))
    backend._model = model

    async def work() -> None:
        await ask(backend)
        await backend.aclose()
        assert not any(thread.name == "medgen-judge-model" for thread in threading.enumerate())
        assert (await ask(backend)).text
        await backend.aclose()

    asyncio.run(work())
