import logging
import socket
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.chat import ChatClient
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped

from ...servers.misbehaviour import chance
from ...servers.openai_requests import BadRequest
from ...servers.openai_requests import ChatRequest
from ...servers.openai_server import openai_server

QUICK = {"backoff": 0.01, "rest": 0.02, "seed": 0}


def client(*urls: str, **given: Any) -> ChatClient:
    return ChatClient("m", urls, **{"key": "any", "pool": QUICK, **given})


def ask(chat: ChatClient, requests: int = 1, **given: Any) -> list[str | Exception]:
    """Texts or failures, in the order of the requests."""
    found: dict[int, str | Exception] = {}

    async def one(number: int) -> None:
        try:
            messages = [{"role": "user", "content": f"request {number}"}]
            found[number] = (await chat.complete(messages, **{"max_tokens": 100, **given})).text
        except (CallFailed, RunStopped) as error:
            found[number] = error

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for number in range(requests):
                group.start_soon(one, number)
        await chat.aclose()

    anyio.run(work)
    return [found[number] for number in range(requests)]


def refusing(*names: str, said: str = "Unsupported parameter: '{}' is not supported with this model.") -> Callable:
    def reply(asked: ChatRequest) -> None:
        for name in names:
            if name in asked.body:
                raise BadRequest(said.format(name))

    return reply


# --- what is sent -----------------------------------------------------------------------------------------------------


def test_request_as_sent() -> None:
    with openai_server(key="secret-1") as server:
        chat = client(server.url, key="secret-1")
        (text,) = ask(chat, temperature=0.5, seed=7)
        (sent,) = server.bodies.values()
    assert isinstance(text, str)
    assert text.startswith("Stub answer")
    assert sent == {
        "model": "m",
        "messages": [{"role": "user", "content": "request 0"}],
        "max_tokens": 100,
        "temperature": 0.5,
        "seed": 7,
    }
    assert chat.budget.used.requests == 1
    assert chat.budget.used.prompt_tokens > 0


def test_connections_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with openai_server(latency=0.01) as server:
        ask(client(server.url, limit=4), 40)
        assert len(server.log) == 40
    assert sum(message.startswith("connect_tcp.started") for message in caplog.messages) == 4


@pytest.mark.parametrize(
    ("refused", "changes", "left"),
    [
        (["seed"], {"seed": None}, {"temperature", "max_tokens"}),
        (["max_tokens"], {"max_tokens": "max_completion_tokens"}, {"temperature", "seed", "max_completion_tokens"}),
        (["max_tokens", "max_completion_tokens"], {"max_tokens": None}, {"temperature", "seed"}),
        (["seed", "temperature"], {"seed": None, "temperature": None}, {"max_tokens"}),
    ],
)
def test_parameter_that_a_server_does_not_know(
    refused: list[str], changes: dict[str, str | None], left: set[str]
) -> None:
    with openai_server(replies=refusing(*refused)) as server:
        chat = client(server.url)
        for replies in (ask(chat, 5, temperature=0.0, seed=7), ask(chat, 5, temperature=0.0, seed=7)):
            assert all(isinstance(reply, str) for reply in replies)
        bodies = list(server.bodies.values())
    assert chat.changes == changes
    for body in bodies[-5:]:
        assert body.keys() - {"model", "messages"} == left


@pytest.mark.parametrize(
    "said",
    [
        "'{}' is too large: 100. This model's maximum context length is 50 tokens.",
        "this image format is not supported",
        "{} must be at least 1; other values are not supported",
    ],
)
def test_other_faults_of_a_request_change_nothing(said: str) -> None:
    with openai_server(replies=refusing("max_tokens", said=said)) as server:
        chat = client(server.url)
        (failure,) = ask(chat, seed=7)
    assert isinstance(failure, CallFailed)
    assert failure.kind == "rejected"
    assert (chat.changes, len(server.log)) == ({}, 1)


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "failed"),
    [("drop", "connection"), ("half", "connection"), ("content_type", "malformed"), ("error_200", "server"),
     ("500", "server"), ("503", "overloaded"), ("429", "rate_limit")],
)  # fmt: skip
def test_fault_once_and_always(kind: str, failed: str) -> None:
    with openai_server(plan=[kind], retry_after=0.01) as server:
        assert isinstance(ask(client(server.url))[0], str)
        assert len(server.log) == 2
    with openai_server(plan=chance(1.0, [kind]), retry_after=0.01) as server:
        (failure,) = ask(client(server.url, attempts=3))
        assert isinstance(failure, CallFailed)
        assert (failure.kind, failure.attempts, len(server.log)) == (failed, 3, 3)


