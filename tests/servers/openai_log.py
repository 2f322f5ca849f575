"""What the loopback model server keeps of a request."""

from dataclasses import dataclass

from . import misbehaviour
from .openai_requests import Picture


@dataclass
class Seen:
    """A request as it was answered; a row of the log, and a line of the log file.

    Attributes:
        number: from 0, in order of arrival.
        received: seconds on the system's monotonic clock, as `answered`.
        in_flight: requests that were being answered on arrival, this one included.
        status: as sent; 0 for a connection that was dropped, 499 where the client had gone.
        digest: of a chat's messages, or of the whole of another request.
        images: without their data.
        mode: a chat's response format.
        misbehaviour: a kind of `misbehaviour.KINDS`.
        prompt_tokens, completion_tokens: as they were told, or would have been, had the reply not been broken off.
        message: what was wrong with a request that was answered 400.
    """

    number: int
    path: str
    received: float
    in_flight: int
    answered: float = 0.0
    status: int = 499
    digest: str = ""
    model: str = ""
    images: tuple[Picture, ...] = ()
    mode: str = ""
    seed: int | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    misbehaviour: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    message: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether a reply of the model was sent, good or not."""
        return self.status == 200 and self.misbehaviour not in ("half", "content_type", "error_200")

    @property
    def is_good(self) -> bool:
        """Whether a careful reader gets a verdict out of what was sent."""
        return self.is_whole and self.misbehaviour in (None, "slow", *misbehaviour.MENDABLE)
