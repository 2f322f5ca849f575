"""One record on its way through a system's models."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from medgen_metrics.serving.usage import Usage

from ..backends import base
from ..records import Record

# A back end's own kinds under the names that scores know (`medgen_metrics.failures`).
_REASONS: Mapping[str, str] = {
    base.REFUSAL: "refused",
    base.EMPTY: "empty",
    base.NO_IMAGE: "missing",
    base.NOT_AN_IMAGE: "not_an_image",
}


@dataclass
class Work:
    """A record, and what its system has given so far.

    Attributes:
        record: the record.
        seed: its own.
        attempts: requests of earlier runs that failed.
        text: the answer.
        prompt: what a first model wrote for an image model.
        image: the file that was given.
        meta: what a reader should know.
        usage: what it has consumed.
        error: why it failed; None while it hasn't.
        stopped: whether the run ended before it was answered.
        drafted: whether its draft is on disk already.
    """

    record: Record
    seed: int
    attempts: int = 0
    text: str | None = None
    prompt: str | None = None
    image: bytes | None = None
    meta: dict[str, Any] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    error: dict[str, Any] | None = None
    stopped: bool = False
    drafted: bool = False

    @property
    def open(self) -> bool:
        """Whether there is anything left to ask."""
        return self.error is None and not self.stopped

    def fail(self, kind: str, message: str, attempts: int = 1) -> None:
        """Note why it failed; a text that was given stays."""
        known = _REASONS.get(kind, kind)
        self.error = {"kind": known, "message": message, "attempts": self.attempts + attempts}

    @property
    def draft(self) -> dict[str, Any] | None:
        """What need not be asked again where its second model has not answered; None where nothing is there."""
        if self.prompt is None:
            return None
        return {"text": self.text, "prompt": self.prompt, "meta": self.meta, "usage": self.usage.as_dict()}

    def take_draft(self, draft: Mapping[str, Any]) -> None:
        """Go on from a draft."""
        self.text, self.prompt = draft["text"], draft["prompt"]
        self.meta, self.usage = dict(draft["meta"]), Usage.read(draft["usage"])
        self.drafted = True

    def row(self, image: str | None) -> dict[str, Any]:
        """The record's row, but for what is found out about its image."""
        meta = dict(self.meta)
        if self.prompt is not None:
            meta["image_prompt"] = self.prompt
        if self.usage.requests:
            told = self.usage.as_dict().items()
            meta["usage"] = {name: value for name, value in told if value or (name == "cost" and value is not None)}
        row: dict[str, Any] = {"id": self.record.id, "text": self.text, "image": image}
        if self.error is not None:
            row["error"] = self.error
        if meta:
            row["meta"] = meta
        return row


def draft_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """The draft that a failed row holds: its second model is asked again, its first one is not."""
    meta = dict(row.get("meta") or {})
    prompt = meta.pop("image_prompt", None)
    if prompt is None:
        return None
    return {"text": row.get("text"), "prompt": prompt, "meta": meta, "usage": meta.pop("usage", {})}


def seed_of(seed: int, record_id: str) -> int:
    """A record's own seed, 31 bits: its answer depends on no order, batch or number of processes."""
    return int.from_bytes(hashlib.sha256(f"{seed}\0{record_id}".encode()).digest()[:4], "big") >> 1
