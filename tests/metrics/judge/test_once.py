import json
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anyio
import pytest

from medgen_metrics.failures import Unscored
from medgen_metrics.judge.backend import Outcome
from medgen_metrics.judge.backend import Reply
from medgen_metrics.judge.once import judge_once
from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.prompt import build
from medgen_metrics.judge.verdict import read_verdict
from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.usage import Usage

from ...servers.misbehaviour import chance
from ...servers.openai_requests import BadRequest
from ...servers.openai_requests import ChatRequest
from ...servers.openai_server import openai_server
from .loopback import backend
from .material import EDIT
from .verdicts import CASE
from .verdicts import STANDARD
from .verdicts import written

VIEW = CASE[2]


class Script:
    """A back end that gives prepared replies, or raises prepared errors."""

    name, mode = "m", "json_schema"

    def __init__(self, *replies: str | tuple[str, str] | Exception) -> None:
        self.replies = list(replies)
        self.asked: list[Sequence[Mapping[str, Any]]] = []
        self.limits: list[int] = []

    def fingerprint(self) -> dict[str, Any]:
        return {}

    async def probe(self) -> str:
        return self.mode

    async def ask(self, messages: Sequence[Mapping[str, Any]], schema: Any, *, max_tokens: int, **_: Any) -> Reply:
        self.asked.append(messages)
        self.limits.append(max_tokens)
        given = self.replies.pop(0)
        if isinstance(given, Exception):
            raise given
        text, reason = (given, "stop") if isinstance(given, str) else given
        return Reply(text, reason, Usage(requests=1, prompt_tokens=5), "m", None, "json_schema", "http://a/v1")

    async def aclose(self) -> None:
        pass


def judged(judge: Any, sample: JudgeSample = EDIT, **given: Any) -> Outcome:
    async def work() -> Outcome:
        try:
            return await judge_once(
                judge, build(sample, STANDARD, VIEW), STANDARD, sample, VIEW,
                **{"temperature": 0.0, "seed": 1, "max_tokens": 100, **given},
            )  # fmt: skip
        finally:
            await judge.aclose()

    return anyio.run(work)


GOOD = written()
BAD = written(overall_score=9)


def test_first_reply_is_good() -> None:
    judge = Script(GOOD)
    outcome = judged(judge)
    assert outcome.verdict == read_verdict(GOOD, STANDARD, *CASE)
    assert (outcome.kind, outcome.message, len(outcome.replies)) == (None, "", 1)
    assert judge.asked == [build(EDIT, STANDARD, VIEW).messages]


def test_repair_request_quotes_reply_and_error() -> None:
    judge = Script(BAD, GOOD)
    outcome = judged(judge)
    assert outcome.verdict is not None
    assert [reply.text for reply in outcome.replies] == [BAD, GOOD]
    assert outcome.usage == Usage(requests=2, prompt_tokens=10)
    text = json.dumps(judge.asked[1])
    assert "overall_score" in text
    assert "got 9" in text
    assert json.dumps(BAD)[1:-1] in text
    assert judge.limits == [100, 100]


@pytest.mark.parametrize("repairs", [0, 1, 2])
@pytest.mark.parametrize(
    ("replies", "kind"),
    [
        ([BAD], "invalid"),
        ([""], "empty"),
        (["Fine."], "no_json"),
        (["I'm sorry, but I can't help with that."], "refusal"),
        ([("", "content_filter")], "refusal"),
        ([("Not today.", "refusal")], "refusal"),
    ],
)
def test_unusable_to_the_end(replies: list[Any], kind: str, repairs: int) -> None:
    outcome = judged(Script(*replies * 3), repairs=repairs)
    assert (outcome.verdict, outcome.kind, len(outcome.replies)) == (None, kind, 1 + repairs)
    assert outcome.message


CUT = (GOOD[:200], "length")


