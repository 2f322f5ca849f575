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
from medgen_metrics.judge.client import OpenAIBackend
from medgen_metrics.judge.client import Outcome
from medgen_metrics.judge.client import Reply
from medgen_metrics.judge.client import judge_once
from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.prompt import build
from medgen_metrics.judge.verdict import read_verdict
from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.budget import BudgetExhausted
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.usage import Usage

from ...servers.misbehaviour import chance
from ...servers.openai_requests import BadRequest
from ...servers.openai_requests import ChatRequest
from ...servers.openai_server import openai_server
from .material import EDIT
from .verdicts import CASE
from .verdicts import STANDARD
from .verdicts import written

VIEW = CASE[2]
QUICK = {"backoff": 0.01, "rest": 0.02, "seed": 0}
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}


def backend(url: str, **given: Any) -> OpenAIBackend:
    return OpenAIBackend("m", [url], **{"pool": QUICK, **given})


def ask(judge: OpenAIBackend, requests: int = 1) -> list[Reply | Exception]:
    found: list[Reply | Exception] = []

    async def one(number: int) -> None:
        messages = [{"role": "user", "content": f"JSON, please: {number}"}]
        try:
            found.append(await judge.ask(messages, SCHEMA, temperature=0.0, seed=1, max_tokens=100))
        except (CallFailed, RunStopped) as error:
            found.append(error)

    async def work() -> None:
        async with anyio.create_task_group() as group:
            for number in range(requests):
                group.start_soon(one, number)
        await judge.aclose()

    anyio.run(work)
    return found


# --- how the form is asked for ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("modes", "mode", "probes"),
    [
        (("json_schema", "json_object", "text"), "json_schema", 1),
        (("json_object", "text"), "json_object", 2),
        (("text",), "text", 3),
    ],
)
def test_best_mode_is_found_once(modes: Sequence[str], mode: str, probes: int) -> None:
    with openai_server(modes=modes) as server:
        judge = backend(server.url)
        replies = ask(judge, 10) + ask(judge, 10)
        log, bodies = server.log, list(server.bodies.values())
    assert {reply.mode for reply in replies if isinstance(reply, Reply)} == {mode}
    assert (judge.mode, judge.fingerprint()["mode"]) == (mode, mode)
    assert len(replies) == 20
    assert len(log) == 20 + probes
    # those that the server refused have no body there
    for body in bodies[:-20]:
        assert len(json.dumps(body)) < 500
    forms = [body.get("response_format", {"type": "text"}) for body in bodies[-20:]]
    assert {form["type"] for form in forms} == {mode}
    if mode == "json_schema":
        assert forms[0]["json_schema"] == {"name": "verdict", "strict": True, "schema": SCHEMA}


def test_server_that_ignores_the_form_is_not_said_to_obey() -> None:
    with openai_server(replies=lambda asked: "Blue.") as server:
        judge = backend(server.url)
        ask(judge)
        assert judge.mode == "text"
        assert [seen.mode for seen in server.log] == ["json_schema"] * 2 + ["json_object"] * 2 + ["text"] * 2


def test_server_that_breaks_down_over_a_schema() -> None:
    def reply(asked: ChatRequest) -> None:
        if asked.mode == "json_schema":
            raise RuntimeError("no grammar back end")

    with openai_server(replies=reply) as server:
        judge = backend(server.url, attempts=2)
        assert isinstance(ask(judge)[0], Reply)
    assert judge.mode == "json_object"


@pytest.mark.parametrize("kind", ["prose", "refusal", "empty", "500", "half"])
def test_one_spoilt_probe_decides_nothing(kind: str) -> None:
    with openai_server(plan=[kind]) as server:
        judge = backend(server.url)
        ask(judge)
    assert judge.mode == "json_schema"


def test_judge_that_thinks_longer_than_the_probe_lasts() -> None:
    with openai_server(replies=lambda asked: "Let me think. " * 100) as server:
        judge = backend(server.url)
        ask(judge)
        assert judge.mode == "json_schema"
        assert len(server.log) == 2


def test_known_mode_is_not_probed() -> None:
    with openai_server() as server:
        judge = backend(server.url, known_mode="json_object")
        (reply,) = ask(judge)
        assert isinstance(reply, Reply)
        assert (reply.mode, len(server.log)) == ("json_object", 1)


def test_probe_that_fails_fails_for_all_who_wait_and_is_made_again_later() -> None:
    def reply(asked: ChatRequest) -> None:
        raise BadRequest("this deployment is for embeddings")

    with openai_server(replies=reply) as server:
        judge = backend(server.url)
        failures = ask(judge, 20)
        assert {type(error) for error in failures} == {RunStopped}
        assert "a tiny request to judge m failed" in str(failures[0])
        assert "this deployment is for embeddings" in str(failures[-1])
        assert len(server.log) == 3
        server.replies = None
        assert isinstance(ask(judge)[0], Reply)


def test_reply_says_where_it_is_from() -> None:
    prices = {"m": {"input": 1.0, "output": 2.0}}
    with openai_server() as server:
        judge = backend(server.url, budget=Budget(prices=prices))
        (reply,) = ask(judge)
    assert isinstance(reply, Reply)
    assert (reply.model, reply.fingerprint, reply.endpoint) == ("stub-judge", "stub", server.url)
    assert reply.usage.cost == (reply.usage.prompt_tokens + 2 * reply.usage.completion_tokens) / 1e6
    assert judge.fingerprint() == {
        "model": "stub-judge",
        "fingerprint": "stub",
        "mode": "json_schema",
        "endpoints": [server.url],
        "changes": {},
    }


def test_key_is_from_the_environment_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDGEN_JUDGE_API_KEY", "planted-key")
    with openai_server(key="planted-key") as server:
        judge = backend(server.url)
        assert isinstance(ask(judge)[0], Reply)
    assert "planted" not in repr(judge) + repr(judge.fingerprint())


def test_unknown_mode() -> None:
    with pytest.raises(ValueError, match="reply format: expected one of json_schema, json_object, text, got 'xml'"):
        backend("http://localhost:1", known_mode="xml")


# --- one verdict ------------------------------------------------------------------------------------------------------


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
