import base64
import json
import logging
import traceback
from typing import Any

import anyio
import pytest
from aiohttp import web

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.faults import RunStopped

from ...servers.misbehaviour import chance
from ...servers.openai_images import ImageRequest
from ...servers.openai_server import openai_server
from ...servers.threaded import Threaded
from .asking import FAULTS
from .asking import IMAGE
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


class Asked:
    """Keeps image requests as they were read."""

    def __init__(self) -> None:
        self.all: list[ImageRequest] = []

    def __call__(self, asked: ImageRequest) -> None:
        self.all.append(asked)


# --- what is sent -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP"])
def test_edit_sends_the_real_input(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "secret-1")
    seen, given = Asked(), picture(form=form)
    with openai_server(key="secret-1", pictures=seen) as server:
        editor = backend("openai-images", server.url, key_env="A_KEY", parameters={"quality": "high"})
        found = gave(editor, "Remove it.", images=(given,), wants=IMAGE, size=(128, 96))
        (row,) = server.log
    (asked,) = seen.all
    assert row.path == "/v1/images/edits"
    assert [image.data for image in asked.images] == [given]
    assert asked.body == {
        "model": "m", "prompt": "Remove it.", "size": "128x96", "quality": "high", "response_format": "b64_json",
    }  # fmt: skip
    assert found.text is None
    assert pixels(found.image).size == (128, 96)
    assert pixel(found.image, (100, 80)) == inverse(given, (30, 25))
    assert (found.usage.requests, found.usage.images, found.usage.produced, found.usage.completion_tokens) == (
        1, 1, 1, 272,
    )  # fmt: skip


def test_several_inputs_in_their_order() -> None:
    seen = Asked()
    files = tuple(picture(colour=(value, value, value)) for value in (10, 20, 30))
    with openai_server(pictures=seen) as server:
        gave(backend("openai-images", server.url), images=files, wants=IMAGE)
    assert tuple(image.data for image in seen.all[0].images) == files


def test_generation() -> None:
    seen = Asked()
    with openai_server(pictures=seen) as server:
        painter = backend("openai-images", server.url, takes_image=False, parameters={"seed": "record"})
        found = gave(painter, "A lung.", wants=IMAGE, size=(64, 128), seed=11)
        (row,) = server.log
    assert row.path == "/v1/images/generations"
    assert seen.all[0].body == {
        "model": "m", "prompt": "A lung.", "size": "64x128", "seed": 11, "response_format": "b64_json",
    }  # fmt: skip
    assert pixels(found.image).size == (64, 128)


def test_size_of_the_parameters_where_none_is_asked_for() -> None:
    seen = Asked()
    with openai_server(pictures=seen) as server:
        gave(backend("openai-images", server.url, parameters={"size": "96x64"}), wants=IMAGE)
    assert seen.all[0].size == (96, 64)


@pytest.mark.parametrize("count", [1, 2])
def test_input_in_the_body_of_a_generation(count: int) -> None:
    seen = Asked()
    with openai_server(pictures=seen) as server:
        editor = backend("openai-images", server.url, image_route="json")
        gave(editor, images=(picture(),) * count, wants=IMAGE)
        assert [row.path for row in server.log] == ["/v1/images/generations"]
    sent = seen.all[0].body["image"]
    for url in [sent] if count == 1 else sent:
        assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == picture()


# --- replies ----------------------------------------------------------------------------------------------------------


def test_gpt_image_knows_no_response_format() -> None:
    with openai_server() as server:
        assert gave(backend("openai-images", server.url, model="gpt-image-1"), wants=IMAGE).image
        assert len(server.log) == 1


def test_url_is_fetched_from_hosts_that_are_named() -> None:
    with openai_server() as server:
        given: dict[str, Any] = {"parameters": {"response_format": "url"}}
        host = server.url.split("/")[2]
        found = gave(backend("openai-images", server.url, hosts=[host], **given), images=(picture(),), wants=IMAGE)
        assert pixels(found.image).size == (40, 30)
        refused = failure(backend("openai-images", server.url, hosts=["example.com"], **given), wants=IMAGE)
    assert refused.kind == "url_refused"
    assert "the system's file allows hosts: example.com" in refused.message


class Other(Threaded):
    """A server that answers as it is told."""

    def __init__(self, *bodies: Any, status: int = 200) -> None:
        self.bodies, self.status, self.asked = list(bodies), status, []  # type: ignore[var-annotated]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_post("/{path:.+}", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.Response:
        self.asked.append(await request.read())
        return web.json_response(self.bodies.pop(0), status=self.status)


MADE = picture((16, 16))
B64 = base64.b64encode(MADE).decode()


@pytest.mark.parametrize(
    "body",
    [
        {"data": [{"b64_json": B64}]},
        {"data": [{"b64_json": f"data:image/png;base64,{B64}"}]},
        {"data": [{"url": f"data:image/png;base64,{B64}"}]},
        {"images": [{"b64_json": B64}]},
        {"output": [B64]},
        {"output": {"b64_json": [], "bytesBase64": B64}},
        {"predictions": [{"bytesBase64Encoded": B64, "mimeType": "image/png"}]},
        [{"b64_json": B64}],
    ],
)
def test_where_servers_put_their_image(body: Any) -> None:
    with Other(body) as server:
        found = gave(backend("openai-images", server.url), wants=IMAGE)
    assert found.image == MADE
    assert found.usage.unreported == 1


