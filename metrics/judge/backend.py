"""What a judge's back end is, and what comes of asking one."""

from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import Protocol

from ..serving.usage import Usage
from .verdict import Verdict

MODES = ("json_schema", "json_object", "text")
TRANSPORT = "transport"


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply of a judge.

    Attributes:
        text: as it was given; a refusal that the server reports apart is its text.
        finish_reason: as the server says (`stop`, `length`, `content_filter`, …); `refusal` where it reports one apart.
        usage: what the request consumed.
        model: as the server says.
        fingerprint: of the server's software or weights, where it tells.
        mode: how the form was asked for, one of `MODES`.
        endpoint: the server's address, without credentials.
    """

    text: str
    finish_reason: str | None
    usage: Usage
    model: str
    fingerprint: str | None
    mode: str
    endpoint: str


class Backend(Protocol):
    """Something that answers chat messages.

    Attributes:
        name: the model as it was asked for.
        mode: how the form is asked for; None before the first request.
    """

    name: str
    mode: str | None

    def fingerprint(self) -> dict[str, Any]:
        """What is known of the model and its server, JSON-able; grows with the replies."""
        ...

    async def probe(self) -> str:
        """Find out how the form is asked for, where that isn't known.

        Returns:
            One of `MODES`, which `mode` then holds too.

        Raises:
            RunStopped: not even a tiny request is answered.
        """
        ...

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        *,
        temperature: float,
        seed: int | None,
        max_tokens: int,
    ) -> Reply:
        """One reply.

        Raises:
            CallFailed: this request stays without a reply.
            RunStopped: no further request can be made.
        """
        ...

    async def aclose(self) -> None:
        """Close connections; the back end may be used again afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking for one verdict.

    Attributes:
        verdict: None where there is none.
        kind: why not: `refusal`, `empty`, `truncated`, `no_json`, `invalid` (see `verdict.Unusable`), `transport`
            (no reply after all attempts) or `rejected` (the server won't take this request).
        message: the same in words; empty with a verdict.
        replies: every reply as it was given, the last one last.
        usage: of all of them.
    """

    verdict: Verdict | None
    kind: str | None
    message: str
    replies: tuple[Reply, ...]
    usage: Usage


@dataclass(frozen=True, slots=True)
class Found:
    """What came of one request for a verdict.

    Attributes:
        judge, view, number: which.
        verdict: None where there is none: the judge failed, unless `reason` says that the sample can't be shown.
        reason: one of `failures.REASONS` where the sample itself is at fault.
        usage: of the replies behind it, those from the cache as they were counted then.
        repaired: whether the reply's form had to be mended.
    """

    judge: str
    view: str
    number: int
    verdict: Verdict | None = None
    reason: str | None = None
    usage: Usage = field(default_factory=Usage)
    repaired: bool = False
