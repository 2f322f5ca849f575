"""Images that a reply names by URL: fetched only from hosts that the system's file allows, within limits.

A model's reply is the text of a stranger. A URL in it could make this machine ask its own network (a router, a cloud's
metadata service), so hosts are named by the user, private addresses among them one by one, redirects are held to the
same rules, and the address that was checked is the one that is connected to.
"""

import ipaddress
import socket
import urllib.request
from collections.abc import Sequence
from typing import Any
from urllib.parse import urljoin
from urllib.parse import urlsplit

import anyio

from medgen_metrics.serving.connections import Connections
from medgen_metrics.serving.connections import http_library
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Fault
from medgen_metrics.serving.faults import StatusInBody
from medgen_metrics.serving.faults import fault_of
from medgen_metrics.serving.redact import Redactor
from medgen_metrics.serving.redact import guard_logs
from medgen_metrics.serving.redact import label
from medgen_metrics.serving.redact import secrets_of

from . import pictures
from .base import NOT_AN_IMAGE
from .base import URL_REFUSED

MOST_BYTES = 64 << 20
SECONDS = 120.0
ATTEMPTS = 4
REDIRECTS = 3
LONGEST_PAUSE = 30.0
# RFC 6052
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class Rules:
    """Which hosts may be asked.

    Args:
        hosts: names (`cdn.example.com`), with a port only that one (`127.0.0.1:8000`), `*.example.com` for all
            subdomains. A private or loopback address is asked only where it, or the name that leads to it, is named
            without a wildcard.
    """

    def __init__(self, hosts: Sequence[str]) -> None:
        self._hosts = tuple(host.strip().lower().rstrip(".") for host in hosts)

    def target(self, url: str) -> tuple[str, int]:
        """Host and port of a URL.

        Raises:
            CallFailed: no URL of a file, or of a host that isn't allowed.
        """
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").rstrip("."), parts.port
        except ValueError:
            parts, host, port = urlsplit(""), "", None
        if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
            raise CallFailed(URL_REFUSED, f"expected an http or https URL of an image, got {Redactor()(url, 80)!r}")
        port = port or {"http": 80, "https": 443}[parts.scheme]
        if not self._names(host, port) and not any(
            one.startswith("*.") and host.endswith(one[1:]) for one in self._hosts
        ):
            allowed = ", ".join(self._hosts) or "none"
            raise CallFailed(
                URL_REFUSED, f"the reply's image is at {label(url)}; the system's file allows hosts: {allowed}"
            )
        return host, port

    def check(self, url: str, host: str, port: int, addresses: Sequence[str]) -> None:
        """Whether what a host's name leads to may be asked.

        Raises:
            CallFailed: a private address that isn't named.
        """
        private = [address for address in addresses if _is_private(address)]
        if private and not self._names(host, port):
            raise CallFailed(
                URL_REFUSED,
                f"the reply's image is at {label(url)}, the private address {private[0]}; name the host itself in the "
                "system's file if that is meant",
            )

    def _names(self, host: str, port: int) -> bool:
        return host in self._hosts or f"{host}:{port}" in self._hosts


