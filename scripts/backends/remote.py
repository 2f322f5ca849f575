"""What all back ends behind a server share: key, budget, what is told of failures, and whether a run may begin."""

import difflib
import os
import re
from abc import ABC
from abc import abstractmethod
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

import anyio

from medgen_metrics.failures import is_refusal
from medgen_metrics.serving.addresses import key_from
from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.connections import http_library
from medgen_metrics.serving.faults import KINDS as TRANSPORT_KINDS
from medgen_metrics.serving.faults import REJECTED
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Fault
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.faults import fault_of
from medgen_metrics.serving.faults import is_moderation
from medgen_metrics.serving.pool import Pool
from medgen_metrics.serving.redact import Redactor
from medgen_metrics.serving.redact import guard_logs
from medgen_metrics.serving.redact import label
from medgen_metrics.serving.usage import Usage

from ..errors import UsageError
from . import pictures
from .base import NO_IMAGE
from .base import REFUSAL
from .base import Ask
from .base import Gave
from .base import Options
from .fetching import Fetcher

if TYPE_CHECKING:
    from ..systems.file import Component

CHECK_SECONDS = 15.0
_PLAIN = re.compile(r"https?://[^/@?#\s]+(?:/[^@?#\s]*)?")
# Room for a model that thinks before it answers.
PING_TOKENS = 256


