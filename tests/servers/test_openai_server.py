"""The loopback model server, asked through the real `openai` client."""

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest

from . import misbehaviour
from .openai_client import FORMAT
from .openai_client import SCHEMA
from .openai_client import ask
from .openai_client import client
from .openai_client import messages
from .openai_client import png
from .openai_client import valid
from .openai_server import OpenAIServer
from .openai_server import openai_server
from .process import served


def test_a_verdict_fits_the_schema_and_says_that_it_is_a_stub() -> None:
    with openai_server() as server:
        reply = ask(server, seed=3, temperature=0.0, max_tokens=400)
        assert valid(reply.choices[0].message.content)
        assert (reply.model, reply.system_fingerprint) == ("stub-judge", "stub")
        assert reply.choices[0].finish_reason == "stop"
        assert reply.usage.prompt_tokens > 85
        assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens
        (seen,) = server.chats()
        assert (seen.prompt_tokens, seen.completion_tokens) == (
            reply.usage.prompt_tokens,
            reply.usage.completion_tokens,
        )
        assert (seen.status, seen.mode, seen.seed, seen.max_tokens) == (200, "json_schema", 3, 400)
        (image,) = seen.images
        assert (image.width, image.height, image.media_type, image.bytes) == (20, 10, "image/png", len(png()))
        assert server.bodies[seen.number]["messages"] == messages()
        assert [model.id for model in client(server).models.list()] == ["stub-judge"]


def test_scores_follow_from_the_request() -> None:
    def score(server: OpenAIServer, text: str, **given: Any) -> str:
        return ask(server, messages=messages(text), **given).choices[0].message.content

    with openai_server() as one, openai_server() as two:
        texts = [f"Record {number}" for number in range(20)]
        first = [score(one, text) for text in texts]
        assert first == [score(two, text, seed=5) for text in texts]  # greedy: the seed plays no part
        assert len({json.loads(text)["score"] for text in first}) == 5
        drawn = {score(one, "x", temperature=0.7, seed=seed) for seed in range(10)}
        assert len(drawn) > 5
        assert score(one, "x", temperature=0.7, seed=3) == score(two, "x", temperature=0.7, seed=3)
        several = ask(one, n=3, temperature=0.7).choices
        assert len({choice.message.content for choice in several}) == 3
        two.salt = "another model under the same name"
        assert [score(two, text) for text in texts] != first


def test_a_repair_request_gets_the_verdict_of_its_opening() -> None:
    with openai_server(plan=["commas", None]) as server:
        broken = ask(server).choices[0].message.content
        with pytest.raises(ValueError):
            json.loads(broken)
        repair = [*messages(), {"role": "assistant", "content": broken}, {"role": "user", "content": "No JSON."}]
        mended = ask(server, messages=repair).choices[0].message.content
        assert mended == ask(server).choices[0].message.content
        assert len({seen.digest for seen in server.log}) == 2


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"messages": []}, "at least one message"),
        ({"messages": [{"role": "judge", "content": "x"}]}, "messages[0]: expected an object with a role"),
        ({"messages": [{"role": "user", "content": [{"type": "picture"}]}]}, "messages[0].content[0]"),
        ({"messages": messages(data=b"no image")}, "not an image that can be decoded"),
        ({"messages": messages(data=png((400, 400))[:500])}, "not an image that can be decoded"),
        ({"messages": messages(media_type="image/jpeg")}, "declared image/jpeg, but is image/png"),
        ({"response_format": {"type": "yaml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "a b", "schema": {}}}}, "schema.name"),
        ({"response_format": {"type": "json_object"}}, "must contain the word 'json'"),
        ({"temperature": 3}, "'temperature': expected a number from 0 to 2; got 3"),
        ({"max_tokens": 0}, "'max_tokens'"),
        ({"seed": "one"}, "'seed'"),
        ({"stream": True}, "leave it off"),
    ],
)
def test_bad_requests_are_refused(change: dict[str, Any], expected: str) -> None:
    with openai_server() as server:
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server, **change)
        assert expected in caught.value.message
        assert server.log[0].status == 400
        assert expected in server.log[0].message


@pytest.mark.parametrize("fault", ["additionalProperties", "required", "ge"])
def test_a_strict_schema_must_be_closed_complete_and_of_known_words(fault: str) -> None:
    schema = {name: value for name, value in SCHEMA.items() if name != fault} | ({"ge": 1} if fault == "ge" else {})
    given = {"type": "json_schema", "json_schema": {"name": "v", "strict": True, "schema": schema}}
    with openai_server() as server:
        with pytest.raises(openai.BadRequestError, match=f"schema: '{fault}'"):
            ask(server, response_format=given)
        given["json_schema"]["strict"] = False  # type: ignore[index]
        assert valid(ask(server, response_format=given).choices[0].message.content)


