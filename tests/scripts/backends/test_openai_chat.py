import base64
import logging
import traceback
from typing import Any

import anyio
import pytest

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.faults import RunStopped
from medgen_scripts.errors import UsageError

from ...servers.misbehaviour import chance
from ...servers.openai_requests import BadRequest
from ...servers.openai_requests import ChatRequest
from ...servers.openai_server import openai_server
from .asking import BOTH
from .asking import FAULTS
from .asking import IMAGE
from .asking import SCHEMA
from .asking import Ask
from .asking import answers
from .asking import backend
from .asking import checked
from .asking import failure
from .asking import gave
from .asking import picture
from .asking import pixels
from .chat_replies import URL
from .chat_replies import saying

# --- what is sent -----------------------------------------------------------------------------------------------------


def test_request_as_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret-1")
    parameters = {"temperature": 0.4, "top_p": 0.9, "reasoning_effort": "low", "provider_thing": {"a": 1}}
    with openai_server(key="secret-1") as server:
        vlm = backend("openai-chat", server.url, key_env="A_KEY", parameters=parameters)
        found = gave(vlm, "Compare.", system="Be brief.", images=(picture(), picture(form="JPEG")), seed=7)
        body: dict[str, Any] = dict(*server.bodies.values())
        (seen,) = server.chats()
    assert found.text is not None
    assert found.text.startswith("Stub answer")
    assert "2 image(s)" in found.text
    assert (found.image, found.finish_reason, found.model, found.fingerprint) == (None, "stop", "stub-judge", "stub")
    assert (found.usage.requests, found.usage.images) == (1, 2)
    assert [(image.media_type, image.width, image.height) for image in seen.images] == [
        ("image/png", 40, 30),
        ("image/jpeg", 40, 30),
    ]
    messages = body.pop("messages")
    assert [message["role"] for message in messages] == ["system", "user"]
    assert [part["type"] for part in messages[1]["content"]] == ["image_url", "image_url", "text"]
    # files go as they are, bit for bit
    assert base64.b64decode(messages[1]["content"][0]["image_url"]["url"].partition(",")[2]) == picture()
    assert body == {"model": "m", "max_tokens": 2048, "seed": 7, **parameters}


def test_formats_that_servers_refuse_go_as_png_of_the_same_pixels() -> None:
    with openai_server() as server:
        gave(backend("openai-chat", server.url), images=(picture(form="TIFF"), picture(form="BMP")))
        (body,) = server.bodies.values()
    for part in body["messages"][0]["content"][:2]:
        head, _, data = part["image_url"]["url"].partition(",")
        assert head == "data:image/png;base64"
        assert pixels(base64.b64decode(data)).tobytes() == pixels(picture()).tobytes()


def test_input_that_is_no_image_costs_no_request() -> None:
    with openai_server() as server:
        failed = failure(backend("openai-chat", server.url), images=(b"<html>",))
        assert (failed.kind, server.log) == ("rejected", [])
    assert "the input image can't be sent: not_an_image" in str(failed)


def test_text_only_is_never_given_an_image() -> None:
    vlm = backend("openai-chat", "http://127.0.0.1:1/v1", takes_image=False)
    assert not vlm.takes_images
    with pytest.raises(ValueError, match="m takes no image; got 1"):
        anyio.run(vlm.ask, Ask("a", "What is it?", (picture(),)))


def test_seed_that_is_not_wanted() -> None:
    with openai_server() as server:
        gave(backend("openai-chat", server.url, parameters={"seed": None}))
        (body,) = server.bodies.values()
    assert "seed" not in body


# --- forms ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modes", "form", "first"),
    [
        (("json_schema", "json_object", "text"), "json_schema", 1),
        (("json_object", "text"), "json_object", 2),
        (("text",), "text", 3),
    ],
)
def test_the_best_form_that_the_server_takes(modes: tuple[str, ...], form: str, first: int) -> None:
    with openai_server(modes=modes) as server:
        vlm = backend("openai-chat", server.url)
        assert gave(vlm, "Answer in JSON.", schema=SCHEMA).meta == {"form": form}
        assert len(server.log) == first
        assert gave(vlm, "Answer in JSON, again.", schema=SCHEMA).meta == {"form": form}
        assert len(server.log) == first + 1
        assert server.log[-1].mode == form


def test_one_that_gives_no_json_is_asked_for_text() -> None:
    with openai_server() as server:
        assert gave(backend("openai-chat", server.url, json=False), schema=SCHEMA).meta == {"form": "text"}
        assert [seen.mode for seen in server.log] == ["text"]


def test_a_form_that_was_answered_is_not_given_up_for_one_bad_request() -> None:
    def reply(asked: ChatRequest) -> None:
        if "bad" in asked.text:
            raise BadRequest("the prompt is too long")

    with openai_server(replies=reply) as server:
        vlm = backend("openai-chat", server.url)
        gave(vlm, schema=SCHEMA)
        assert failure(vlm, "bad", schema=SCHEMA).kind == "rejected"
        assert len(server.log) == 2
        assert gave(vlm, "good", schema=SCHEMA).meta == {"form": "json_schema"}


