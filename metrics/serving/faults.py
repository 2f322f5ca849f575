"""What went wrong with a request to a model server, and what that calls for.

One table of kinds for every client library: exceptions are told apart by the HTTP status they carry and by their
class's name, so that this module needs none of the libraries.
"""

import email.utils
import http.client
import json
import math
import os
import re
import socket
import ssl
import time
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

# Kinds after which the same request may succeed.
PASSING = ("rate_limit", "overloaded", "timeout", "connection", "server", "malformed")
# Kinds that say the endpoint is asked too much.
CONGESTION = ("rate_limit", "overloaded", "timeout")
# Kinds that a request can't be blamed for: the endpoint won't serve us at all.
REFUSALS = ("auth", "forbidden", "not_found", "quota")
REJECTED = "rejected"
KINDS = PASSING + REFUSALS + (REJECTED,)

_OVERLOADED = (503, 504, 529)
_UNREACHABLE = ("connecterror", "connecttimeout", "connectionrefusederror", "gaierror", "newconnectionerror")
_NETWORK = ("httpx", "httpx2", "httpcore", "httpcore2", "openai", "requests", "urllib3", "aiohttp", "huggingface_hub")
_BROKEN = (ConnectionError, socket.gaierror, ssl.SSLError, http.client.HTTPException)
# How providers say that a filter withheld the request or its result: OpenAI, Azure, OpenRouter, Volcengine, DashScope.
_MODERATION = re.compile(
    r"safety system|content[ _-]?(?:policy|filter|management)|moderation|responsible ?ai|prohibited[ _]content|"
    r"sensitive ?content|data_?inspection_?failed|inappropriate content|\bflagged\b",
    re.IGNORECASE,
)
_OUT_OF_MONEY = ("insufficient_quota", "billing_hard_limit_reached", "insufficient_balance", "credit balance")


class ServingError(Exception):
    """No reply, for whatever reason."""


class CallFailed(ServingError):
    """A request that stays without a reply.

    Attributes:
        kind: one of `KINDS`.
        message: what the server or the network said; no secret in it, shortened.
        attempts: how often it was sent.
        status: the last HTTP status, None where there was none.
    """

    def __init__(self, kind: str, message: str, attempts: int = 1, status: int | None = None) -> None:
        super().__init__(kind, message, attempts, status)
        self.kind = kind
        self.message = message
        self.attempts = attempts
        self.status = status

    def __str__(self) -> str:
        times = "" if self.attempts == 1 else f" (after {self.attempts} attempts)"
        return f"{self.kind}: {self.message}{times}"


class RunStopped(ServingError):
    """No further request can be made in this run; what was answered is kept.

    Attributes:
        kind: a kind of `KINDS`, or `budget`.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return self.message


class Malformed(Exception):
    """A reply with a good status whose body isn't what the protocol promises."""


