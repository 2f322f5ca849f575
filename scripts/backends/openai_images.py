"""OpenAI's images endpoints: `/images/edits` with the real input, `/images/generations` without one."""

from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

import anyio.to_thread

from medgen_metrics.serving.addresses import addresses
from medgen_metrics.serving.completion import read_json
from medgen_metrics.serving.completion import reported
from medgen_metrics.serving.connections import Connections
from medgen_metrics.serving.connections import openai_client
from medgen_metrics.serving.faults import REJECTED
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Malformed
from medgen_metrics.serving.faults import is_moderation
from medgen_metrics.serving.usage import Usage
from medgen_metrics.serving.usage import prompt_tokens

from ..errors import UsageError
from . import pictures
from .base import NO_IMAGE
from .base import REFUSAL
from .base import Ask
from .base import Gave
from .base import Options
from .openai_chat import DEFAULT_URL
from .openai_chat import models_request
from .remote import Remote

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from ..systems.file import Component

CONCURRENCY = 4
# Diffusion models on one card take minutes, and those that wait for it are silent.
TIMEOUT = 900.0
# gpt-image-1 at high quality, 1024 x 1536, the dearest that it lists.
_MOST_TOKENS = 6240
# What the base64 of a reply is called, and the URL; OpenAI's first, then what servers of the public release answered.
_BASE64 = ("b64_json", "bytesBase64", "bytesBase64Encoded", "base64", "image")
_LISTS = ("data", "images", "output", "predictions")
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}


def make(component: "Component", options: Options) -> "OpenAIImages":
    """See `base.make`."""
    return OpenAIImages(component, options)