def test_modes_that_are_not_supported_and_the_form_that_a_prompt_describes() -> None:
    form = '{"checklist": {"gone": "yes|no|unsure"}, "overall": <whole number 1 to 5>, "why": "in a sentence"}'
    texts = (f"Answer in JSON of this form: {form}\nThe response: {{}}", f"JSON schema: {json.dumps(SCHEMA)}")
    with openai_server(modes=["text"]) as server:
        for kind in ("json_schema", "json_object"):
            with pytest.raises(openai.BadRequestError, match="not supported"):
                ask(server, response_format={**FORMAT, "type": kind}, messages=messages("as JSON"))
        found = json.loads(ask(server, response_format=None, messages=messages(texts[0])).choices[0].message.content)
        assert list(found) == ["checklist", "overall", "why"]
        assert found["checklist"]["gone"] in ("yes", "no", "unsure")
        assert found["overall"] in range(1, 6)
        assert valid(ask(server, response_format=None, messages=messages(texts[1])).choices[0].message.content)
        assert "1 image" in ask(server, response_format=None).choices[0].message.content


def test_prepared_replies() -> None:
    def reply(asked: Any) -> Any:
        return {"text": "said", "image": {"width": asked.images[0].width}, "none": None}[asked.text.split()[-1]]

    with openai_server(replies=reply) as server:
        contents = [
            ask(server, messages=messages(text)).choices[0].message.content for text in ("text", "image", "none")
        ]
    assert contents[:2] == ["said", '{"width": 20}']
    assert valid(contents[2])


def test_the_key_and_the_model_are_checked() -> None:
    with openai_server(key="sk-right", models=["known"]) as server:
        for call in (lambda: ask(server, "sk-wrong"), lambda: client(server, "sk-wrong").models.list()):
            with pytest.raises(openai.AuthenticationError) as caught:
                call()
            assert "sk-" not in str(caught.value)
        with pytest.raises(openai.NotFoundError, match="`m` does not exist"):
            ask(server, "sk-right")
        assert valid(ask(server, "sk-right", model="known").choices[0].message.content)
        with pytest.raises(openai.AuthenticationError, match="sk-right"):
            ask(server, "sk-right", model="known!echo_key")
    assert [seen.status for seen in server.log] == [401, 404, 200, 401]


STATUS: list[tuple[str, type[Exception]]] = [
    ("429", openai.RateLimitError),
    ("500", openai.InternalServerError),
    ("503", openai.InternalServerError),
    ("drop", openai.APIConnectionError),
    ("half", openai.APIConnectionError),
]


@pytest.mark.parametrize(("kind", "expected"), STATUS)
def test_faults_of_status_and_transport(kind: str, expected: type[Exception]) -> None:
    with openai_server(plan=[kind, None], retry_after=0.25) as server:
        with pytest.raises(expected) as caught:
            ask(server)
        if kind in ("429", "503"):
            assert caught.value.response.headers["retry-after"] == "0.25"  # type: ignore[attr-defined]
        assert valid(ask(server).choices[0].message.content)
    assert [(seen.misbehaviour, seen.status) for seen in server.log] == [
        (kind, {"drop": 0, "half": 200}.get(kind) if kind in ("drop", "half") else int(kind)),
        (None, 200),
    ]


def test_answers_that_are_no_completion() -> None:
    with openai_server(plan=["content_type", "error_200"]) as server:
        assert "<html>" in ask(server)  # the client gives the text of what isn't JSON
        assert ask(server).choices is None


def test_a_slow_reply_outlasts_the_client_and_frees_its_slot() -> None:
    with openai_server(plan=["slow"], slow=30, slots=1) as server:
        with pytest.raises(openai.APITimeoutError):
            ask(server, timeout=0.2)
        assert valid(ask(server).choices[0].message.content)
    assert [(seen.misbehaviour, seen.status) for seen in server.log] == [("slow", 499), (None, 200)]