class StatusInBody(Exception):
    """A reply with a good status whose body reports an error, as gateways do.

    Attributes:
        status_code: the status in the body.
    """

    def __init__(self, status_code: int, message: str) -> None:
        super().__init__(message)
        self.status_code = status_code


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed attempt.

    Attributes:
        kind: one of `KINDS`.
        text: what was said, unredacted: never shown as it is.
        status: HTTP status.
        retry_after: seconds that the server asks to wait.
        unreachable: no connection came about.
        cause: why nothing answered, in the system's words, unredacted; empty where something did, if only a TLS
            handshake that failed.
    """

    kind: str
    text: str
    status: int | None = None
    retry_after: float | None = None
    unreachable: bool = False
    cause: str = ""

    @property
    def passing(self) -> bool:
        """Whether the same request may succeed later."""
        return self.kind in PASSING

    @property
    def congestion(self) -> bool:
        """Whether fewer requests at a time should be sent."""
        return self.kind in CONGESTION

    @property
    def refusal(self) -> bool:
        """Whether the endpoint, not the request, is the trouble."""
        return self.kind in REFUSALS


def fault_of(error: Exception) -> Fault | None:
    """What an exception of a client library means.

    Returns:
        None for an exception that no server or network caused (a mistake in a program).
    """
    if isinstance(error, Malformed):
        return Fault("malformed", str(error))
    status = _status(error)
    if status is not None:
        text = _said(error)
        return Fault(_kind(status, text), f"HTTP {status}: {text}", status, retry_after(_headers(error)))
    chain = list(_chain(error))
    names = {kind.__name__.lower() for link in chain for kind in type(link).__mro__}
    unreachable = any(name in names for name in _UNREACHABLE)
    text = _joined(chain)
    # a server is up that speaks no TLS, or whose certificate isn't trusted; the number of such an error is TLS's own
    answered = any(isinstance(link, ssl.SSLError) for link in chain)
    cause = _root(chain) if unreachable and not answered else ""
    if any("timeout" in name for name in names):
        return Fault("timeout", text, unreachable=unreachable, cause=cause)
    network = any(type(link).__module__.partition(".")[0] in _NETWORK for link in chain[:1])
    if network or isinstance(error, _BROKEN):
        return Fault("connection", text, unreachable=unreachable, cause=cause)
    return None


def is_moderation(text: str) -> bool:
    """Whether a server's words say that a filter withheld a request or its result."""
    return _MODERATION.search(text) is not None


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds that a `Retry-After` header (seconds or an HTTP date), or `retry-after-ms`, asks to wait.

    Args:
        headers: of the reply; names in lower case, or a mapping that folds it.
        now: seconds since the epoch that a date counts from; default the clock's.

    Returns:
        0 or more; None without a header that can be read.
    """
    for name, scale in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            seconds = float(value) * scale
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, date.timestamp() - (time.time() if now is None else now))


def _kind(status: int, text: str) -> str:
    if status == 402 or (status in (403, 429) and any(sign in text.lower() for sign in _OUT_OF_MONEY)):
        return "quota"
    if status == 403 and is_moderation(text):
        # of this request, not of the key (OpenRouter)
        return REJECTED
    named = {401: "auth", 403: "forbidden", 404: "not_found", 408: "timeout", 429: "rate_limit"}
    if status in named:
        return named[status]
    if status in _OVERLOADED:
        return "overloaded"
    return "server" if status >= 500 else REJECTED


def _status(error: Exception) -> int | None:
    # aiohttp's exceptions hold `status`
    found = [(error, "status_code"), (getattr(error, "response", None), "status_code"), (error, "status")]
    for holder, name in found:
        status = getattr(holder, name, None)
        # a body that can't be read comes with the status of success
        if isinstance(status, int) and status >= 400:
            return status
    return None


def _headers(error: Exception) -> Mapping[str, str]:
    return getattr(getattr(error, "response", None) or error, "headers", None) or {}


def _said(error: Exception) -> str:
    """The server's own words where the exception holds them, else the exception's."""
    body: Any = getattr(error, "body", None)
    if isinstance(body, Mapping):
        words = body.get("message")
        if not isinstance(words, str):
            return json.dumps(body, default=str, ensure_ascii=False)
        details = [value for name in ("param", "code") if isinstance(value := body.get(name), str)]
        return " ".join([words, *(f"[{detail}]" for detail in details if detail not in words)])
    if isinstance(body, str) and body.strip():
        return body
    return str(error)


def _joined(chain: Sequence[BaseException]) -> str:
    """The words of a chain; a link that only repeats what a former one said is left out."""
    said: list[str] = []
    for link in chain:
        words = str(link)
        if not (words and any(words in former for former in said)):
            said.append(f"{type(link).__name__}: {words}".rstrip(": "))
    return " / ".join(dict.fromkeys(said))


def _root(chain: Sequence[BaseException]) -> str:
    """Why a connection didn't come about: the operating system's words for it where a link holds its number."""
    for link in reversed(chain):
        if isinstance(link, socket.gaierror) and link.strerror:
            return str(link.strerror)
        if isinstance(link, OSError) and isinstance(link.errno, int) and link.errno > 0:
            return os.strerror(link.errno)
    return str(chain[-1]) or type(chain[-1]).__name__


def _chain(error: BaseException) -> Sequence[BaseException]:
    found: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in found and len(found) < 8:
        found.append(link)
        # of several addresses that were tried one tells enough
        group: Sequence[BaseException] = getattr(link, "exceptions", ())
        link = link.__cause__ or link.__context__ or (group[0] if group else None)
    return found