class OpenAIImages(Remote):
    """An image model behind OpenAI's `images` endpoints.

    With input images `image_route: edits` sends them as the files of a multipart body, `image_route: json` as data URLs
    in the field `image` of `/images/generations` (one as a string, several as a list), as Seedream takes them.
    `parameters` of the component are sent as they are; `seed: record` sends the record's seed. Replies are asked for in
    base64 where the server can.
    """

    gives = ping_wants = frozenset({"image"})

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, default_url=DEFAULT_URL, concurrency=CONCURRENCY, timeout=TIMEOUT)
        try:
            self._addresses = addresses([self.url])
        except ValueError as error:
            raise UsageError(f"{self.model}: {error}") from error
        self._pool = self.make_pool()
        self._clients: Connections[AsyncOpenAI] = Connections(self._connect, lambda client: client.close())
        # gpt-image models give nothing but base64 and know no such parameter
        self._response_format = None if self.model.startswith("gpt-image") else "b64_json"

    async def _ask(self, ask: Ask) -> Gave:
        files = await anyio.to_thread.run_sync(lambda: [pictures.as_sent(image) for image in ask.images])
        body, usage = await self._answered(ask, files)
        entries = list(_entries(body))
        if not entries:
            raise CallFailed(NO_IMAGE, f"expected an image, got {self._pool.redact(repr(body), 200)}")
        image = await self._image(entries[0])
        meta: dict[str, Any] = {}
        if isinstance(revised := entries[0].get("revised_prompt"), str) and revised:
            meta["revised_prompt"] = revised
        if len(entries) > 1:
            meta["images"] = len(entries)
        model = body.get("model")
        return Gave(
            image=image,
            usage=self.budget.price(usage, self.model),
            model=model if isinstance(model, str) and model else None,
            meta=meta,
        )

    async def _answered(self, ask: Ask, files: list[tuple[bytes, str]]) -> tuple[Mapping[str, Any], Usage]:
        usage = Usage(requests=1, images=len(files), bytes=sum(len(data) for data, _ in files) + len(ask.prompt))
        estimate = replace(usage, produced=1)
        if self.budget.max_cost is not None:
            tokens = prompt_tokens(ask.prompt, (data for data, _ in files))
            estimate = replace(estimate, prompt_tokens=tokens, completion_tokens=_MOST_TOKENS)
        while True:
            form = self._response_format

            async def send(url: str, form: str | None = form) -> tuple[Mapping[str, Any], Usage]:
                body = await self._send(url, ask, files, form)
                return body, _usage(body, usage)

            try:
                return await self._pool.run(send, estimate=estimate, usage=lambda reply: reply[1])
            except CallFailed as error:
                failed = error
            if form is None or failed.kind != REJECTED or "response_format" not in failed.message:
                raise failed
            self._response_format = None

    async def _send(self, url: str, ask: Ask, files: list[tuple[bytes, str]], form: str | None) -> Mapping[str, Any]:
        others = {"response_format": form, **self.component.parameters}
        if others.get("seed") == "record":
            others["seed"] = ask.seed
        if ask.size is not None:
            others["size"] = "{}x{}".format(*ask.size)
        size = others.pop("size", None)
        others = {name: value for name, value in others.items() if value is not None}
        images: Any = self._clients.of(url).images.with_raw_response
        given: dict[str, Any] = {"model": self.model, "prompt": ask.prompt}
        if size is not None:
            given["size"] = size
        if files and self.component.image_route == "edits":
            sent = [(f"image{place}.{_ENDINGS[kind]}", data, kind) for place, (data, kind) in enumerate(files)]
            raw = await images.edit(image=sent if len(sent) > 1 else sent[0], extra_body=others, **given)
        else:
            if files:
                urls = [pictures.data_url(data) for data, _ in files]
                others["image"] = urls if len(urls) > 1 else urls[0]
            raw = await images.generate(extra_body=others, **given)
        body = read_json(raw.content, raw.headers)
        if isinstance(body, list):
            body = {"data": body}
        if not isinstance(body, Mapping):
            raise Malformed(f"expected images, got {body!r:.200}")
        if body.get("error"):
            raise reported(body["error"])
        return body

    async def _image(self, entry: Mapping[str, Any]) -> bytes:
        error = entry.get("error")
        if error:
            said = self._pool.redact(str(error))
            raise CallFailed(REFUSAL if is_moderation(said) else NO_IMAGE, f"the server made no image: {said}")
        for name in _BASE64:
            value = entry.get(name)
            if isinstance(value, str) and value and not value.startswith(("http://", "https://")):
                return pictures.of_base64(value)
        url = entry.get("url") or entry.get("image")
        if isinstance(url, str) and url:
            return await self.fetcher.image(url)
        raise CallFailed(NO_IMAGE, f"expected b64_json or url, got {self._pool.redact(repr(dict(entry)), 200)}")

    def _connect(self, url: str) -> "AsyncOpenAI":
        return openai_client(self._addresses[url], key=self.key, limit=self._pool.limit, timeout=self.timeout)

    def _models_request(self) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
        return models_request(self.url, self.key)

    async def aclose(self) -> None:
        """See `base.Backend`."""
        await self._clients.aclose()
        await self.fetcher.aclose()
        self._pool.reopen()


def _entries(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for name in _LISTS:
        value = body.get(name)
        entries = value if isinstance(value, list) else [value]
        for entry in entries:
            if isinstance(entry, str) and entry:
                yield {"url" if entry.startswith(("http://", "https://")) else "b64_json": entry}
            elif isinstance(entry, Mapping):
                yield entry


def _usage(body: Mapping[str, Any], sent: Usage) -> Usage:
    """What a reply consumed; models that are billed by the image report no tokens."""
    told = body.get("usage")
    told = told if isinstance(told, Mapping) else {}
    counts = [told.get(name) for name in ("input_tokens", "output_tokens")]
    known = [count for count in counts if isinstance(count, int) and not isinstance(count, bool) and count >= 0]
    produced = sum(1 for _ in _entries(body))
    if len(known) < 2:
        return replace(sent, produced=produced, unreported=1)
    return replace(sent, prompt_tokens=known[0], completion_tokens=known[1], produced=produced)
