from typing import Any

import pytest

from medgen_metrics.serving.completion import Completion
from medgen_metrics.serving.completion import read_completion
from medgen_metrics.serving.faults import Malformed
from medgen_metrics.serving.faults import StatusInBody
from medgen_metrics.serving.usage import Usage

USAGE = {"prompt_tokens": 10, "completion_tokens": 3}


def body(message: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "choices": [{"message": message, "finish_reason": "stop"}], "usage": USAGE, **more}


def read(value: Any) -> Completion:
    return read_completion(value, endpoint="http://a/v1", images=2, size=99)


def test_whole() -> None:
    read_ = read(body({"content": "yes"}, system_fingerprint="fp"))
    assert (read_.text, read_.finish_reason, read_.model, read_.fingerprint) == ("yes", "stop", "m", "fp")
    assert read_.usage == Usage(requests=1, prompt_tokens=10, completion_tokens=3, images=2, bytes=99)


@pytest.mark.parametrize(
    ("message", "text", "reason"),
    [
        ({"content": None}, "", "stop"),
        ({"content": ""}, "", "stop"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}, {"text": "b"}]}, "ab", "stop"),
        ({"content": None, "refusal": "I can't."}, "I can't.", "refusal"),
        ({"content": "a", "refusal": "I can't."}, "a", "stop"),
        ({}, "", "stop"),
    ],
)
def test_texts(message: Any, text: str, reason: str) -> None:
    assert (read(body(message)).text, read(body(message)).finish_reason) == (text, reason)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 3}, {"prompt_tokens": -1, "completion_tokens": 3}, [1]])
def test_server_that_says_nothing_of_tokens(usage: Any) -> None:
    assert read(body({"content": "a"}, usage=usage)).usage == Usage(requests=1, images=2, bytes=99, unreported=1)


@pytest.mark.parametrize(
    "value",
    [None, [], "text", 3, {}, {"choices": []}, {"choices": None}, {"choices": [None]}, {"choices": [{}]},
     {"choices": {"0": 1}}, {"choices": [{"message": "text"}]}, {"choices": [{"message": {"content": 3}}]}],
)  # fmt: skip
def test_what_is_no_completion(value: Any) -> None:
    with pytest.raises(Malformed, match="expected "):
        read(value)


@pytest.mark.parametrize(
    ("error", "status"),
    [({"code": 429, "message": "slow down"}, 429), ({"code": "502", "message": "slow down"}, 502)],
)
def test_error_in_a_body(error: Any, status: int) -> None:
    for value in ({"error": error}, {"choices": [{"error": error}]}):
        with pytest.raises(StatusInBody, match="slow down") as failure:
            read(value)
        assert failure.value.status_code == status


@pytest.mark.parametrize("error", ["overloaded", {"message": "overloaded"}, {"code": "x", "message": "overloaded"}])
def test_error_in_a_body_without_a_status(error: Any) -> None:
    with pytest.raises(Malformed, match="overloaded"):
        read({"error": error})