def test_half_a_body_of_the_promised_length() -> None:
    # what a proxy makes of a reply that broke off: whole as HTTP, half as JSON
    async def answer(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            while not (await stream.receive()).endswith(b"}"):
                pass
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
            await stream.send(head + b'{"choices')

    async def work() -> str:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        chat = client(f"http://127.0.0.1:{listener.extra(anyio.abc.SocketAttribute.local_port)}/v1", attempts=2)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, answer)
            with pytest.raises(CallFailed) as failure:
                await chat.complete([{"role": "user", "content": "a"}], max_tokens=5)
            group.cancel_scope.cancel()
        await chat.aclose()
        return str(failure.value)

    said = anyio.run(work)
    assert said.startswith("malformed: ")
    assert 'expected JSON, got application/json: {"choices (after 2 attempts)' in said


def test_silent_server_costs_an_attempt_not_the_run() -> None:
    with openai_server(plan=["slow"], slow=30) as server:
        assert isinstance(ask(client(server.url, timeout=1))[0], str)
        assert len(server.chats()) == 2


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    replies = ask(client(url, pool={**QUICK, "patience": 0.1}), 30)
    assert {type(reply) for reply in replies} == {RunStopped}
    said = str(replies[0])
    expected = f"no endpoint has answered for 0.1 s: nothing answers at {url}: Connection refused; is the server up? "
    assert said.startswith(expected)
    assert said.count("onnect") == 1


def test_nobody_listens_within_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    pool = {**QUICK, "rest": 60.0, "serving": "`serve` serves one"}
    (failed,) = ask(client(url, deadline=5, pool=pool))
    assert isinstance(failed, CallFailed)
    assert failed.message == f"nothing answers at {url}: Connection refused; is the server up? `serve` serves one"


def test_wrong_key_is_one_error_that_shows_no_key() -> None:
    with openai_server(plan=chance(1.0, ["echo_key"])) as server:
        replies = ask(client(server.url, key="planted-secret", limit=4), 200)
        assert len(server.log) == 4
    assert {type(reply) for reply in replies} == {RunStopped}
    assert str(replies[0]) == (
        f"no endpoint serves us: {server.url}: auth: HTTP 401: Incorrect API key provided: ***. [invalid_api_key]. "
        "Check the key."
    )


def test_planted_secrets_appear_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)

    def reply(asked: ChatRequest) -> None:
        raise BadRequest("key planted-key, user planted-user, password planted-pass, query planted-query")

    with openai_server(replies=reply) as server:
        url = server.url.replace("http://", "http://planted-user:planted-pass@") + "?sig=planted-query"
        chat = client(url, key="planted-key")
        (failure,) = ask(chat)
    assert isinstance(failure, CallFailed)
    shown = [str(failure), repr(failure), "".join(traceback.format_exception(failure)), repr(chat), repr(chat.names)]
    shown += [record.getMessage() for record in caplog.records]
    assert any("HTTP Request" in text for text in shown)
    for secret in ("planted-key", "planted-pass", "planted-query"):
        assert not [text for text in shown if secret in text]


@pytest.mark.parametrize("seed", range(2))
def test_every_request_ends_once_where_a_fifth_fail(seed: int) -> None:
    faults = ["drop", "half", "content_type", "error_200", "500", "503", "429"]
    with openai_server(plan=chance(0.2, faults, seed), retry_after=0.01) as server:
        chat = client(server.url, attempts=8)
        replies = ask(chat, 60)
        log = server.log
    assert all(isinstance(reply, str) for reply in replies)
    good = Counter(seen.digest for seen in log if seen.misbehaviour is None)
    assert len(good) == 60
    assert set(good.values()) == {1}
    assert len(log) > 65
    # failed attempts are requests too; tokens are those that were told
    assert chat.budget.used.requests == len(log)
    assert chat.budget.used.completion_tokens == sum(s.completion_tokens for s in log if s.misbehaviour is None)


# --- ends -------------------------------------------------------------------------------------------------------------


def test_cancelled_in_the_middle_and_used_again() -> None:
    with openai_server(latency=0.2) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        chat = client(server.url, limit=4)
        answered = []

        async def one(number: int) -> None:
            answered.append(await chat.complete([{"role": "user", "content": f"a {number}"}], max_tokens=50))

        async def work() -> None:
            async with anyio.create_task_group() as group:
                for number in range(20):
                    group.start_soon(one, number)
                # four under way, all of which the server has
                while len(answered) < 6 or (chat.pool.endpoints[0].flying, server.in_flight) != (4, 4):
                    await anyio.sleep(0.01)
                group.cancel_scope.cancel()
            await chat.aclose()

        anyio.run(work)
        assert [endpoint.flying for endpoint in chat.pool.endpoints] == [0]
        # those that were cut off were sent, and may cost
        assert chat.budget.used.requests == len(answered) + 4
        assert all(isinstance(reply, str) for reply in ask(chat, 8))


def test_another_loop_without_closing() -> None:
    with openai_server() as server:
        chat = client(server.url)
        for _ in range(2):
            reply = anyio.run(lambda: chat.complete([{"role": "user", "content": "a"}], max_tokens=5))
            assert reply.text


def test_price_of_another_model_is_told_before_anything_is_sent() -> None:
    with pytest.raises(ValueError, match="no price of model 'm'; it holds other"):
        client("http://localhost:1/v1", budget=Budget(max_cost=1, prices={"other": {"input": 1}}))
