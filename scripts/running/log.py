"""`--log-requests`: what was asked and what was given, images by their digests."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from medgen_metrics.serving.redact import Redactor

from ..backends.base import Ask
from ..backends.base import Gave
from ..errors import Failure

_LONG = 1_000_000


class RequestLog:
    """A JSONL file that requests are appended to, one line each once it has ended.

    Args:
        path: the file.
        redact: masks the run's secrets.

    Raises:
        Failure: it can't be written.
    """

    def __init__(self, path: Path, redact: Redactor) -> None:
        self._redact = redact
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("ab", buffering=0)
        except OSError as error:
            raise Failure(f"{path}: can't be written: {error.strerror}; leave --log-requests out") from error

    def gave(self, model: str, ask: Ask, gave: Gave) -> None:
        """Note a reply."""
        self._add(
            model,
            ask,
            {
                "text": gave.text,
                "image": None if gave.image is None else _digest(gave.image),
                "finish_reason": gave.finish_reason,
                "model": gave.model,
                "fingerprint": gave.fingerprint,
                "usage": gave.usage.as_dict(),
                "meta": dict(gave.meta),
            },
        )

    def failed(self, model: str, ask: Ask, error: Exception) -> None:
        """Note that none came."""
        self._add(model, ask, {"error": {"kind": type(error).__name__, "message": self._redact(str(error), _LONG)}})

    def close(self) -> None:
        """End the file."""
        self._file.close()

    def _add(self, model: str, ask: Ask, reply: Mapping[str, Any]) -> None:
        line = {
            "id": ask.id,
            "model": model,
            "system": ask.system,
            "prompt": ask.prompt,
            "images": [_digest(image) for image in ask.images],
            "wants": sorted(ask.wants),
            "size": ask.size,
            "seed": ask.seed,
            "max_tokens": ask.max_tokens,
            "json": ask.schema is not None,
            "reply": reply,
        }
        # escapes of JSON are masked too: a secret may be written with them
        self._file.write(self._redact.mask(json.dumps(line)).encode() + b"\n")


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
