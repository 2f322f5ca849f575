"""What `huggingface_hub` fetches on its own in the course of an inference call, held to the hosts that are allowed.

Some providers answer with the URL of an image, which the library follows in its shared session.
"""

import contextvars
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from medgen_metrics.serving.faults import RunStopped

from .fetching import Rules

_rules: contextvars.ContextVar[Rules | None] = contextvars.ContextVar("_rules", default=None)


@contextmanager
def held(rules: Rules) -> Iterator[None]:
    """Hold the library's own requests to the rules, in this task and the threads that it starts.

    Raises:
        RunStopped: a release of the library whose requests can't be held.
    """
    import huggingface_hub

    hooks = getattr(huggingface_hub.get_session(), "event_hooks", None)
    if hooks is None:
        raise RunStopped("rejected", "hf-inference: expected huggingface_hub 1.0 or newer, whose requests can be held")
    # the session may have been replaced since
    if _hold not in hooks["request"]:
        hooks["request"].append(_hold)
    before = _rules.set(rules)
    try:
        yield
    finally:
        _rules.reset(before)


def _hold(request: Any) -> None:
    rules = _rules.get()
    if rules is None:
        return
    url = str(request.url)
    host, port = rules.target(url)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        # behind a proxy names may mean nothing here; else the request itself fails
        return
    rules.check(url, host, port, [str(entry[4][0]) for entry in found])
