"""Chat completions of OpenAI-compatible servers: the `openai` client under the pool's scheduling."""

import re
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from typing import Any

from .addresses import addresses
from .budget import Budget
from .completion import Completion
from .completion import read_completion
from .completion import read_json
from .connections import Connections
from .connections import openai_client
from .faults import REJECTED
from .faults import CallFailed
from .pool import Pool
from .redact import guard_logs
from .redact import label
from .usage import Usage
from .usage import estimate
from .usage import measure

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Two names of one limit: servers know the old one, OpenAI's reasoning models only the new.
_LIMITS = ("max_tokens", "max_completion_tokens")
_UNKNOWN = re.compile(
    r"unsupported|not supported|(?:does|do) not support|doesn't support|unrecognized|unknown|unexpected|extra|"
    r"not permitted|not allowed|not implemented|invalid (?:parameter|argument|field)",
    re.IGNORECASE,
)
_TOO_MUCH = re.compile(
    r"too large|too long|too many|context|exceed|at (?:most|least)|(?:less|greater) than", re.IGNORECASE
)


class ChatClient:
    """Asks a model for chat completions.

    Connections belong to the event loop that first uses them; `aclose` ends them, and the next request opens others.

    Args:
        model: as the server knows it.
        endpoints: base URLs (`http://host:8000/v1`); a user and password in one are sent as such.
        key: bearer token.
        limit: requests under way at most.
        attempts, deadline: as `pool.Pool`.
        timeout: seconds that one attempt may be silent.
        budget: what may be spent.
        pool: further arguments of `pool.Pool`.

    Attributes:
        budget: what was used, failed attempts included.
        changes: parameters that the server refused -> what is sent instead (None: nothing).

    Raises:
        ValueError: endpoints that are no URLs, or a budget of cost without this model's price.
    """

    def __init__(
        self,
        model: str,
        endpoints: Sequence[str],
        *,
        key: str,
        limit: int = 16,
        attempts: int = 6,
        deadline: float | None = 600.0,
        timeout: float = 300.0,
        budget: Budget | None = None,
        pool: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.budget = budget or Budget()
        self.budget.price(Usage(), model)
        self.changes: dict[str, str | None] = {}
        self._addresses = addresses(endpoints)
        self._key = key
        self._timeout = timeout
        self.pool = Pool(
            endpoints,
            limit=limit,
            attempts=attempts,
            deadline=deadline,
            budget=self.budget,
            model=model,
            secrets=[key],
            **(pool or {}),
        )
        guard_logs(self.pool.redact)
        self._clients: Connections[AsyncOpenAI] = Connections(self._connect, lambda client: client.close())

    def __repr__(self) -> str:
        return f"ChatClient({self.model!r}, {self.names!r})"

    @property
    def names(self) -> list[str]:
        """The endpoints' addresses, without credentials."""
        return [endpoint.name for endpoint in self.pool.endpoints]

    async def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        max_tokens: int,
        pictures: Callable[[Completion], int] | None = None,
        **parameters: Any,
    ) -> Completion:
        """Ask once, with retries.

        A parameter that the server doesn't know (400 or 422 naming it) is left out from then on, and the limit goes by
        its other name; `changes` says so.

        Args:
            messages: OpenAI chat messages.
            max_tokens: limit of the reply.
            pictures: how many images a reply holds, of a model that makes them; they count as produced.
            parameters: temperature, seed, response_format, …; those that are None aren't sent.

        Raises:
            CallFailed: the request stays without a reply.
            RunStopped: no further request can be made.
        """
        wanted = {"max_tokens": max_tokens, **{name: value for name, value in parameters.items() if value is not None}}
        images, size = measure(messages)
        costs = self.budget.max_cost is not None
        most = estimate(messages, max_tokens) if costs else Usage(requests=1, images=images, bytes=size)
        most = replace(most, produced=int(pictures is not None))

        while True:
            sent = self._changed(wanted)

            async def send(url: str, sent: Mapping[str, Any] = sent) -> Completion:
                reply = await self._send(url, messages, sent, images, size)
                if pictures is None:
                    return reply
                return replace(reply, usage=replace(reply.usage, produced=pictures(reply)))

            try:
                return await self.pool.run(send, estimate=most, usage=lambda reply: reply.usage)
            except CallFailed as error:
                failed = error
            refused = _refused(failed, sent)
            if refused is None:
                raise failed
            self._change(refused)

    def _changed(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        names = {name: self.changes.get(name, name) for name in wanted}
        return {other: wanted[name] for name, other in names.items() if other is not None}

    def _change(self, refused: str) -> None:
        if refused == "max_tokens":
            self.changes[refused] = "max_completion_tokens"
        else:
            self.changes["max_tokens" if refused in _LIMITS else refused] = None

    async def _send(
        self, url: str, messages: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any], images: int, size: int
    ) -> Completion:
        client = self._clients.of(url)
        create: Any = client.chat.completions.with_raw_response.create
        raw = await create(model=self.model, messages=messages, **parameters)
        body = read_json(raw.content, raw.headers)
        return read_completion(body, endpoint=label(url), images=images, size=size)

    def _connect(self, url: str) -> "AsyncOpenAI":
        return openai_client(self._addresses[url], key=self._key, limit=self.pool.limit, timeout=self._timeout)

    async def aclose(self) -> None:
        """End the connections; what the endpoints refused is forgotten too."""
        await self._clients.aclose()
        self.pool.reopen()


def _refused(failed: CallFailed, sent: Mapping[str, Any]) -> str | None:
    """The parameter that a server doesn't know, by its own words."""
    if failed.kind != REJECTED or failed.status not in (400, 422):
        return None
    if not _UNKNOWN.search(failed.message) or _TOO_MUCH.search(failed.message):
        return None
    named = [name for name in (*_LIMITS, "seed", "temperature") if re.search(rf"(?<!\w){name}(?!\w)", failed.message)]
    return next((name for name in named if name in sent), None)
