import base64
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_metrics.serving.redact import Redactor
from medgen_metrics.serving.redact import guard_logs
from medgen_metrics.serving.redact import label
from medgen_metrics.serving.redact import secrets_of


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Incorrect API key provided: sk-proj-abcdefghij.", "abcdefghij"),
        ("Incorrect API key provided: sk-pr****************wxyz.", "wxyz"),
        ("token hf_abcdefghijklmn is expired", "abcdefghijklmn"),
        ("API key not valid: AIzaSyA-1234567890", "SyA-1234567890"),
        ("POST http://user:pass-word@host/v1", "pass-word"),
        ("Authorization: Bearer abc.def-ghi", "abc.def-ghi"),
        ("{'authorization': 'Basic dXNlcjpwYXNz'}", "dXNlcjpwYXNz"),
        ("https://host/v1beta/models?key=abcdef123&alt=json", "abcdef123"),
        ("https://host/a.png?X-Amz-Credential=a&X-Amz-Signature=abcdef123&Expires=9", "abcdef123"),
        ("x-api-key: 0123456789abcdef", "0123456789abcdef"),
        ('{"api_key": "0123456789abcdef"}', "0123456789abcdef"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, secret: str) -> None:
    assert secret in text
    masked = Redactor()(text)
    assert secret not in masked
    assert "***" in masked


@pytest.mark.parametrize(
    "text",
    [
        "This model's maximum context length is 8192 tokens, your request has 9000 (token: 9000)",
        "missing key: choices",
        "The model `Qwen/Qwen3-VL-8B-Instruct` does not exist",
        "'max_tokens' is not supported; use 'max_completion_tokens'",
        "http://host:8000/v1/chat/completions",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Redactor(["", None, "abc"])(text) == text


@given(st.text(st.characters(codec="ascii", min_codepoint=33), min_size=4, max_size=40), st.integers(0, 400))
def test_given_secret_is_masked_in_every_form(secret: str, before: int) -> None:
    redact = Redactor([secret])
    forms = [secret, quote(secret, safe=""), json.dumps(secret)[1:-1], base64.b64encode(secret.encode()).decode()]
    # no letter of the secret's own stands around it
    for form in forms:
        masked = redact("\u00e9" * before + form + "\u00e9")
        assert form not in masked
        assert len(masked) <= 300


def test_messages_are_one_short_line() -> None:
    masked = Redactor()("a\x1b[31mred\n\n\tb\u202e" + "x" * 1000)
    assert masked.startswith("a [31mred b x")
    assert len(masked) == 300
    assert masked.endswith("…")


def test_secret_is_masked_before_the_cut() -> None:
    assert "planted" not in Redactor(["planted-secret"])("y" * 293 + "planted-secret")


@pytest.mark.parametrize(
    ("url", "shown", "secrets"),
    [
        ("http://user:pass@host:8000/v1?sig=abc", "http://host:8000/v1", ("pass", "user:pass", "abc")),
        ("https://token@host/v1", "https://host/v1", ("token",)),
        ("https://u:p%40ss@host/v1", "https://host/v1", ("p@ss", "u:p@ss")),
        ("https://host/v1?api-version=2024-10-21", "https://host/v1", ()),
    ],
)
def test_urls(url: str, shown: str, secrets: tuple[str, ...]) -> None:
    assert label(url) == shown
    assert secrets_of(url) == secrets


def test_logs_of_the_http_libraries(caplog: pytest.LogCaptureFixture) -> None:
    redact = Redactor(["planted-secret"])
    guard_logs(redact)
    with caplog.at_level(logging.INFO):
        logging.getLogger("httpx2").info("HTTP Request: %s %s", "POST", "http://host/v1?sig=planted-secret")
    assert caplog.messages == ["HTTP Request: POST http://host/v1?sig=***"]


def test_repr_shows_no_secret() -> None:
    assert "planted" not in repr(Redactor(["planted-secret"]))
