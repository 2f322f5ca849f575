"""A small OpenAI-compatible server on loopback: chat with images, image generation and editing, faults on demand.

It checks what it is sent as strictly as the real servers do, decodes every image, and answers with a verdict drawn from
the JSON schema and the content of the request: the same request gets the same scores. They mean nothing: replies name
the model `stub-judge` and the fingerprint `stub`, whatever was asked for. By hand, to try the judge without a GPU:

    python -m tests.servers.openai_server --port 8000 --latency 0.2
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import threading
import time
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from aiohttp import web

from . import misbehaviour
from . import openai_images
from . import openai_replies
from .openai_images import ImageRequest
from .openai_log import Seen
from .openai_replies import MODEL
from .openai_replies import Reply
from .openai_requests import MODES
from .openai_requests import BadRequest
from .openai_requests import ChatRequest
from .openai_requests import read_chat
from .threaded import Threaded

_CHAT = "/v1/chat/completions"


class OpenAIServer(Threaded):
    """The server; serves from a thread of its own while it is open as a context manager.

    Args:
        latency: seconds that a request takes once it has a slot.
        slots: requests that are worked on at a time; others wait. None: no limit.
        queue: with `slots`, requests that may wait; beyond that 429 with Retry-After. None: no limit.
        plan: what goes wrong: kinds of `misbehaviour.KINDS` in the order of arrival, `misbehaviour.chance(…)`, or a
            function. A request may ask for a kind itself: header `X-Misbehave`, or model `NAME!KIND`.
        replies: from a chat request to its reply; None for the server's own.
        pictures: from an image request to the bytes of its picture; None for the server's own.
        key: expected as bearer token; without one anybody may ask.
        models: names that are known; others are answered 404. None: any.
        modes: response formats that are supported; others are answered 400.
        retry_after: seconds sent with 429 and 503.
        slow: seconds that the kind "slow" takes longer.
        salt: part of what scores are drawn from; another one stands for a model that changed under its name.
        log_file: a line of JSON is appended to it for every answered request.
        keep: whether `bodies` keeps requests' bodies, for tests that look into them.

    Attributes:
        log: answered requests, in order of their answers.
        bodies: bodies of chat requests by number.

    What was given may be changed while it serves.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        latency: float = 0.0,
        slots: int | None = None,
        queue: int | None = None,
        plan: misbehaviour.Plan | Iterable[str | None] = (),
        replies: Callable[[ChatRequest], Reply] | None = None,
        pictures: Callable[[ImageRequest], bytes | None] | None = None,
        key: str | None = None,
        models: Sequence[str] | None = None,
        modes: Sequence[str] = MODES,
        retry_after: float = 0.05,
        slow: float = 1.0,
        salt: str = "",
        log_file: Path | None = None,
        keep: bool = True,
    ) -> None:
        self.port, self.latency, self.slots, self.queue = port, latency, slots, queue
        self.plan = plan if callable(plan) else misbehaviour.script(plan)
        self.replies, self.pictures, self.key, self.models, self.modes = replies, pictures, key, models, tuple(modes)
        self.retry_after, self.slow, self.salt, self.log_file, self.keep = retry_after, slow, salt, log_file, keep
        self.log: list[Seen] = []
        self.bodies: dict[int, Mapping[str, Any]] = {}
        self._files: dict[str, bytes] = {}
        self._asked: Counter[str] = Counter()
        self._arrived = self._in_flight = 0

    @property
    def url(self) -> str:
        """The base URL, as `openai.OpenAI(base_url=…)` takes it."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def in_flight(self) -> int:
        """Requests that are being answered now."""
        return self._in_flight

    def chats(self) -> list[Seen]:
        """The log's chat requests."""
        return [seen for seen in self.log if seen.path == _CHAT]

    def app(self) -> web.Application:
        """What is served."""
        self._room = asyncio.Semaphore(self.slots) if self.slots else None
        app = web.Application(client_max_size=2**30)
        app.router.add_get("/health", self._health)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/files/{name}", self._file)
        for path in (_CHAT, "/v1/images/generations", "/v1/images/edits"):
            app.router.add_post(path, self._answer)
        return app

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def _models(self, request: web.Request) -> web.Response:
        if not self._admitted(request):
            return openai_replies.wrong_key()
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in self.models or (MODEL,)]
        return web.json_response({"object": "list", "data": data})

    async def _file(self, request: web.Request) -> web.Response:
        data = self._files.get(request.match_info["name"])
        return web.Response(status=404) if data is None else web.Response(body=data, content_type="image/png")

    def _publish(self, data: bytes) -> str:
        name = f"{hashlib.sha256(data).hexdigest()[:16]}.png"
        self._files[name] = data
        return f"http://127.0.0.1:{self.port}/files/{name}"

    def _admitted(self, request: web.Request) -> bool:
        return self.key is None or request.headers.get("Authorization") == f"Bearer {self.key}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self._in_flight += 1
        seen = Seen(self._arrived, request.path, time.monotonic(), self._in_flight)
        self._arrived += 1
        try:
            response = await self._respond(request, seen)
            seen.status = 0 if seen.misbehaviour == "drop" else response.status
            return response
        finally:
            self._in_flight -= 1
            seen.answered = time.monotonic()
            self.log.append(seen)
            if self.log_file is not None:
                with self.log_file.open("a") as file:
                    file.write(json.dumps(asdict(seen)) + "\n")

    async def _respond(self, request: web.Request, seen: Seen) -> web.StreamResponse:
        if not self._admitted(request):
            return openai_replies.wrong_key()
        try:
            asked = await self._read(request, seen)
            if self.models is not None and seen.model not in self.models:
                return openai_replies.unknown_model(seen.model)
            crowded = self.slots and self.queue is not None and self._in_flight > self.slots + self.queue
            if crowded or seen.misbehaviour in ("429", "503"):
                return openai_replies.busy("503" if seen.misbehaviour == "503" else "429", self.retry_after)
            # where a slot is free, reading and checking the request is part of the latency
            waits = self._room is not None and self._room.locked()
            async with self._room or contextlib.nullcontext():
                spent = 0.0 if waits else time.monotonic() - seen.received
                left = max(0.0, self.latency - spent)
                await asyncio.sleep(left + (self.slow if seen.misbehaviour == "slow" else 0))
            if (fault := openai_replies.fault(request, seen.misbehaviour)) is not None:
                return fault
            if isinstance(asked, ChatRequest):
                value = openai_replies.completion(asked, seen.misbehaviour, self.replies, self.salt)
                seen.prompt_tokens = value["usage"]["prompt_tokens"]
                seen.completion_tokens = value["usage"]["completion_tokens"]
            else:
                value = openai_images.answer(asked, seen.misbehaviour, self.pictures, self._publish)
        except BadRequest as bad:
            seen.message = str(bad)
            return openai_replies.error(400, str(bad))
        if seen.misbehaviour == "half":
            return await openai_replies.half(request, value)
        return web.json_response(value)

    async def _read(self, request: web.Request, seen: Seen) -> ChatRequest | ImageRequest:
        asked: ChatRequest | ImageRequest
        if request.path == _CHAT:
            asked = read_chat(await request.read(), self.modes)
            seen.mode, seen.max_tokens = asked.mode, asked.limit
            seen.seed, seen.temperature = asked.body.get("seed"), asked.body.get("temperature")
            if self.keep:
                self.bodies[seen.number] = asked.body
        else:
            asked = await openai_images.read(request)
        seen.model, _, wanted = asked.body["model"].partition("!")
        seen.digest, seen.images = asked.digest, tuple(replace(image, data=None) for image in asked.images)
        asked = replace(asked, earlier=self._asked[asked.digest])
        self._asked[asked.digest] += 1
        kind = request.headers.get("X-Misbehave") or wanted or self.plan(asked.digest, asked.earlier)
        seen.misbehaviour = misbehaviour.checked(kind)
        return asked