def test_truncated_reply_is_asked_for_with_twice_the_limit() -> None:
    judge = Script(CUT, GOOD)
    assert judged(judge).verdict is not None
    assert judge.limits == [100, 200]
    assert judge.asked[0] == judge.asked[1]


def test_truncated_again_is_repaired_within_the_doubled_limit() -> None:
    judge = Script(CUT, CUT, CUT, CUT, GOOD)
    outcome = judged(judge)
    assert (outcome.verdict, outcome.kind) == (None, "truncated")
    assert judge.limits == [100, 200, 200, 200]


def test_twice_the_limit_may_be_too_much_for_a_judge() -> None:
    outcome = judged(Script(CUT, CallFailed("rejected", "maximum context length is 150", 1, 400)))
    assert (outcome.verdict, outcome.kind, len(outcome.replies)) == (None, "truncated", 1)
    assert "maximum context length" in outcome.message


@pytest.mark.parametrize(
    ("failed", "kind"), [("timeout", "transport"), ("server", "transport"), ("rejected", "rejected")]
)
def test_no_reply(failed: str, kind: str) -> None:
    outcome = judged(Script(CallFailed(failed, "http://a/v1: no", 6)))
    assert (outcome.verdict, outcome.kind, outcome.replies, outcome.usage) == (None, kind, (), Usage())
    assert "http://a/v1: no" in outcome.message


@pytest.mark.parametrize("error", [RunStopped("auth", "wrong key"), BudgetExhausted("--max-requests 3: reached")])
@pytest.mark.parametrize("before", [(), (BAD,)])
def test_what_ends_the_run_is_raised(error: Exception, before: Iterable[str]) -> None:
    with pytest.raises(type(error), match=str(error)):
        judged(Script(*before, error))


def test_image_that_cannot_be_shown_asks_nobody() -> None:
    judge = Script(GOOD)
    with pytest.raises(Unscored):
        judged(judge, replace(EDIT, output_image=b"no image"))
    assert not judge.asked


def test_verdict_in_the_response_is_not_the_judges() -> None:
    sample = replace(EDIT, response=f"Done. {GOOD}")
    outcome = judged(Script(*[f"The system says: {GOOD}"] * 3), sample)
    assert outcome.verdict is None


@pytest.mark.parametrize(
    ("kind", "replies"),
    [(None, 1), ("prose", 1), ("strings", 1), ("refusal", 2), ("refusal_field", 2), ("content_filter", 2),
     ("truncated", 2), ("out_of_range", 2), ("missing", 2), ("empty", 2)],
)  # fmt: skip
def test_against_the_server(kind: str | None, replies: int) -> None:
    with openai_server(plan=[kind]) as server:
        outcome = judged(backend(server.url, known_mode="json_schema"), max_tokens=2048)
        log = server.log
    assert outcome.verdict is not None
    assert len(outcome.replies) == len(log) == replies
    assert outcome.usage.completion_tokens == sum(seen.completion_tokens for seen in log)
    assert outcome.usage.images == sum(len(seen.images) for seen in log) == 3 * replies


@pytest.mark.parametrize("fault", ["drop", "500", "429"])
def test_transport_that_never_works(fault: str) -> None:
    with openai_server(plan=chance(1.0, [fault]), retry_after=0.01) as server:
        outcome = judged(backend(server.url, known_mode="text", attempts=3))
        assert len(server.log) == 3
    assert (outcome.kind, outcome.replies) == ("transport", ())


def failing(message: str) -> Callable[[ChatRequest], None]:
    def reply(asked: ChatRequest) -> None:
        raise BadRequest(message)

    return reply


def test_request_that_the_server_rejects() -> None:
    with openai_server(replies=failing("image too large")) as server:
        outcome = judged(backend(server.url, known_mode="text"))
        assert len(server.log) == 1
    assert outcome.kind == "rejected"
    assert outcome.message == f"rejected: {server.url}: HTTP 400: image too large"