def test_a_request_that_no_form_helps_fails_as_with_the_first() -> None:
    def reply(asked: ChatRequest) -> None:
        raise BadRequest(f"no such thing in mode {asked.mode}")

    with openai_server(replies=reply) as server:
        failed = failure(backend("openai-chat", server.url), "JSON", schema=SCHEMA)
    assert failed.kind == "rejected"
    assert "mode json_schema" in failed.message


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "failed"), FAULTS.items())
def test_fault_once_and_always(kind: str, failed: str) -> None:
    with openai_server(plan=[kind], retry_after=0.01) as server:
        assert gave(backend("openai-chat", server.url)).text
        assert len(server.log) == 2
        server.plan = chance(1.0, [kind])
        error = failure(backend("openai-chat", server.url))
    assert (error.kind, error.attempts) == (failed, 3)


@pytest.mark.parametrize(
    ("kind", "failed"), [("refusal_field", "refusal"), ("content_filter", "refusal"), ("empty", "empty")]
)
def test_reply_that_is_no_answer(kind: str, failed: str) -> None:
    with openai_server(plan=[kind]) as server:
        assert failure(backend("openai-chat", server.url)).kind == failed
        assert len(server.log) == 1


def test_text_that_declines_or_breaks_off_is_left_to_whoever_reads_it() -> None:
    with openai_server(plan=["refusal", "truncated"]) as server:
        vlm = backend("openai-chat", server.url)
        assert "can't help" in str(gave(vlm).text)
        assert gave(vlm).finish_reason == "length"


def test_filter_that_answers_400_is_a_refusal() -> None:
    def reply(asked: ChatRequest) -> None:
        raise BadRequest("The response was filtered due to Azure OpenAI's content management policy.")

    with openai_server(replies=reply) as server:
        # and is no reason to ask for another form
        assert failure(backend("openai-chat", server.url), schema=SCHEMA).kind == "refusal"
        assert len(server.log) == 1


def test_a_fifth_of_the_requests_failing_is_nothing_to_be_seen() -> None:
    asks = [Ask(str(number), f"Question {number}", (picture(),)) for number in range(40)]
    with openai_server() as server:
        calm = answers(backend("openai-chat", server.url), *asks)
    with openai_server(plan=chance(0.2, list(FAULTS)), retry_after=0.01) as server:
        stormy = answers(backend("openai-chat", server.url, attempts=8), *asks)
        assert len(server.log) > 40
    assert [reply.text for reply in stormy] == [reply.text for reply in calm]  # type: ignore[union-attr]


# --- keys -------------------------------------------------------------------------------------------------------------


def test_key_that_is_not_set_is_told_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("A_KEY", raising=False)
    with openai_server() as server:
        vlm = backend("openai-chat", server.url, key_env="A_KEY")
        failed = failure(vlm)
        assert isinstance(failed, RunStopped)
        assert str(failed) == f"$A_KEY is not set; it holds the key of {server.url}"
        assert checked(vlm, ping=True) == ["key: $A_KEY is not set"]
        assert server.log == []


def test_planted_secrets_appear_nowhere(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("A_KEY", "planted-key")
    with openai_server(plan=chance(1.0, ["echo_key"])) as server:
        url = server.url.replace("http://", "http://planted-user:planted-pass@") + "?sig=planted-query"
        vlm = backend("openai-chat", url, key_env="A_KEY")
        failed = failure(vlm)
        findings = checked(vlm, ping=True)
    assert isinstance(failed, RunStopped)
    shown = [str(failed), repr(failed), "".join(traceback.format_exception(failed)), repr(vlm.describe()), *findings]
    shown += [record.getMessage() for record in caplog.records]
    assert findings
    for secret in ("planted-key", "planted-pass", "planted-query"):
        assert not [text for text in shown if secret in text]


# --- what is told -----------------------------------------------------------------------------------------------------


def test_description() -> None:
    vlm = backend("openai-chat", "http://user:pass@localhost:8000/v1?sig=abcdef", parameters={"temperature": 0})
    assert vlm.describe()["endpoint"] == "http://localhost:8000/v1"
    assert vlm.describe()["parameters"] == {"temperature": 0}
    assert "pass" not in repr(vlm.describe())
    assert (vlm.gives, vlm.takes_images) == (BOTH, True)


def test_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "right")
    with openai_server(key="right", models=["m", "model-2"]) as server:
        assert checked(backend("openai-chat", server.url, key_env="A_KEY")) == []
        assert server.log == []
        assert checked(backend("openai-chat", server.url, key_env="A_KEY"), ping=True) == []
        assert len(server.log) == 1
        assert checked(backend("openai-chat", server.url, key_env="A_KEY", model="model-1")) == [
            f"model: {server.url} does not list 'model-1'; it lists model-2"
        ]
        monkeypatch.setenv("A_KEY", "wrong")
        assert checked(backend("openai-chat", server.url, key_env="A_KEY")) == [
            f"key: {server.url} refuses the one in $A_KEY: HTTP 401"
        ]
    (finding,) = checked(backend("openai-chat", server.url, key_env="A_KEY"))
    assert finding.startswith(f"endpoint: {server.url}: connection: ")


def test_budget() -> None:
    with pytest.raises(UsageError, match="no price of model 'm'"):
        backend("openai-chat", None, budget=Budget(max_cost=1, prices={"other": {"input": 1}}))
    budget = Budget(max_cost=1, prices={"m": {"input": 1, "output": 2, "image": 0.01}})
    with openai_server(replies=saying(content="", images=[URL])) as server:
        found = gave(backend("openai-chat", server.url, budget=budget), wants=IMAGE)
    assert found.usage.cost is not None
    assert found.usage.cost == budget.used.cost
    assert found.usage.cost > 0.01
