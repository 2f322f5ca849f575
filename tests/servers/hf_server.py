"""A small Hugging Face on loopback: images of an endpoint or of providers behind the router, and who serves a model.

Chat is of OpenAI's form: `openai_server` speaks it.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aiohttp import web

from . import misbehaviour
from . import openai_replies
from .openai_images import drawn
from .openai_requests import Picture
from .openai_requests import digest
from .openai_requests import read_picture
from .threaded import Threaded


@dataclass
class Asked:
    """A request as it was answered.

    Attributes:
        path: of the request.
        prompt: what was asked for.
        images: decoded, in order.
        parameters: all else.
        authorization: the header.
        misbehaviour: a kind of `misbehaviour.KINDS`.
    """

    path: str
    prompt: str
    images: tuple[Picture, ...]
    parameters: Mapping[str, Any]
    authorization: str | None
    misbehaviour: str | None


class HFServer(Threaded):
    """The server; serves while it is open as a context manager.

    Args:
        plan: what goes wrong, as `OpenAIServer` takes it.
        key: expected as bearer token; without one anybody may ask.
        providers: provider -> task, of every model on this Hub.

    Attributes:
        log: the requests for images that were understood.
        fetched: paths of files that were fetched.
    """

    def __init__(
        self,
        *,
        plan: misbehaviour.Plan | Iterable[str | None] = (),
        key: str | None = None,
        providers: Mapping[str, str] | None = None,
        slow: float = 1.0,
    ) -> None:
        self.plan = plan if callable(plan) else misbehaviour.script(plan)
        self.key, self.providers, self.slow = key, dict(providers or {}), slow
        self.log: list[Asked] = []
        self.fetched: list[str] = []
        self._files: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    def app(self) -> web.Application:
        """What is served."""
        app = web.Application(client_max_size=2**30)
        app.router.add_get("/api/models/{name:.+}", self._model)
        app.router.add_get("/files/{name}", self._file)
        app.router.add_post("/endpoint", self._answer)
        app.router.add_post("/{provider}/{name:.+}", self._answer)
        return app

    async def _model(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name.startswith("unknown"):
            headers = {"X-Error-Code": "RepoNotFound", "X-Error-Message": "Repository not found"}
            return web.json_response({"error": "Repository not found"}, status=404, headers=headers)
        mapping = {
            provider: {"status": "live", "providerId": name, "task": task} for provider, task in self.providers.items()
        }
        return web.json_response({"id": name, "_id": "0", "inferenceProviderMapping": mapping})

    async def _file(self, request: web.Request) -> web.Response:
        self.fetched.append(request.path)
        return web.Response(body=self._files[request.match_info["name"]], content_type="image/png")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        sent = request.headers.get("Authorization")
        if self.key is not None and sent != f"Bearer {self.key}":
            return web.json_response({"error": "Invalid username or password."}, status=401)
        asked = self._read(request, json.loads(await request.read()), sent)
        self.log.append(asked)
        kind = asked.misbehaviour
        if kind == "slow":
            await asyncio.sleep(self.slow)
        if kind in ("429", "503"):
            return web.json_response({"error": "too busy"}, status=int(kind), headers={"Retry-After": "0.05"})
        if kind == "500":
            return web.json_response({"error": "CUDA error: device-side assert triggered"}, status=500)
        if kind == "refusal":
            return web.json_response({"error": "Your request was rejected by the safety system."}, status=400)
        if kind == "echo_key":
            return web.json_response({"error": f"Invalid token {asked.authorization}"}, status=401)
        if kind in ("drop", "content_type") and (fault := openai_replies.fault(request, kind)) is not None:
            return fault
        data = drawn(asked.images, None, digest(asked.prompt))
        data = b"<html>no image here</html>" if kind == "not_an_image" else data
        if request.match_info.get("provider") == "fal-ai":
            name = f"{digest(asked.prompt)}.png"
            self._files[name] = data
            return web.json_response({"images": [{"url": f"{self.url}/files/{name}"}]})
        if kind == "half":
            return await openai_replies.half(request, data)
        return web.Response(body=data, content_type="image/png")

    def _read(self, request: web.Request, body: Mapping[str, Any], sent: str | None) -> Asked:
        parameters = dict(body.get("parameters") or {})
        prompt, images = body.get("inputs", body.get("prompt")), []
        try:
            images.append(read_picture("inputs", base64.b64decode(prompt, validate=True)))
        except (binascii.Error, ValueError):
            pass
        else:
            prompt = parameters.pop("prompt")
        kind = misbehaviour.checked(self.plan(digest(body), 0))
        return Asked(request.path, str(prompt), tuple(images), parameters, sent, kind)
