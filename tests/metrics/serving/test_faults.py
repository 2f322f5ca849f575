import copy
import pickle
import socket
import ssl

import aiohttp
import pytest
from multidict import CIMultiDict
from multidict import CIMultiDictProxy
from yarl import URL

from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import Malformed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.faults import StatusInBody
from medgen_metrics.serving.faults import fault_of
from medgen_metrics.serving.faults import is_moderation
from medgen_metrics.serving.faults import retry_after

from .standing_in import Status

# Sun, 06 Nov 1994 08:49:37 GMT, the example of RFC 9110
EXAMPLE = 784111777.0


@pytest.mark.parametrize(
    ("status", "kind", "passing", "congestion", "refusal"),
    [
        (400, "rejected", False, False, False),
        (401, "auth", False, False, True),
        (402, "quota", False, False, True),
        (403, "forbidden", False, False, True),
        (404, "not_found", False, False, True),
        (408, "timeout", True, True, False),
        (413, "rejected", False, False, False),
        (422, "rejected", False, False, False),
        (429, "rate_limit", True, True, False),
        (500, "server", True, False, False),
        (502, "server", True, False, False),
        (503, "overloaded", True, True, False),
        (504, "overloaded", True, True, False),
        (529, "overloaded", True, True, False),
    ],
)
def test_statuses(status: int, kind: str, passing: bool, congestion: bool, refusal: bool) -> None:
    for error in (Status(status, "why"), StatusInBody(status, "why")):
        fault = fault_of(error)
        assert fault is not None
        assert (fault.kind, fault.status, fault.text) == (kind, status, f"HTTP {status}: why")
        assert (fault.passing, fault.congestion, fault.refusal) == (passing, congestion, refusal)


@pytest.mark.parametrize(
    "said",
    [
        "Your request was rejected as a result of our safety system.",
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "requires moderation on OpenAI. Your input was flagged for: violence",
        "no [InputImageSensitiveContentDetected]",
        "no [DataInspectionFailed]",
        "PROHIBITED_CONTENT",
    ],
)
def test_words_of_a_filter(said: str) -> None:
    assert is_moderation(said)
    # of the request, not of the endpoint
    fault = fault_of(Status(403, said))
    assert fault is not None
    assert fault.kind == "rejected"


@pytest.mark.parametrize("said", ["The key may not use this model.", "this image format is not supported", ""])
def test_other_words(said: str) -> None:
    assert not is_moderation(said)


def test_exceptions_of_aiohttp() -> None:
    asked = aiohttp.RequestInfo(URL("http://host/"), "GET", CIMultiDictProxy(CIMultiDict()), URL("http://host/"))
    headers = CIMultiDict({"Retry-After": "3"})
    error = aiohttp.ClientResponseError(asked, (), status=503, message="busy", headers=headers)
    fault = fault_of(error)
    assert fault is not None
    assert (fault.kind, fault.status, fault.retry_after) == ("overloaded", 503, 3.0)


class ConnectError(Exception):
    """As in httpx."""


ConnectError.__module__ = "httpx2"


@pytest.mark.parametrize(
    ("error", "kind", "unreachable"),
    [
        (TimeoutError(), "timeout", False),
        (ConnectionResetError("reset"), "connection", False),
        (ConnectionRefusedError("refused"), "connection", True),
        (socket.gaierror(-2, "Name or service not known"), "connection", True),
        (ssl.SSLError("bad certificate"), "connection", False),
        (ConnectError("all attempts failed"), "connection", True),
        (Malformed("half a body"), "malformed", False),
    ],
)
def test_network(error: Exception, kind: str, unreachable: bool) -> None:
    fault = fault_of(error)
    assert fault is not None
    assert (fault.kind, fault.unreachable, fault.status) == (kind, unreachable, None)
    assert fault.passing


@pytest.mark.parametrize("error", [KeyError("a"), ValueError("b"), FileNotFoundError("c"), ZeroDivisionError()])
def test_mistakes_in_a_program_are_no_faults(error: Exception) -> None:
    assert fault_of(error) is None


def test_cause_is_told() -> None:
    outer = ConnectError("Connection error.")
    outer.__cause__ = socket.gaierror(-2, "Name or service not known")
    fault = fault_of(outer)
    assert fault is not None
    assert "Connection error." in fault.text
    assert "Name or service not known" in fault.text
    assert fault.cause == "Name or service not known"


class Several(Exception):
    """As an ExceptionGroup, which Python 3.10 lacks."""

    def __init__(self, message: str, exceptions: list[Exception]) -> None:
        super().__init__(message)
        self.exceptions = exceptions


def test_causes_that_repeat_each_other_are_told_once() -> None:
    refused = ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)")
    group = OSError("All connection attempts failed")
    group.__cause__ = Several("multiple connection attempts failed", [refused, refused])
    outer = ConnectError("All connection attempts failed")
    outer.__cause__ = group
    fault = fault_of(outer)
    assert fault is not None
    assert fault.text.count("All connection attempts failed") == 1
    assert fault.cause == "Connection refused"


def test_a_server_whose_certificate_is_not_trusted_is_not_said_to_be_down() -> None:
    said = "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate"
    outer = ConnectError(said)
    outer.__cause__ = ssl.SSLCertVerificationError(1, said)
    fault = fault_of(outer)
    assert fault is not None
    assert (fault.kind, fault.unreachable, fault.cause) == ("connection", True, "")
    assert said in fault.text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "12"}, 12.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after-ms": "1500", "retry-after": "2"}, 1.5),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"}, 60.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0.0),
        ({"retry-after": "Sunday, 06-Nov-94 08:50:37 GMT"}, 60.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, EXAMPLE) == seconds


@pytest.mark.parametrize(
    "error",
    [CallFailed("timeout", "slow", 3, 504), RunStopped("auth", "no key"), BudgetExhausted("--max-cost 1: reached")],
)
def test_errors_survive_the_way_between_processes(error: Exception) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error)
        assert (str(other), vars(other)) == (str(error), vars(error))


def test_call_failed_says_how_often() -> None:
    assert str(CallFailed("server", "http://a: HTTP 500: no", 1)) == "server: http://a: HTTP 500: no"
    assert str(CallFailed("server", "http://a: HTTP 500: no", 6)).endswith("(after 6 attempts)")
