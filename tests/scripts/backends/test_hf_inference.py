import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.inference._common import _as_url
from huggingface_hub.inference._providers import _common

from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_scripts.backends import hf_session
from medgen_scripts.backends.fetching import Rules
from medgen_scripts.backends.hf_inference import typed

from ...servers.hf_server import HFServer
from ...servers.misbehaviour import chance
from ...servers.openai_server import openai_server
from .asking import BOTH
from .asking import FAULTS
from .asking import IMAGE
from .asking import SCHEMA
from .asking import Ask
from .asking import backend
from .asking import checked
from .asking import failure
from .asking import gave
from .asking import inverse
from .asking import picture
from .asking import pixel
from .asking import pixels


@pytest.fixture(autouse=True)
def nobody_is_logged_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HFServer]:
    """A Hub and a router on loopback, that know two providers."""
    with HFServer(providers={"fal-ai": "text-to-image", "nscale": "text-to-image"}) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "INFERENCE_PROXY_TEMPLATE", server.url + "/{provider}")
        # asked for once a process
        _common._fetch_inference_provider_mapping.cache_clear()
        yield server


# --- text -------------------------------------------------------------------------------------------------------------


def test_chat_as_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret-1")
    with openai_server(key="secret-1") as server:
        vlm = backend("hf-inference", server.url, key_env="A_KEY", parameters={"temperature": 0.4, "top_k": 5})
        found = gave(vlm, "Compare.", system="Be brief.", images=(picture(), picture(form="JPEG")), seed=7)
        (body,) = server.bodies.values()
        (seen,) = server.chats()
    assert [(image.media_type, image.width) for image in seen.images] == [("image/png", 40), ("image/jpeg", 40)]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert {name: value for name, value in body.items() if name not in ("messages", "stream")} == {
        "model": "m", "max_tokens": 2048, "seed": 7, "temperature": 0.4, "top_k": 5,
    }  # fmt: skip
    assert str(found.text).startswith("Stub answer")
    assert (found.finish_reason, found.model, found.fingerprint) == ("stop", "stub-judge", "stub")
    assert found.usage.prompt_tokens > 170


@pytest.mark.parametrize(("modes", "form"), [(("json_object", "text"), "json_schema"), (("text",), "text")])
def test_json_where_the_server_can(modes: tuple[str, ...], form: str) -> None:
    with openai_server(modes=modes) as server:
        found = gave(backend("hf-inference", server.url), "Answer in JSON.", schema=SCHEMA)
        # the client sends TGI's own form of a schema, whose type is json_object
        assert server.log[-1].mode == modes[0]
    assert found.meta == {"form": form}


def test_media_type_of_an_input() -> None:
    # which the client would otherwise call a JPEG
    assert _as_url(typed(picture()), "image/jpeg").startswith("data:image/png;base64,")
    assert _as_url(typed(picture(form="TIFF")), "image/jpeg").startswith("data:image/png;base64,")


@pytest.mark.parametrize(("kind", "failed"), FAULTS.items())
def test_text_fault_once_and_always(kind: str, failed: str) -> None:
    with openai_server(plan=[kind], retry_after=0.01) as server:
        assert gave(backend("hf-inference", server.url)).text
        assert len(server.log) == 2
        server.plan = chance(1.0, [kind])
        error = failure(backend("hf-inference", server.url))
    assert (error.kind, error.attempts) == (failed, 3)


@pytest.mark.parametrize(("kind", "failed"), [("content_filter", "refusal"), ("empty", "empty")])
def test_reply_that_is_no_answer(kind: str, failed: str) -> None:
    with openai_server(plan=[kind]) as server:
        assert failure(backend("hf-inference", server.url)).kind == failed


# --- images of an endpoint --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_image_to_image_sends_the_real_input(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret-1")
    given = picture(form=form)
    with HFServer(key="secret-1") as server:
        editor = backend(
            "hf-inference", f"{server.url}/endpoint", key_env="A_KEY", parameters={"guidance_scale": 4.0, "strength": 1}
        )
        found = gave(editor, "Remove it.", images=(given,), wants=IMAGE, size=(64, 48), seed=7)
        (asked,) = server.log
    assert (asked.prompt, asked.authorization) == ("Remove it.", "Bearer secret-1")
    (image,) = asked.images
    assert image.data == given
    assert asked.parameters == {
        "guidance_scale": 4.0, "strength": 1, "seed": 7, "target_size": {"width": 64, "height": 48},
    }  # fmt: skip
    assert pixel(found.image, (30, 25)) == inverse(given, (30, 25))
    assert (found.usage.images, found.usage.produced, found.text) == (1, 1, None)


def test_text_to_image() -> None:
    with HFServer() as server:
        painter = backend("hf-inference", f"{server.url}/endpoint", takes_image=False, parameters={"seed": None})
        assert pixels(gave(painter, "A lung.", wants=IMAGE, size=(64, 48)).image).size == (64, 64)
        (asked,) = server.log
    assert (asked.prompt, asked.images) == ("A lung.", ())
    assert asked.parameters == {"width": 64, "height": 48}
    # whoever is logged in at the Hub is nobody's business elsewhere
    assert asked.authorization == "Bearer EMPTY"


def test_a_token_of_the_hub_goes_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_planted_token")
    with HFServer() as server, openai_server(key="EMPTY") as chat:
        gave(backend("hf-inference", f"{server.url}/endpoint"), "A lung.", wants=IMAGE)
        assert server.log[0].authorization == "Bearer EMPTY"
        assert gave(backend("hf-inference", chat.url)).text


