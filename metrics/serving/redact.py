"""Secrets never reach messages, logs or reports."""

import base64
import json
import logging
import re
import weakref
from collections.abc import Iterable
from urllib.parse import parse_qsl
from urllib.parse import quote
from urllib.parse import unquote
from urllib.parse import urlsplit

MARK = "***"
LENGTH = 300
# Less than this is no secret, and masking it would spoil every message.
SHORTEST = 4

_PATTERNS = (
    # user:password@ of a URL
    (re.compile(r"(://)[^/\s@\"']+@"), rf"\1{MARK}@"),
    (re.compile(r"\b(bearer|basic)(\s+)[\w.~+/=*-]{4,}", re.IGNORECASE), rf"\1\2{MARK}"),
    (
        re.compile(
            r"\b((?:x-)?(?:goog-)?(?:api[-_]?key|access[-_]?token|auth[-_]?token|authorization|password|secret)"
            r"[\"']?\s*[=:]\s*[\"']?)(?!\*\*\*|bearer|basic)[^\s&\"',;)}]{4,}",
            re.IGNORECASE,
        ),
        rf"\1{MARK}",
    ),
    # in a URL's query; in prose "key: choices" is no secret
    (
        re.compile(r"([?&](?:[\w-]*[-_])?(?:key|token|sig|signature|credential)=)[^\s&\"']+", re.IGNORECASE),
        rf"\1{MARK}",
    ),
    # the shapes of well-known providers' keys, also where a server has starred their middle
    (re.compile(r"\b(?:sk|pk|rk|gsk|xai|r8)[-_][\w*-]{6,}|\bhf_[\w*-]{6,}|\bAIza[\w*-]{8,}"), MARK),
)
_LOGGERS = ("httpx", "httpx2", "openai._base_client")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+")


class Redactor:
    """Masks given secrets, in every form that a server might echo them in, and what looks like a secret.

    Args:
        secrets: keys and passwords of this run.
    """

    def __init__(self, secrets: Iterable[str | None] = ()) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if secret and len(secret) >= SHORTEST:
                encoded = base64.b64encode(secret.encode()).decode()
                forms |= {secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1], encoded}
        # the longest first: a secret may hold another
        self._forms = sorted(forms, key=len, reverse=True)

    def mask(self, text: str) -> str:
        """The text as it is but for the given secrets."""
        for form in self._forms:
            text = text.replace(form, MARK)
        return text

    def __call__(self, text: str, length: int = LENGTH) -> str:
        """The text on one line without secrets, cut to `length` characters."""
        text = self.mask(text)
        for pattern, mark in _PATTERNS:
            text = pattern.sub(mark, text)
        text = " ".join(_UNPRINTABLE.sub(" ", text).split())
        return text if len(text) <= length else f"{text[: length - 1]}…"

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"


def label(url: str) -> str:
    """A URL as it may be shown: without credentials, query and fragment."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def secrets_of(url: str) -> tuple[str, ...]:
    """Credentials and query values of a URL."""
    parts = urlsplit(url)
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    found = [password, f"{name}:{password}"] if password else [name]
    found += [value for field, value in parse_qsl(parts.query) if "version" not in field]
    return tuple(secret for secret in found if secret)


class _LogFilter(logging.Filter):
    """Masks the secrets of all redactors that are in use."""

    def __init__(self) -> None:
        super().__init__()
        self.redactors: weakref.WeakSet[Redactor] = weakref.WeakSet()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        for redact in self.redactors:
            message = redact(message, 10_000)
        record.msg, record.args = message, ()
        return True


_FILTER = _LogFilter()


def guard_logs(redact: Redactor) -> None:
    """Mask a run's secrets in the logs of the HTTP libraries, which name whole URLs at level INFO."""
    _FILTER.redactors.add(redact)
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_FILTER)