class Fetcher:
    """Fetches images by URL; connections belong to the event loop that first uses them.

    Args:
        hosts: as `Rules` takes them.
        most: bytes of a file.
        seconds: for a file, retries and redirects included.
        attempts: how often it is asked for at most.
        backoff: seconds before the first retry; they double.
    """

    def __init__(
        self,
        hosts: Sequence[str],
        *,
        most: int = MOST_BYTES,
        seconds: float = SECONDS,
        attempts: int = ATTEMPTS,
        backoff: float = 0.5,
    ) -> None:
        self._rules = Rules(hosts)
        self._most = most
        self._seconds = seconds
        self._attempts = attempts
        self._backoff = backoff
        self._clients: Connections[Any] = Connections(_connect, lambda client: client.aclose())

    async def image(self, url: str) -> bytes:
        """The image file at a URL; a data URL's own.

        Raises:
            CallFailed: `url_refused`, `not_an_image`, or what the server or the network did, after retries.
        """
        if url.startswith("data:"):
            return pictures.of_base64(url)
        # signed URLs hold a secret in their query
        redact = Redactor(_secrets(url))
        guard_logs(redact)
        fault = Fault("timeout", f"not fetched within {self._seconds:g} s")
        attempts = 0
        with anyio.move_on_after(self._seconds):
            while True:
                attempts += 1
                try:
                    return pictures.checked(await self._followed(url))
                except CallFailed:
                    raise
                except Exception as error:
                    found = fault_of(error)
                    if found is None:
                        raise
                    fault = found
                if not fault.passing or attempts >= self._attempts:
                    break
                pause = self._backoff * 2 ** (attempts - 1) if fault.retry_after is None else fault.retry_after
                await anyio.sleep(min(LONGEST_PAUSE, pause))
        said = f"the reply's image at {label(url)}: {redact(fault.text)}"
        raise CallFailed(fault.kind, said, attempts, fault.status)

    async def aclose(self) -> None:
        """End the connections."""
        await self._clients.aclose()

    async def _followed(self, url: str) -> bytes:
        for _ in range(REDIRECTS + 1):
            body, onward = await self._asked(url)
            if onward is None:
                return body
            url = urljoin(url, onward)
        raise CallFailed(URL_REFUSED, f"more than {REDIRECTS} redirects; the last one leads to {label(url)}")

    async def _asked(self, url: str) -> tuple[bytes, str | None]:
        """The body, or where else to look."""
        target, headers, extensions = await self._target(url)
        client = self._clients.of("direct" if extensions else "proxied")
        async with client.stream("GET", target, headers=headers, extensions=extensions) as response:
            if response.is_redirect and "location" in response.headers:
                return b"", response.headers["location"]
            if response.status_code != 200:
                raise StatusInBody(response.status_code, response.reason_phrase)
            body = bytearray()
            async for part in response.aiter_bytes():
                body += part
                if len(body) > self._most:
                    raise CallFailed(
                        NOT_AN_IMAGE, f"the reply's image at {label(url)} has more than {self._most:,} bytes"
                    )
            return bytes(body), None

    async def _target(self, url: str) -> tuple[Any, dict[str, str], dict[str, Any]]:
        """What is asked for, once it is allowed: its address in the place of its name, unless a proxy looks it up."""
        host, port = self._rules.target(url)
        scheme = urlsplit(url).scheme
        proxied = scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host)
        addresses = await _addresses(host, port, may_fail=proxied)
        self._rules.check(url, host, port, addresses)
        library = http_library()
        asked = library.URL(url)
        if proxied:
            return asked, {}, {}
        headers = {"Host": asked.netloc.decode("ascii")}
        return asked.copy_with(host=addresses[0]), headers, {"sni_hostname": host}


def _connect(how: str) -> Any:
    library = http_library()
    return library.AsyncClient(
        timeout=library.Timeout(30.0, connect=10.0),
        follow_redirects=False,
        # the environment's proxies go by names, and a direct request has its address in the place of the name
        trust_env=how == "proxied",
        verify=library.create_ssl_context(),
        # a body is as long as it says
        headers={"Accept-Encoding": "identity"},
    )


def _secrets(url: str) -> tuple[str, ...]:
    try:
        return secrets_of(url)
    except ValueError:
        return ()


async def _addresses(host: str, port: int, *, may_fail: bool) -> list[str]:
    try:
        found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError as error:
        raise CallFailed(URL_REFUSED, f"the reply's image is at a host that is no name: {host[:80]!r}") from error
    except OSError:
        if may_fail:
            return []
        raise
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _is_private(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        # IPv4 in IPv6, which reaches the same machine
        translated = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF) if found in _TRANSLATED else None
        found = found.ipv4_mapped or found.sixtofour or translated or found
    return not found.is_global or found.is_multicast
