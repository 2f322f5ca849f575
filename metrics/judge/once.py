"""One verdict from a judge: asked, read, and asked again where the reply can't be used."""

from typing import Any

import anyio.to_thread

from ..serving.faults import REJECTED
from ..serving.faults import CallFailed
from ..serving.usage import Usage
from .backend import TRANSPORT
from .backend import Backend
from .backend import Outcome
from .backend import Reply
from .prompt import JudgeSample
from .prompt import Prompt
from .prompt import repair
from .rubric import Rubric
from .verdict import Unusable
from .verdict import Verdict
from .verdict import read_verdict


def _messages(prompt: Prompt) -> list[dict[str, Any]]:
    return prompt.messages


async def judge_once(
    backend: Backend,
    prompt: Prompt,
    rubric: Rubric,
    sample: JudgeSample,
    view: str,
    *,
    temperature: float,
    seed: int | None,
    max_tokens: int,
    repairs: int = 2,
) -> Outcome:
    """Get one verdict.

    A reply that breaks off at the limit is asked for once more with twice the limit; one that can't be used otherwise,
    with a request that quotes it and says what is wrong.

    Args:
        backend: the judge.
        prompt: of this sample and view.
        rubric: what is asked.
        sample: the record.
        view: what is shown.
        temperature: of sampling.
        seed: of sampling; None sends none.
        max_tokens: limit of the reply.
        repairs: repair requests at most.

    Raises:
        RunStopped: no further request can be made (`BudgetExhausted` is one).
        failures.Unscored: an image of the prompt can't be shown.
    """
    schema = rubric.schema(sample.config, sample.task, view)
    replies: list[Reply] = []
    asked, limit, left = prompt, max_tokens, repairs
    unusable: Unusable | None = None

    def outcome(verdict: Verdict | None, kind: str | None, message: str) -> Outcome:
        return Outcome(verdict, kind, message, tuple(replies), sum((reply.usage for reply in replies), Usage()))

    while True:
        # drawing and encoding pictures takes a tenth of a second each
        messages = await anyio.to_thread.run_sync(_messages, asked)
        try:
            reply = await backend.ask(messages, schema, temperature=temperature, seed=seed, max_tokens=limit)
        except CallFailed as failed:
            if unusable is not None and failed.kind == REJECTED:
                # The longer request is too long for this judge: what was wrong with its reply is the reason.
                return outcome(None, unusable.kind, f"{unusable}; asked again: {failed}")
            return outcome(None, REJECTED if failed.kind == REJECTED else TRANSPORT, str(failed))
        replies.append(reply)
        try:
            verdict = read_verdict(
                reply.text,
                rubric,
                sample.config,
                sample.task,
                view,
                finish_reason="content_filter" if reply.finish_reason == "refusal" else reply.finish_reason,
                response=sample.response,
            )
            return outcome(verdict, None, "")
        except Unusable as error:
            unusable = error
        if unusable.kind == "truncated" and limit == max_tokens:
            limit = 2 * max_tokens
        elif left:
            left -= 1
            asked = repair(prompt, reply.text, str(unusable))
        else:
            return outcome(None, unusable.kind, str(unusable))
