import json
import socket
from collections.abc import Sequence

import anyio
import pytest

from medgen_metrics.judge.backend import Reply
from medgen_metrics.judge.client import OpenAIBackend
from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped

from ...servers.openai_requests import BadRequest
from ...servers.openai_requests import ChatRequest
from ...servers.openai_server import openai_server
from .loopback import backend
from .verdicts import CASE

VIEW = CASE[2]
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}


def ask(judge: OpenAIBackend, requests: int = 1) -> list[Reply | Exception]:
    found: list[Reply | Exception] = []

    async def one(number: int) -> None:
        messages = [{"role": "user", "content": f"JSON, please: {number}"}]
        try:
            found.append(await judge.ask(messages, SCHEMA, temperature=0.0, seed=1, max_tokens=100))
        except (CallFailed, RunStopped) as error:
            found.append(error)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for number in range(requests):
                group.start_soon(one, number)
        await judge.aclose()

    anyio.run(work)
    return found


# --- how the form is asked for ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modes", "mode", "probes"),
    [
        (("json_schema", "json_object", "text"), "json_schema", 1),
        (("json_object", "text"), "json_object", 2),
        (("text",), "text", 3),
    ],
)
def test_best_mode_is_found_once(modes: Sequence[str], mode: str, probes: int) -> None:
    with openai_server(modes=modes) as server:
        judge = backend(server.url)
        replies = ask(judge, 10) + ask(judge, 10)
        log, bodies = server.log, list(server.bodies.values())
    assert {reply.mode for reply in replies if isinstance(reply, Reply)} == {mode}
    assert (judge.mode, judge.fingerprint()["mode"]) == (mode, mode)
    assert len(replies) == 20
    assert len(log) == 20 + probes
    # those that the server refused have no body there
    for body in bodies[:-20]:
        assert len(json.dumps(body)) < 500
    forms = [body.get("response_format", {"type": "text"}) for body in bodies[-20:]]
    assert {form["type"] for form in forms} == {mode}
    if mode == "json_schema":
        assert forms[0]["json_schema"] == {"name": "verdict", "strict": True, "schema": SCHEMA}


def test_server_that_ignores_the_form_is_not_said_to_obey() -> None:
    with openai_server(replies=lambda asked: "Blue.") as server:
        judge = backend(server.url)
        ask(judge)
        assert judge.mode == "text"
        assert [seen.mode for seen in server.log] == ["json_schema"] * 2 + ["json_object"] * 2 + ["text"] * 2


def test_server_that_breaks_down_over_a_schema() -> None:
    def reply(asked: ChatRequest) -> None:
        if asked.mode == "json_schema":
            raise RuntimeError("no grammar back end")

    with openai_server(replies=reply) as server:
        judge = backend(server.url, attempts=2)
        assert isinstance(ask(judge)[0], Reply)
    assert judge.mode == "json_object"


@pytest.mark.parametrize("kind", ["prose", "refusal", "empty", "500", "half"])
def test_one_spoilt_probe_decides_nothing(kind: str) -> None:
    with openai_server(plan=[kind]) as server:
        judge = backend(server.url)
        ask(judge)
    assert judge.mode == "json_schema"


def test_judge_that_thinks_longer_than_the_probe_lasts() -> None:
    with openai_server(replies=lambda asked: "Let me think. " * 100) as server:
        judge = backend(server.url)
        ask(judge)
        assert judge.mode == "json_schema"
        assert len(server.log) == 2


def test_known_mode_is_not_probed() -> None:
    with openai_server() as server:
        judge = backend(server.url, known_mode="json_object")
        (reply,) = ask(judge)
        assert isinstance(reply, Reply)
        assert (reply.mode, len(server.log)) == ("json_object", 1)


def test_probe_that_fails_fails_for_all_who_wait_and_is_made_again_later() -> None:
    def reply(asked: ChatRequest) -> None:
        raise BadRequest("this deployment is for embeddings")

    with openai_server(replies=reply) as server:
        judge = backend(server.url)
        failures = ask(judge, 20)
        assert {type(error) for error in failures} == {RunStopped}
        assert "a tiny request to judge m failed" in str(failures[0])
        assert "this deployment is for embeddings" in str(failures[-1])
        assert len(server.log) == 3
        server.replies = None
        assert isinstance(ask(judge)[0], Reply)


def test_of_a_judge_that_is_not_there_it_is_said_how_to_serve_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    (stopped,) = ask(OpenAIBackend("m", [url], deadline=5, pool={"rest": 60.0}))
    assert isinstance(stopped, RunStopped)
    assert str(stopped).endswith(
        f" failed: nothing answers at {url}: Connection refused; is the server up? `medgen-bench judge-serve --print` "
        "gives a command that serves one"
    )


def test_reply_says_where_it_is_from() -> None:
    prices = {"m": {"input": 1.0, "output": 2.0}}
    with openai_server() as server:
        judge = backend(server.url, budget=Budget(prices=prices))
        (reply,) = ask(judge)
    assert isinstance(reply, Reply)
    assert (reply.model, reply.fingerprint, reply.endpoint) == ("stub-judge", "stub", server.url)
    assert reply.usage.cost == (reply.usage.prompt_tokens + 2 * reply.usage.completion_tokens) / 1e6
    assert judge.fingerprint() == {
        "model": "stub-judge",
        "fingerprint": "stub",
        "mode": "json_schema",
        "endpoints": [server.url],
        "changes": {},
    }


def test_key_is_from_the_environment_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDGEN_JUDGE_API_KEY", "planted-key")
    with openai_server(key="planted-key") as server:
        judge = backend(server.url)
        assert isinstance(ask(judge)[0], Reply)
    assert "planted" not in repr(judge) + repr(judge.fingerprint())


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="reply format: expected one of json_schema, json_object, text, got 'xml'"):
        backend("http://localhost:1", known_mode="xml")
