import base64
import logging
import socket
import ssl
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from aiohttp import web
from anyio.streams.tls import TLSStream

from medgen_metrics.serving.faults import CallFailed
from medgen_scripts.backends import fetching
from medgen_scripts.backends.fetching import Fetcher
from medgen_scripts.backends.fetching import Rules

from ...servers.threaded import Threaded
from .asking import picture

MADE = picture()


class Files(Threaded):
    """Answers each request as it is told.

    Attributes:
        asked: path with query, and host header, of the requests.
    """

    def __init__(self, *answers: Callable[[web.Request], Any]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, str]] = []

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_get("/{path:.*}", self.answer)
        return app

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path_qs, request.host))
        found = (self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])(request)
        return await found if not isinstance(found, web.Response) else found


def good(request: web.Request) -> web.Response:
    return web.Response(body=MADE, content_type="image/png")


def status(code: int, **headers: str) -> Callable[[web.Request], web.Response]:
    return lambda request: web.Response(status=code, headers=headers)


def fetched(url: str, *hosts: str, **given: Any) -> bytes:
    async def work() -> bytes:
        fetcher = Fetcher(hosts, **{"backoff": 0.01, **given})
        try:
            return await fetcher.image(url)
        finally:
            await fetcher.aclose()

    return anyio.run(work)


def refused(url: str, *hosts: str, **given: Any) -> CallFailed:
    with pytest.raises(CallFailed) as failed:
        fetched(url, *hosts, **given)
    return failed.value