def openai_server(**given: Any) -> OpenAIServer:
    """`with openai_server(…) as server:`; takes what OpenAIServer takes."""
    return OpenAIServer(**given)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.openai_server", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8000, help="0: any free one")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds a request")
    parser.add_argument("--slots", type=int, help="requests worked on at a time")
    parser.add_argument("--queue", type=int, help="requests that may wait for a slot; beyond that 429")
    parser.add_argument("--failing", type=float, default=0.0, help="share of requests that go wrong")
    parser.add_argument("--kinds", default=",".join(misbehaviour.RANDOM), help="how they go wrong")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of those")
    parser.add_argument("--slow", type=float, default=1.0, help="seconds that a slow request takes longer")
    parser.add_argument("--modes", default=",".join(MODES), help="response formats that are supported")
    parser.add_argument("--picture", type=Path, help="file that every image request is answered with")
    parser.add_argument("--log", type=Path, help="file that a line is appended to for every request")
    given = parser.parse_args(arguments)
    plan = misbehaviour.chance(given.failing, given.kinds.split(","), given.seed)
    key = os.environ.get("STUB_JUDGE_KEY")
    picture = None if given.picture is None else given.picture.read_bytes()
    server = OpenAIServer(
        port=given.port, latency=given.latency, slots=given.slots, queue=given.queue, plan=plan, slow=given.slow,
        modes=given.modes.split(","), log_file=given.log, key=key, keep=False,
        pictures=None if picture is None else lambda asked: picture,
    )  # fmt: skip
    with server, contextlib.suppress(KeyboardInterrupt):
        print(f"{server.url}  (its scores are drawn from the request's digest and mean nothing; Ctrl-C ends it)")
        print(
            "Try: medgen-bench demo, then\n"
            "  medgen-bench score out/predictions/copy-input --edition sample --tiers judge --view both"
            f" --judge-url {server.url} --judge-model {MODEL}",
            flush=True,
        )
        threading.Event().wait()


if __name__ == "__main__":
    main()
