import json
import logging
import traceback

import pytest

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.faults import RunStopped
from medgen_scripts.errors import UsageError

from ...servers.gemini_server import Asked
from ...servers.gemini_server import GeminiServer
from ...servers.misbehaviour import chance
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
from .asking import inverse
from .asking import picture
from .asking import pixel
from .asking import pixels

MODEL = "stub-gemini"


def test_request_as_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret-1")
    parameters = {"temperature": 0.4, "thinkingConfig": {"thinkingBudget": 0}, "safetySettings": [{"category": "C"}]}
    with GeminiServer(key="secret-1") as server:
        vlm = backend("gemini", server.url, model=MODEL, key_env="A_KEY", parameters=parameters)
        files = (picture(), picture(form="JPEG"), picture(form="TIFF"))
        found = gave(vlm, "Compare.", system="Be brief.", images=files, seed=2**31 + 7, max_tokens=99)
        (asked,) = server.log
    assert [image.data for image in asked.images[:2]] == list(files[:2])
    assert [image.media_type for image in asked.images] == ["image/png", "image/jpeg", "image/png"]
    assert (asked.text, asked.key) == ("Compare.", "secret-1")
    assert asked.body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert asked.body["safetySettings"] == [{"category": "C"}]
    assert asked.body["generationConfig"] == {
        "maxOutputTokens": 99, "seed": 7, "temperature": 0.4, "thinkingConfig": {"thinkingBudget": 0},
    }  # fmt: skip
    assert found.text is not None
    # what it thought is no part of the answer
    assert found.text.startswith("Stub answer")
    assert (found.image, found.finish_reason, found.model) == (None, "stop", "stub-gemini-001")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.images) == (2 + 3 * 258, 25, 3)


@pytest.mark.parametrize(("schemas", "form"), [(True, "json_schema"), (False, "json_object")])
def test_json(schemas: bool, form: str) -> None:
    with GeminiServer(schemas=schemas) as server:
        vlm = backend("gemini", server.url, model=f"models/{MODEL}")
        for _ in range(2):
            found = gave(vlm, schema=SCHEMA)
            assert found.meta == {"form": form}
        config = server.log[-1].body["generationConfig"]
        assert len(server.log) == 2
    assert config["responseMimeType"] == "application/json"
    assert config.get("responseJsonSchema") == (SCHEMA if schemas else None)
    if schemas:
        assert json.loads(str(found.text)).keys() == {"answer"}


def test_image_and_text_in_one_call() -> None:
    given = picture()
    with GeminiServer() as server:
        found = gave(
            backend("gemini", server.url, model=MODEL), images=(given,), wants=BOTH, size=(1920, 1080), schema=SCHEMA
        )
        config = server.log[0].body["generationConfig"]
    assert config["responseModalities"] == ["TEXT", "IMAGE"]
    assert config["imageConfig"] == {"aspectRatio": "16:9"}
    assert "responseMimeType" not in config
    assert str(found.text).startswith("Stub answer")
    assert pixels(found.image).size == (128, 72)
    assert pixel(found.image, (120, 70)) == inverse(given, (39, 29))
    assert found.usage.produced == 1


@pytest.mark.parametrize(("kind", "failed"), FAULTS.items())
def test_fault_once_and_always(kind: str, failed: str) -> None:
    with GeminiServer(plan=[kind]) as server:
        assert gave(backend("gemini", server.url, model=MODEL)).text
        assert len(server.log) == 2
        server.plan = chance(1.0, [kind])
        error = failure(backend("gemini", server.url, model=MODEL))
    assert (error.kind, error.attempts) == (failed, 3)


def test_pause_that_the_body_asks_for() -> None:
    with GeminiServer(plan=["429"], retry=2000) as server:
        failed = failure(backend("gemini", server.url, model=MODEL, deadline=1000))
        assert len(server.log) == 1
    # no room within the deadline: the run ends instead of asking again at once
    assert isinstance(failed, RunStopped)
    assert failed.kind == "rate_limit"


def test_silent_server_costs_an_attempt() -> None:
    with GeminiServer(plan=["slow"], slow=30) as server:
        assert gave(backend("gemini", server.url, model=MODEL, timeout=1)).text
        assert len(server.log) == 2