def resolving(monkeypatch: pytest.MonkeyPatch, **names: str) -> None:
    """Names that lead to addresses."""

    async def found(host: str, port: int, **_: Any) -> list[Any]:
        address = names.get(host.replace(".", "_"), host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(anyio, "getaddrinfo", found)


def test_file_of_a_host_that_is_named() -> None:
    with Files(good) as server:
        url = f"http://127.0.0.1:{server.port}/a/b.png?sig=1"
        assert fetched(url, "127.0.0.1") == fetched(url, f"127.0.0.1:{server.port}") == MADE
        assert server.asked == [("/a/b.png?sig=1", f"127.0.0.1:{server.port}")] * 2


def test_data_url() -> None:
    assert fetched(f"data:image/png;base64,{base64.b64encode(MADE).decode()}") == MADE


@pytest.mark.parametrize(
    "hosts", [(), ("example.com",), ("127.0.0.1:1",), ("*.0.0.1",), ("*",), ("localhost",), ("0.0.1",)]
)
def test_other_hosts(hosts: tuple[str, ...]) -> None:
    with Files(good) as server:
        failed = refused(f"http://127.0.0.1:{server.port}/a.png", *hosts)
        assert server.asked == []
    assert (failed.kind, failed.attempts) == ("url_refused", 1)


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd", "ftp://example.com/a", "http://", "http:///a", "//example.com/a", "a.png",
        "http://[::1/a", "http://example.com:99999/a", "http://user:secret@example.com/a", "http://exa mple.com@evil/a",
    ],
)  # fmt: skip
def test_what_is_no_url_of_a_file(url: str) -> None:
    failed = refused(url, "example.com", "", "evil")
    assert failed.kind == "url_refused"
    assert "secret" not in str(failed)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
        "255.255.255.255", "198.18.0.1", "::1", "fe80::1", "fd00::1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
        "2002:7f00:1::", "64:ff9b::7f00:1", "::",
    ],
)  # fmt: skip
def test_private_addresses(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolving(monkeypatch, cdn_example_com=address)
    failed = refused("https://cdn.example.com/a.png", "*.example.com")
    assert failed.kind == "url_refused"
    assert f"the private address {address}; name the host itself" in failed.message


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"])
def test_public_addresses(address: str) -> None:
    Rules(["*.example.com"]).check("https://cdn.example.com/a", "cdn.example.com", 443, [address])


def test_one_private_address_among_public_ones() -> None:
    with pytest.raises(CallFailed, match=r"private address 10\.0\.0\.1"):
        Rules(["*.example.com"]).check("https://a.example.com/a", "a.example.com", 443, ["93.184.216.34", "10.0.0.1"])


def test_the_address_that_was_checked_is_the_one_that_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    # a name that leads elsewhere at the second look-up gains nothing: there is none
    resolving(monkeypatch, cdn_example_com="127.0.0.1")
    with Files(good) as server:
        url = f"http://CDN.example.com:{server.port}/a.png"
        assert fetched(url, "cdn.example.com") == MADE
        assert server.asked == [("/a.png", f"cdn.example.com:{server.port}")]


def test_redirects_are_held_to_the_hosts() -> None:
    with Files(good) as inside:
        target = f"http://127.0.0.1:{inside.port}/secret"
        with Files(status(302, Location="/b.png?x=1"), status(302, Location=target)) as server:
            url = f"http://127.0.0.1:{server.port}/a.png"
            failed = refused(url, f"127.0.0.1:{server.port}")
            assert [path for path, _ in server.asked] == ["/a.png", "/b.png?x=1"]
            assert inside.asked == []
            assert failed.kind == "url_refused"
            assert fetched(url, "127.0.0.1") == MADE
    with Files(status(302, Location="/again")) as server:
        failed = refused(f"http://127.0.0.1:{server.port}/a.png", "127.0.0.1")
        assert (failed.kind, len(server.asked)) == ("url_refused", fetching.REDIRECTS + 1)


@pytest.mark.parametrize(("code", "kind"), [(503, "overloaded"), (429, "rate_limit"), (500, "server")])
def test_passing_faults_are_retried(code: int, kind: str) -> None:
    with Files(status(code), status(code), good) as server:
        assert fetched(f"http://127.0.0.1:{server.port}/a.png", "127.0.0.1") == MADE
    with Files(status(code)) as server:
        failed = refused(f"http://127.0.0.1:{server.port}/a.png?sig=planted-signature", "127.0.0.1")
        assert (failed.kind, failed.attempts, len(server.asked)) == (kind, 4, 4)
    assert "planted" not in str(failed)


def test_signed_urls_are_no_matter_for_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Files(good) as server:
        fetched(f"http://127.0.0.1:{server.port}/a.png?Policy=planted-policy&X-Amz-Signature=planted", "127.0.0.1")
    shown = [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]
    assert any("HTTP Request: GET" in text for text in shown)
    assert not [text for text in shown if "planted" in text]


def test_a_connection_that_breaks() -> None:
    def drop(request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    with Files(drop, good) as server:
        assert fetched(f"http://127.0.0.1:{server.port}/a.png", "127.0.0.1") == MADE


def test_what_is_not_there_is_asked_for_once() -> None:
    with Files(status(404)) as server:
        failed = refused(f"http://127.0.0.1:{server.port}/a.png", "127.0.0.1")
        assert (failed.kind, failed.status, len(server.asked)) == ("not_found", 404, 1)


def test_a_page_is_no_image() -> None:
    with Files(lambda request: web.Response(text="<html>sign in</html>")) as server:
        failed = refused(f"http://127.0.0.1:{server.port}/a.png", "127.0.0.1")
    assert failed.kind == "not_an_image"
    assert "begin with b'<html>sign in</html>'" in failed.message


def without_end(part: bytes, pause: float) -> Callable[[web.Request], Any]:
    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while request.transport is not None and not request.transport.is_closing():
            await response.write(part)
            await anyio.sleep(pause)
        return response

    return answer


def test_size() -> None:
    with Files(without_end(b"a" * 2**16, 0)) as server:
        failed = refused(f"http://127.0.0.1:{server.port}/a.png", "127.0.0.1", most=1_000_000)
    assert (failed.kind, len(server.asked)) == ("not_an_image", 1)
    assert "has more than 1,000,000 bytes" in failed.message


def test_time() -> None:
    # a byte now and then is no silence, and ends all the same
    with Files(without_end(b"a", 0.02)) as server:
        failed = refused(f"http://127.0.0.1:{server.port}/a.png", "127.0.0.1", seconds=0.3)
    assert failed.kind == "timeout"
    assert "not fetched within 0.3 s" in failed.message


def test_certificate_is_checked_for_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    # TLS by address: the server is asked for its name, and a certificate that nobody signed is refused
    names: list[str | None] = []
    resolving(monkeypatch, cdn_example_com="127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sni_callback = lambda sock, name, _: names.append(name)

    async def serve(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            with pytest.raises((ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream)):
                await TLSStream.wrap(stream, server_side=True, ssl_context=context)

    async def work() -> CallFailed:
        listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            with pytest.raises(CallFailed) as failed:
                await Fetcher(["cdn.example.com"], attempts=1).image(f"https://cdn.example.com:{port}/a.png")
            group.cancel_scope.cancel()
        return failed.value

    assert anyio.run(work).kind == "connection"
    assert names == ["cdn.example.com"]


def test_a_proxy_is_asked_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with Files(good) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.delenv("no_proxy", raising=False)

        async def nothing(host: str, port: int, **_: Any) -> list[Any]:
            raise socket.gaierror("no such name here")

        monkeypatch.setattr(anyio, "getaddrinfo", nothing)
        assert fetched("http://cdn.example.com/a.png", "*.example.com") == MADE
        assert [host for _, host in proxy.asked] == ["cdn.example.com"]
        # what is plainly private isn't asked through it either
        monkeypatch.undo()
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert refused("http://169.254.169.254/latest", "*.254").kind == "url_refused"
        assert len(proxy.asked) == 1