CONTENT: list[tuple[str, Callable[[Any, Any], bool]]] = [
    ("refusal", lambda choice, good: "I'm sorry" in choice.message.content),
    ("refusal_field", lambda choice, good: choice.message.content is None and "sorry" in choice.message.refusal),
    ("content_filter", lambda choice, good: choice.finish_reason == "content_filter"),
    ("empty", lambda choice, good: choice.message.content == ""),
    ("truncated", lambda choice, good: choice.finish_reason == "length" and "}" not in choice.message.content[-2:]),
    ("prose", lambda choice, good: json.loads(choice.message.content.split("```")[1][5:]) == good),
    ("commas", lambda choice, good: ",\n}" in choice.message.content),
    ("quotes", lambda choice, good: choice.message.content == repr(good)),
    ("two", lambda choice, good: choice.message.content == f"{json.dumps(good)}\n{json.dumps(good)}"),
    ("two_different", lambda choice, good: len({*choice.message.content.splitlines()}) == 2),
    ("strings", lambda choice, good: json.loads(choice.message.content) == {**good, "score": str(good["score"])}),
    ("out_of_range", lambda choice, good: json.loads(choice.message.content)["score"] == good["score"] + 97),
    ("missing", lambda choice, good: list(json.loads(choice.message.content)) == ["items", "notes"]),
]


@pytest.mark.parametrize(("kind", "holds"), CONTENT)
def test_faults_of_content(kind: str, holds: Callable[[Any, Any], bool]) -> None:
    with openai_server(plan=[kind]) as server:
        spoilt = ask(server).choices[0]
        good = json.loads(ask(server).choices[0].message.content)
        assert holds(spoilt, good)


def test_every_kind_has_a_test() -> None:
    tested = {kind for kind, _ in (*STATUS, *CONTENT)} | {"content_type", "error_200", "slow", "echo_key"}
    assert tested | set(misbehaviour.PICTURES) == set(misbehaviour.KINDS)


def test_a_reply_beyond_the_limit_is_cut() -> None:
    with openai_server() as server:
        choice = ask(server, max_tokens=5).choices[0]
    assert (choice.finish_reason, len(choice.message.content)) == ("length", 20)


def test_chance_depends_on_the_request_and_not_on_the_order() -> None:
    digests = [f"request-{number}" for number in range(2000)]
    plan = misbehaviour.chance(0.2, seed=1)
    found = {digest: plan(digest, 0) for digest in digests}
    assert found == {digest: misbehaviour.chance(0.2, seed=1)(digest, 0) for digest in reversed(digests)}
    assert 0.17 < sum(kind is not None for kind in found.values()) / len(digests) < 0.23
    assert set(found.values()) == {None, *misbehaviour.RANDOM}
    assert any(plan(digest, 1) is None for digest, kind in found.items() if kind)
    with pytest.raises(ValueError, match="unknown misbehaviour 'slwo'; known: drop, half"):
        misbehaviour.chance(0.2, ["slwo"])


def test_slots_bound_the_rate_and_the_queue_refuses() -> None:
    with openai_server(latency=0.1, slots=2) as server, ThreadPoolExecutor(8) as pool:
        start = time.monotonic()
        list(pool.map(lambda number: ask(server, messages=messages(str(number))), range(8)))
        assert time.monotonic() - start >= 0.4
        assert max(seen.in_flight for seen in server.log) > 2
        # so long that they meet, however late a thread begins
        server.queue, server.latency = 0, 1.0

        def status(number: int) -> int:
            try:
                ask(server, messages=messages(str(number)))
            except openai.RateLimitError:
                return 429
            return 200

        assert set(pool.map(status, range(8))) == {200, 429}


def test_the_log_file_holds_every_request(tmp_path: Path) -> None:
    with openai_server(log_file=tmp_path / "log.jsonl", plan=["drop"]) as server:
        with pytest.raises(openai.APIConnectionError):
            ask(server)
        ask(server)
        rows = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [(row["number"], row["status"], row["misbehaviour"]) for row in rows] == [(0, 0, "drop"), (1, 200, None)]
    assert rows[0]["digest"] == rows[1]["digest"] == server.log[1].digest
    assert rows[1]["answered"] >= rows[1]["received"]
    assert rows[1]["images"][0]["width"] == 20


def test_by_hand_in_a_process_of_its_own(tmp_path: Path) -> None:
    with served(tmp_path / "log.jsonl", latency=0.01) as server:
        assert f"--judge-url {server.url} --judge-model stub-judge" in server.greeting
        given: dict[str, Any] = {"model": "m", "messages": messages(), "response_format": FORMAT}
        reply = openai.OpenAI(base_url=server.url, api_key="any").chat.completions.create(**given)
        assert valid(reply.choices[0].message.content)
        (seen,) = server.log()
        assert (seen.status, seen.images[0].width) == (200, 20)
        assert seen.answered - seen.received >= 0.01
