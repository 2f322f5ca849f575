import base64

import pytest

from medgen_metrics.serving.addresses import NO_KEY
from medgen_metrics.serving.addresses import addresses
from medgen_metrics.serving.addresses import key_from


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://host:8000/v1", "http://host:8000/v1"),
        ("http://host:8000", "http://host:8000/v1"),
        (" http://host:8000/v1/ ", "http://host:8000/v1"),
        ("http://host:8000/v1/chat/completions", "http://host:8000/v1"),
        ("https://gateway/api/openai", "https://gateway/api/openai"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://user:pass@host:8000/v1?sig=a", "http://host:8000/v1"),
    ],
)
def test_base(url: str, base: str) -> None:
    assert addresses([url])[url].base == base


def test_credentials_and_query_are_sent_apart_and_not_shown() -> None:
    url = "https://us%40er:p%3Ass@host/v1?api-version=1&sig=planted"
    found = addresses([url])[url]
    assert found.headers == {"Authorization": f"Basic {base64.b64encode(b'us@er:p:ss').decode()}"}
    assert found.query == {"api-version": "1", "sig": "planted"}
    for secret in ("planted", "p:ss", "Basic"):
        assert secret not in repr(found)


def test_every_bad_address_is_named_without_its_credentials() -> None:
    with pytest.raises(ValueError) as failure:
        addresses(["localhost:8000", "http://ok/v1", "ftp://user:planted@host", "http://host:port/v1"])
    message = str(failure.value)
    assert "http://localhost:8000/v1" in message
    for part in ("localhost:8000", "ftp://host", "http://host:port/v1"):
        assert part in message
    assert "planted" not in message


def test_key_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", " secret-1\n")
    assert key_from(None, "A_KEY") == "secret-1"
    assert key_from("secret-2", "A_KEY") == "secret-2"
    monkeypatch.delenv("A_KEY")
    assert key_from(None, "A_KEY") == NO_KEY


@pytest.mark.parametrize("key", ["sk-plan\u2019ted", "sk-plan ted", "sk-plan\nted"])
def test_key_that_no_header_can_hold_is_not_shown(key: str) -> None:
    with pytest.raises(ValueError) as failure:
        key_from(key, "A_KEY")
    assert "number 8 is U+" in str(failure.value)
    assert "plan" not in str(failure.value)