def test_what_a_server_tells_beside() -> None:
    body = {"model": "dall-e-3-x", "data": [{"b64_json": B64, "revised_prompt": "A lung, in oil."}, {"b64_json": B64}]}
    with Other(body) as server:
        found = gave(backend("openai-images", server.url), wants=IMAGE)
    assert (found.model, found.meta) == ("dall-e-3-x", {"revised_prompt": "A lung, in oil.", "images": 2})
    assert found.usage.produced == 2


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"data": []}, "no_image"),
        ({"data": [{"b64_json": ""}]}, "no_image"),
        ({"created": 0}, "no_image"),
        ({"data": [{"error": {"code": "OutputImageSensitiveContentDetected", "message": "no"}}]}, "refusal"),
        ({"data": [{"b64_json": base64.b64encode(b"{'error': 'quota'}").decode()}]}, "not_an_image"),
        ({"data": [{"b64_json": "https//nothing"}]}, "not_an_image"),
    ],
)
def test_reply_without_an_image(body: Any, kind: str) -> None:
    with Other(body) as server:
        failed = failure(backend("openai-images", server.url), wants=IMAGE)
    assert failed.kind == kind


def test_response_format_that_a_server_refuses_is_left_out() -> None:
    refused = {"error": {"message": "Unknown parameter: 'response_format'.", "code": "unknown_parameter"}}

    class Once(Other):
        async def answer(self, request: web.Request) -> web.Response:
            self.status = 400 if not self.asked else 200
            return await super().answer(request)

    with Once(refused, {"data": [{"b64_json": B64}]}, {"data": [{"b64_json": B64}]}) as server:
        painter = backend("openai-images", server.url)
        assert gave(painter, wants=IMAGE).image == gave(painter, wants=IMAGE).image == MADE
    assert ["response_format" in json.loads(body) for body in server.asked] == [True, False, False]


# --- what goes wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "failed"), FAULTS.items())
def test_fault_once_and_always(kind: str, failed: str) -> None:
    with openai_server(plan=[kind], retry_after=0.01) as server:
        assert gave(backend("openai-images", server.url), images=(picture(),), wants=IMAGE).image
        assert len(server.log) == 2
        # the file is sent whole again
        assert len({row.digest for row in server.log}) == 1
        server.plan = chance(1.0, [kind])
        error = failure(backend("openai-images", server.url), images=(picture(),), wants=IMAGE)
    assert (error.kind, error.attempts) == (failed, 3)


@pytest.mark.parametrize(("kind", "failed"), [("refusal", "refusal"), ("not_an_image", "not_an_image")])
def test_reply_that_is_no_picture(kind: str, failed: str) -> None:
    with openai_server(plan=[kind]) as server:
        error = failure(backend("openai-images", server.url), images=(picture(),), wants=IMAGE)
        assert len(server.log) == 1
    assert error.kind == failed


def test_silent_server_costs_an_attempt() -> None:
    with openai_server(plan=["slow"], slow=30) as server:
        assert gave(backend("openai-images", server.url, timeout=1), wants=IMAGE).image
        assert len(server.log) == 2


def test_a_fifth_of_the_requests_failing_is_nothing_to_be_seen() -> None:
    asks = [Ask(str(number), f"Edit {number}", (picture(),), IMAGE) for number in range(20)]
    with openai_server() as server:
        calm = answers(backend("openai-images", server.url), *asks)
    with openai_server(plan=chance(0.2, list(FAULTS)), retry_after=0.01) as server:
        stormy = answers(backend("openai-images", server.url, attempts=8), *asks)
        assert len(server.log) > 20
    assert [reply.image for reply in stormy] == [reply.image for reply in calm]  # type: ignore[union-attr]


def test_planted_secrets_appear_nowhere(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("A_KEY", "planted-key")
    with openai_server(plan=chance(1.0, ["echo_key"])) as server:
        url = server.url.replace("http://", "http://planted-user:planted-pass@") + "?sig=planted-query"
        editor = backend("openai-images", url, key_env="A_KEY")
        failed = failure(editor, images=(picture(),), wants=IMAGE)
        findings = checked(editor, ping=True)
    assert isinstance(failed, RunStopped)
    shown = [str(failed), repr(failed), "".join(traceback.format_exception(failed)), repr(editor.describe()), *findings]
    shown += [record.getMessage() for record in caplog.records]
    for secret in ("planted-key", "planted-pass", "planted-query"):
        assert not [text for text in shown if secret in text]


# --- ends -------------------------------------------------------------------------------------------------------------


def test_ping_makes_one_image() -> None:
    with openai_server() as server:
        assert checked(backend("openai-images", server.url, model="stub-judge"), ping=True) == []
        assert [row.path for row in server.log] == ["/v1/images/edits"]


def test_price_by_the_image() -> None:
    budget = Budget(max_cost=0.1, prices={"m": {"image": 0.04}})
    with Other(*[{"data": [{"b64_json": B64}]}] * 3) as server:
        painter = backend("openai-images", server.url, budget=budget)
        found = [anyio.run(painter.ask, Ask("a", "A lung.", wants=IMAGE)) for _ in range(2)]
        assert [one.usage.cost for one in found] == [0.04, 0.04]
        assert isinstance(failure(painter, wants=IMAGE), RunStopped)
        assert len(server.asked) == 2
    assert budget.used.cost == pytest.approx(0.08)