@pytest.mark.parametrize(
    ("kind", "failed", "said"),
    [
        ("content_filter", "refusal", "the reply was blocked: SAFETY"),
        ("refusal_field", "refusal", "the prompt was blocked: PROHIBITED_CONTENT"),
        ("refusal", "refusal", "I'm sorry"),
        ("empty", "no_image", "expected an image, got text: ''"),
        ("not_an_image", "not_an_image", "<html>"),
    ],
)
def test_reply_without_an_image(kind: str, failed: str, said: str) -> None:
    with GeminiServer(plan=[kind]) as server:
        error = failure(backend("gemini", server.url, model=MODEL), images=(picture(),), wants=IMAGE)
        assert len(server.log) == 1
    assert error.kind == failed
    assert said in error.message


def test_reply_without_text() -> None:
    with GeminiServer(plan=["empty", "truncated"]) as server:
        vlm = backend("gemini", server.url, model=MODEL)
        assert failure(vlm).kind == "empty"
        assert gave(vlm).finish_reason == "length"


def test_a_fifth_of_the_requests_failing_is_nothing_to_be_seen() -> None:
    asks = [Ask(str(number), f"Edit {number}", (picture(),), IMAGE) for number in range(20)]
    with GeminiServer() as server:
        calm = answers(backend("gemini", server.url, model=MODEL), *asks)
    left = iter(FAULTS)
    with GeminiServer(plan=lambda digest, before: next(left, None)) as server:
        stormy = answers(backend("gemini", server.url, model=MODEL, attempts=8), *asks)
        assert len(server.log) == 20 + len(FAULTS)
    assert [reply.image for reply in stormy] == [reply.image for reply in calm]  # type: ignore[union-attr]


def test_planted_secrets_appear_nowhere(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("A_KEY", "planted-key")
    with GeminiServer(plan=chance(1.0, ["echo_key"])) as server:
        vlm = backend("gemini", server.url, model=MODEL, key_env="A_KEY")
        failed = failure(vlm)
        assert len(server.log) == 1
        findings = checked(vlm, ping=True)
    # 400 in Gemini's words, and a wrong key all the same
    assert isinstance(failed, RunStopped)
    assert failed.kind == "auth"
    assert str(failed).endswith("Check the key.")
    shown = [str(failed), repr(failed), "".join(traceback.format_exception(failed)), repr(vlm.describe()), *findings]
    shown += [record.getMessage() for record in caplog.records]
    assert len(findings) == 1
    assert not [text for text in shown if "planted-key" in text]


def test_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "right")
    with GeminiServer(key="right") as server:
        assert checked(backend("gemini", server.url, model=MODEL, key_env="A_KEY"), ping=True) == []
        assert checked(backend("gemini", server.url, model=f"models/{MODEL}", key_env="A_KEY")) == []
        assert len(server.log) == 1
        (finding,) = checked(backend("gemini", server.url, model="stub-gemina", key_env="A_KEY"))
        assert finding == f"model: {server.url} does not list 'stub-gemina'; it lists stub-gemini"
        monkeypatch.setenv("A_KEY", "wrong")
        (finding,) = checked(backend("gemini", server.url, model=MODEL, key_env="A_KEY"))
        assert finding == f"key: {server.url} refuses the one in $A_KEY: HTTP 400"
        failed = failure(backend("gemini", server.url, model="other"))
    assert isinstance(failed, RunStopped)


def test_addresses_that_hold_a_key_are_refused() -> None:
    for url in ("https://user:secret@host/v1beta", "https://host/v1beta?key=secret", "host"):
        with pytest.raises(UsageError) as failed:
            backend("gemini", url, model=MODEL)
        assert "secret" not in str(failed.value)


def test_cost() -> None:
    def replies(asked: Asked) -> str:
        return "Fine."

    budget = Budget(max_cost=1, prices={MODEL: {"input": 1, "output": 4}})
    with GeminiServer(replies=replies) as server:
        found = gave(backend("gemini", server.url, model=MODEL, budget=budget), images=(picture(),))
    assert found.usage.cost == pytest.approx((2 + 258 + 4 * 25) / 1e6)
    assert budget.used.cost == pytest.approx(found.usage.cost)
