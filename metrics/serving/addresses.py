"""Addresses and keys of OpenAI-compatible servers, checked before anything is sent."""

import base64
import os
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from urllib.parse import parse_qsl
from urllib.parse import unquote
from urllib.parse import urlsplit
from urllib.parse import urlunsplit

from .redact import label

# What servers without authentication are sent: the client insists on a key, and "EMPTY" is what vLLM's manual shows.
NO_KEY = "EMPTY"
_OPERATIONS = ("/chat/completions", "/completions", "/images/generations", "/images/edits", "/models")


@dataclass(frozen=True, slots=True)
class Address:
    """Where and how a server is asked.

    Attributes:
        base: base URL without credentials and query.
        query: sent with every request.
        headers: sent with every request; a URL's user and password go here, so that no log shows them.
    """

    base: str
    query: Mapping[str, str] = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)


def addresses(urls: Sequence[str]) -> dict[str, Address]:
    """Read endpoints' URLs: `http://host:8000/v1`; also without `/v1`, or with an operation's path after it.

    Returns:
        URL -> address, each once.

    Raises:
        ValueError: URLs that are none; all are named.
    """
    found = {url: _read(url) for url in dict.fromkeys(urls)}
    # of what is no URL, anything before an @ may be a password
    wrong = [label(url) if "://" in url else url.rpartition("@")[2] for url, read in found.items() if read is None]
    if wrong:
        raise ValueError(f"endpoints: expected base URLs of servers, e.g. http://localhost:8000/v1; got {wrong}")
    return {url: read for url, read in found.items() if read is not None}


def key_from(given: str | None, variable: str) -> str:
    """The key to send: as given, else from the environment, else the one for servers that want none.

    Raises:
        ValueError: a key that no header can hold; it isn't shown.
    """
    key = (os.environ.get(variable, "") if given is None else given).strip()
    odd = next((place for place, letter in enumerate(key) if not "!" <= letter <= "~"), None)
    if odd is not None:
        raise ValueError(
            f"${variable}: expected a key of printable ASCII; got {len(key)} characters, number {odd + 1} is "
            f"U+{ord(key[odd]):04X}"
        )
    return key or NO_KEY


def _read(url: str) -> Address | None:
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return None
    path = parts.path.rstrip("/")
    for operation in _OPERATIONS:
        path = path.removesuffix(operation)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    base = urlunsplit((parts.scheme, host if port is None else f"{host}:{port}", path or "/v1", "", ""))
    headers = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Address(base, dict(parse_qsl(parts.query)), headers)