@pytest.mark.parametrize(
    ("kind", "failed"),
    [("drop", "connection"), ("half", "connection"), ("500", "server"), ("503", "overloaded"), ("429", "rate_limit")],
)
def test_image_fault_once_and_always(kind: str, failed: str) -> None:
    with HFServer(plan=[kind]) as server:
        assert gave(backend("hf-inference", f"{server.url}/endpoint"), images=(picture(),), wants=IMAGE).image
        assert len(server.log) == 2
        server.plan = chance(1.0, [kind])
        error = failure(backend("hf-inference", f"{server.url}/endpoint"), images=(picture(),), wants=IMAGE)
    assert (error.kind, error.attempts) == (failed, 3)


@pytest.mark.parametrize(
    ("kind", "failed"),
    [("refusal", "refusal"), ("not_an_image", "not_an_image"), ("content_type", "not_an_image")],
)
def test_reply_that_is_no_picture(kind: str, failed: str) -> None:
    with HFServer(plan=[kind]) as server:
        error = failure(backend("hf-inference", f"{server.url}/endpoint"), images=(picture(),), wants=IMAGE)
        assert len(server.log) == 1
    assert error.kind == failed


def test_silent_endpoint_costs_an_attempt() -> None:
    with HFServer(plan=["slow"], slow=30) as server:
        assert gave(backend("hf-inference", f"{server.url}/endpoint", timeout=1), wants=IMAGE).image
        assert len(server.log) == 2


def test_what_one_call_can_not_do() -> None:
    model = backend("hf-inference", "http://127.0.0.1:1/endpoint")
    failed = failure(model, images=(picture(), picture()), wants=IMAGE)
    assert (failed.kind, failed.attempts) == ("rejected", 0)
    with pytest.raises(ValueError, match="not both"):
        anyio.run(model.ask, Ask("a", "What is it?", wants=BOTH))


# --- providers --------------------------------------------------------------------------------------------------------


def test_provider_behind_the_router(hub: HFServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "hf_secret")
    host = hub.url.removeprefix("http://")
    given: dict[str, Any] = {
        "model": "org/model",
        "key_env": "A_KEY",
        "takes_image": False,
        "parameters": {"provider": "fal-ai"},
    }
    painter = backend("hf-inference", None, hosts=[host], **given)
    assert pixels(gave(painter, "A lung.", wants=IMAGE).image).size == (64, 64)
    assert [asked.path for asked in hub.log] == ["/fal-ai/org/model"]
    assert len(hub.fetched) == 1


def test_url_of_a_provider_is_followed_to_no_other_host(hub: HFServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "hf_secret")
    # the Hub itself may always be asked
    monkeypatch.setattr(constants, "ENDPOINT", hub.url.replace("127.0.0.1", "localhost"))
    given: dict[str, Any] = {
        "model": "org/model",
        "key_env": "A_KEY",
        "takes_image": False,
        "parameters": {"provider": "fal-ai"},
    }
    failed = failure(backend("hf-inference", None, **given), "A lung.", wants=IMAGE)
    assert (failed.kind, hub.fetched) == ("url_refused", [])
    assert len(hub.log) == 1


def test_what_the_library_fetches_for_others_is_left_alone(hub: HFServer) -> None:
    hub._files["a.png"] = b"a"
    url = f"{hub.url}/files/a.png"
    with hf_session.held(Rules(["example.com"])), pytest.raises(CallFailed, match="url_refused"):
        huggingface_hub.get_session().get(url)
    assert huggingface_hub.get_session().get(url).content == b"a"


def test_provider_that_does_not_serve_the_model(hub: HFServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "hf_secret")
    given: dict[str, Any] = {"key_env": "A_KEY", "parameters": {"provider": "together"}}
    failed = failure(backend("hf-inference", None, model="org/model", **given), "A lung.", wants=IMAGE)
    assert isinstance(failed, RunStopped)
    assert "not supported by provider together" in str(failed)
    assert checked(backend("hf-inference", None, model="org/model", **given)) == [
        "model: together does not serve 'org/model'; these do: fal-ai, nscale"
    ]
    assert checked(backend("hf-inference", None, model="unknown/model", **given)) == [
        "model: the Hub knows no 'unknown/model' that this token may see"
    ]
    assert checked(backend("hf-inference", None, model="org/model", key_env="A_KEY")) == []


# --- keys -------------------------------------------------------------------------------------------------------------


def test_planted_secrets_appear_nowhere(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("A_KEY", "planted-key")
    with HFServer(plan=chance(1.0, ["echo_key"])) as server:
        editor = backend("hf-inference", f"{server.url}/endpoint", key_env="A_KEY")
        failed = failure(editor, images=(picture(),), wants=IMAGE)
    assert isinstance(failed, RunStopped)
    assert failed.kind == "auth"
    shown = [str(failed), repr(failed), "".join(traceback.format_exception(failed)), repr(editor.describe())]
    shown += [record.getMessage() for record in caplog.records]
    assert not [text for text in shown if "planted-key" in text]


def test_endpoint_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "right")
    with openai_server(key="right") as server:
        assert checked(backend("hf-inference", server.url, key_env="A_KEY"), ping=True) == []
        monkeypatch.setenv("A_KEY", "wrong")
        (finding,) = checked(backend("hf-inference", server.url, key_env="A_KEY"))
    assert finding == f"key: {server.url} refuses the one in $A_KEY: HTTP 401"
