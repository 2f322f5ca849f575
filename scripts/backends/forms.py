"""How a server is asked for JSON: by the best form that it takes, found out by the first requests."""

from collections.abc import Awaitable
from collections.abc import Callable
from typing import TypeVar

from medgen_metrics.serving.faults import REJECTED
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import is_moderation

T = TypeVar("T")
FORMS = ("json_schema", "json_object", "text")


class Forms:
    """The form that a server takes.

    A server that can't do a form refuses the request or breaks down over it, and takes the same one without: then the
    form isn't asked for again. Whether it keeps to the form doesn't matter, since replies are read tolerantly.

    Args:
        gives_json: whether any form but text is worth trying.
    """

    def __init__(self, gives_json: bool) -> None:
        self._form = FORMS[0] if gives_json else FORMS[-1]
        # whether a request with this form has ever been answered
        self._proven = False

    async def ask(self, send: Callable[[str], Awaitable[T]]) -> tuple[T, str]:
        """Ask, by one form after the other until the server takes one.

        Args:
            send: takes one of `FORMS`.

        Returns:
            The reply, and the form that it was asked for by.

        Raises:
            CallFailed: what the best form met with, where none helps.
        """
        first: CallFailed | None = None
        for form in FORMS[FORMS.index(self._form) :]:
            try:
                reply = await send(form)
            except CallFailed as error:
                if self._proven or error.kind not in (REJECTED, "server") or is_moderation(error.message):
                    raise first or error from None
                first = first or error
                continue
            if not self._proven:
                self._form, self._proven = form, True
            return reply, form
        assert first is not None
        raise first


def response_format(form: str, schema: object) -> dict[str, object] | None:
    """OpenAI's `response_format` of a form; None for text."""
    if form == "json_schema":
        return {"type": form, "json_schema": {"name": "answer", "strict": True, "schema": schema}}
    return {"type": form} if form == "json_object" else None
