"""One endpoint as the pool sees it: how many requests it takes at a time, and whether it lives."""

from dataclasses import dataclass
from dataclasses import field

from .faults import Fault
from .redact import label

# Failures in a row (windows in congestion count once) after which an endpoint counts as dead. One in five failing at
# random comes to 8 once in 400,000.
STRIKES = 8
LONGEST_REST = 30.0


@dataclass(slots=True)
class Endpoint:
    """Congestion window and health of an endpoint.

    The window is TCP's (RFC 5681): it doubles from `start` until the first congestion, then grows by 1 a window; it is
    halved once for all requests that were under way when congestion showed.

    Attributes:
        url: as it was given.
        ceiling: largest window.
        window: requests at a time.
        flying: requests under way.
        resume: time before which nothing is sent.
        resting: whether it is taken for dead; then one request at a time tries it.
        refused: why it won't serve us at all.
        heard: whether a connection ever came about.
        served: whether it ever gave a reply.
    """

    url: str
    ceiling: int
    window: float
    rest: float
    flying: int = 0
    sent: int = 0
    resume: float = 0.0
    resting: bool = False
    refused: Fault | None = None
    heard: bool = False
    served: bool = False
    epoch: int = 0
    _strikes: int = field(default=0, repr=False)
    _rests: int = field(default=0, repr=False)
    _doubling: bool = field(default=True, repr=False)

    @property
    def name(self) -> str:
        """The URL as it may be shown."""
        return label(self.url)

    def has_room(self, now: float) -> bool:
        """Whether a request may be sent now."""
        if self.refused is not None or now < self.resume:
            return False
        return self.flying < (1 if self.resting else int(self.window))

    @property
    def load(self) -> float:
        """Share of the window in use."""
        return self.flying / max(1.0, self.window)

    def succeeded(self) -> None:
        """A reply came; call it before `flying` goes down."""
        busy = self.flying >= int(self.window)
        self._strikes = self._rests = 0
        self.heard = self.served = True
        if self.resting:
            self.resting = False
            self.window, self._doubling = 1.0, True
            busy = True
        # A window that isn't used up shows nothing of what the endpoint can take.
        if busy:
            self.window = min(float(self.ceiling), self.window + (1.0 if self._doubling else 1.0 / self.window))

    def failed(self, fault: Fault, epoch: int, now: float) -> None:
        """An attempt failed.

        Args:
            fault: how.
            epoch: the endpoint's when the attempt was sent.
            now: time.
        """
        self.heard = self.heard or not fault.unreachable
        if fault.retry_after is not None and fault.passing:
            self.resume = max(self.resume, now + fault.retry_after)
        news = not fault.congestion or epoch == self.epoch
        if fault.congestion and news:
            self.window = max(1.0, self.window / 2)
            self._doubling = False
            self.epoch += 1
        if not fault.passing:
            # it answered: it lives
            self._strikes = 0
            return
        self._strikes = STRIKES if fault.unreachable or self.resting else self._strikes + int(news)
        if self._strikes >= STRIKES and now >= self.resume:
            self.resting = True
            self.resume = now + min(LONGEST_REST, self.rest * 2**self._rests)
            self._rests += 1