class Remote(ABC):
    """A model behind a server.

    Args:
        component: what is asked.
        options: of the run.
        default_url: the provider's own.
        concurrency: requests under way at most where neither the run nor the component says.
        timeout: seconds that an attempt may be silent where the component doesn't say.

    Raises:
        UsageError: a key that can't be sent, or a budget of cost without this model's price.
    """

    gives: frozenset[str] = frozenset({"text"})
    ping_wants: frozenset[str] = frozenset({"text"})

    def __init__(
        self, component: "Component", options: Options, *, default_url: str, concurrency: int, timeout: float
    ) -> None:
        self.component = component.resolved()
        self.takes_images = component.takes_image
        self.model = self.component.model
        self.url = self.component.base_url or default_url
        self.budget = options.budget or Budget()
        self.concurrency = options.concurrency or component.concurrency or concurrency
        self.timeout = component.timeout or timeout
        self.fetcher = Fetcher(component.hosts)
        self._pool_options = options.pool
        variable = component.key_env
        try:
            self.key = key_from(None if variable else "", variable or "")
            self.budget.price(Usage(), self.model)
        except ValueError as error:
            raise UsageError(f"{self.model}: {error}") from error
        self.key_missing = variable is not None and not os.environ.get(variable, "").strip()

    def check_address(self) -> None:
        """Whether a library that takes addresses as they are can be given this one.

        Raises:
            UsageError: no address, or one that holds credentials, which would be shown in its messages.
        """
        if not _PLAIN.fullmatch(self.url):
            raise UsageError("base_url: expected an address such as https://host/v1, without credentials or a query")

    def make_pool(self, *secrets: str | None) -> Pool:
        """The pool of this model's requests, the log kept free of its secrets.

        Args:
            secrets: beside the key.

        Raises:
            UsageError: an address that is none, or scheduling that can't be.
        """
        try:
            pool = Pool(
                [self.url], budget=self.budget, model=self.model, secrets=[self.key, *secrets], **self.scheduling
            )
        except ValueError as error:
            raise UsageError(f"{self.model}: {error}") from error
        guard_logs(pool.redact)
        return pool

    @property
    def scheduling(self) -> dict[str, Any]:
        """What the component and the run say of retries, as `Pool` takes it."""
        return {
            "limit": self.concurrency,
            "attempts": self.component.attempts,
            "deadline": self.component.deadline,
            **self._pool_options,
        }

    def describe(self) -> dict[str, Any]:
        """See `base.Backend`."""
        return {**self.component.described(), "endpoint": label(self.url)}

    async def ask(self, ask: Ask) -> Gave:
        """See `base.Backend`."""
        if ask.images and not self.takes_images:
            raise ValueError(f"{self.model} takes no image; got {len(ask.images)}")
        if self.key_missing:
            raise RunStopped("auth", f"${self.component.key_env} is not set; it holds the key of {label(self.url)}")
        try:
            return await self._ask(ask)
        except CallFailed as error:
            failed = error
        if failed.kind == REJECTED and is_moderation(failed.message):
            raise CallFailed(REFUSAL, failed.message, failed.attempts, failed.status)
        raise failed

    @abstractmethod
    async def _ask(self, ask: Ask) -> Gave: ...

    async def check(self, ping: bool = False) -> list[str]:
        """See `base.Backend`."""
        if self.key_missing:
            return [f"key: ${self.component.key_env} is not set"]
        found = await self._check_models()
        if ping and not found:
            found = await self._ping()
        return found

    async def _check_models(self) -> list[str]:
        """Ask for the list of models, which costs nothing."""
        url, headers, query = self._models_request()
        redact = Redactor([self.key])
        library = http_library()
        try:
            with anyio.fail_after(CHECK_SECONDS):
                async with library.AsyncClient(timeout=CHECK_SECONDS) as client:
                    response = await client.get(url, headers=headers, params=query)
        except Exception as error:
            fault = fault_of(error) or Fault("connection", str(error))
            return [f"endpoint: {label(self.url)}: {fault.kind}: {redact(fault.text)}"]
        # Gemini says 400 to a wrong key
        if response.status_code in (401, 403) or (response.status_code == 400 and "API_KEY_INVALID" in response.text):
            where = f"in ${self.component.key_env}" if self.component.key_env else "of the URL, or none,"
            return [f"key: {label(self.url)} refuses the one {where}: HTTP {response.status_code}"]
        if response.status_code >= 500:
            return [f"endpoint: {label(self.url)}: HTTP {response.status_code}: {redact(response.text)}"]
        # a server without such a list serves all the same
        known = self._listed(response.json()) if response.status_code == 200 and _is_json(response) else None
        if not known or self.model in known:
            return []
        near = difflib.get_close_matches(self.model, known, 3) or sorted(known)[:3]
        return [f"model: {label(self.url)} does not list {self.model!r}; it lists {', '.join(near)}"]

    @abstractmethod
    def _models_request(self) -> tuple[str, Mapping[str, str], Mapping[str, str]]:
        """URL, headers and query of the list of models."""

    def _listed(self, body: Any) -> Sequence[str] | None:
        """The models of OpenAI's form of the list; None where it has another."""
        entries = body.get("data") if isinstance(body, Mapping) else None
        if not isinstance(entries, list):
            return None
        return [str(entry.get("id")) for entry in entries if isinstance(entry, Mapping)]

    async def _ping(self) -> list[str]:
        prompt = "A grey square on white." if "image" in self.ping_wants else "Answer with the word OK."
        images = (pictures.grey_square(),) if self.takes_images else ()
        try:
            await self.ask(Ask("ping", prompt, images, self.ping_wants, max_tokens=PING_TOKENS))
        except RunStopped as error:
            return [f"request: {error}"]
        except CallFailed as error:
            # whether a tiny request is answered well says nothing of the system
            return [f"request: {error}"] if error.kind in TRANSPORT_KINDS else []
        finally:
            await self.aclose()
        return []

    @abstractmethod
    async def aclose(self) -> None:
        """See `base.Backend`."""


def _is_json(response: Any) -> bool:
    try:
        response.json()
    except ValueError:
        return False
    return True


def no_image(text: str | None, finish_reason: str | None, redact: Redactor) -> CallFailed:
    """What a reply without the image that was asked for means.

    Args:
        text: what came instead.
        finish_reason: as the server says.
        redact: masks the run's secrets.
    """
    said = redact(text or "", 160)
    if finish_reason in ("content_filter", "refusal") or is_refusal((text or "").lstrip()):
        return CallFailed(REFUSAL, f"the model made no image: {said!r} (finish reason {finish_reason})")
    return CallFailed(NO_IMAGE, f"expected an image, got text: {said!r} (finish reason {finish_reason})")
