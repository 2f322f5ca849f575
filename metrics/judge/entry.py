"""An entry of the reply cache: one reply of a judge under the digest of all that determines it.

An entry names what was asked (`asked`), so whoever gets it from elsewhere can check that its key fits, and holds a
digest of its own content, so that a damaged one is never taken for a verdict. Neither shows that a judge ever said it:
an imported entry is as trustworthy as its sender.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from dataclasses import fields
from typing import TYPE_CHECKING
from typing import Any
from urllib.parse import urlsplit

from ..cache_files import KEY_DIGITS
from ..cache_files import is_key
from ..serving.usage import Usage
from ..signature import digest

if TYPE_CHECKING:
    from .backend import Reply

UNUSABLE = "unusable"  # in `Entry.meta`: why no verdict could be read from the reply


def asked(
    identity: Any,
    *,
    model: str,
    mode: str | None,
    params: Mapping[str, Any],
    rubric_digest: str,
    schema_digest: str,
    sample: int,
) -> dict[str, Any]:
    """What a reply is determined by, each part as itself or as a digest.

    Args:
        identity: the messages, each image replaced by its digest (`Prompt.identity`).
        model: as asked for.
        mode: how the form of the reply was asked for: `json_schema`, `json_object`, `text`.
        params: temperature, seed, limit of tokens, the back end's fingerprint so far as it is known before a reply.
        rubric_digest: `Rubric.digest`.
        schema_digest: of the JSON schema.
        sample: number of the verdict where several are drawn, from 0.
    """
    return {
        "messages": digest(identity, KEY_DIGITS),
        "model": model,
        "mode": mode,
        "params": dict(params),
        "rubric": rubric_digest,
        "schema": schema_digest,
        "sample": sample,
    }


def key_of(what: Mapping[str, Any]) -> str:
    """The key of what `asked` gave: 32 hex digits."""
    return digest(dict(what), KEY_DIGITS)


@dataclass(frozen=True, slots=True)
class Entry:
    """A reply.

    Attributes:
        key: `key_of(asked)`.
        asked: what determines the reply, as `asked` gives it.
        text: the reply, raw.
        finish_reason: as the server says.
        usage: requests, tokens and whatever else was counted.
        model, fingerprint: as the server says.
        mode: `json_schema`, `json_object` or `text`.
        endpoint: host and port, for whoever runs the servers; an export leaves it out.
        created: seconds since 1970, UTC.
        meta: anything JSON; under `UNUSABLE` why the reply gave no verdict.
    """

    key: str
    asked: Mapping[str, Any]
    text: str
    finish_reason: str | None
    usage: Mapping[str, Any]
    model: str
    fingerprint: str | None
    mode: str
    endpoint: str | None
    created: float
    meta: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, what: Mapping[str, Any], reply: "Reply", usage: Usage, meta: Mapping[str, Any]) -> "Entry":
        """The entry of a reply that has just come.

        Args:
            what: as `asked` gives it.
            reply: of a back end.
            usage: all that it took to come to it, repairs included.
            meta: see `Entry`.
        """
        return cls(
            key=key_of(what),
            asked=dict(what),
            text=reply.text,
            finish_reason=reply.finish_reason,
            usage=usage.as_dict(),
            model=reply.model,
            fingerprint=reply.fingerprint,
            mode=reply.mode,
            endpoint=host(reply.endpoint),
            created=time.time(),
            meta=dict(meta),
        )

    @property
    def unusable(self) -> str | None:
        """Why no verdict could be read from it, or None."""
        found = self.meta.get(UNUSABLE)
        return None if found is None else str(found)

    def to_json(self) -> str:
        """One line of strict JSON, without its newline; key and date first, for whoever looks at a file."""
        row = {name: getattr(self, name) for name in _ORDER}
        return json.dumps({**row, "sum": digest(row)}, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, line: str | bytes) -> "Entry":
        """Read and check a line.

        Raises:
            ValueError: no JSON, no entry, a key that isn't that of what was asked, or content that isn't as written.
        """
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"no JSON: {error}") from error
        if not isinstance(row, dict) or set(row) != {*_ORDER, "sum"}:
            raise ValueError("not an entry of the reply cache")
        if row.pop("sum") != digest(row):
            raise ValueError("its content doesn't have the digest that it names: it was changed or damaged")
        check(row)
        return cls(**row)


_ORDER = ("key", "created", *(item.name for item in fields(Entry) if item.name not in ("key", "created")))
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "key": str,
    "created": (int, float),
    "asked": dict,
    "text": str,
    "finish_reason": (str, type(None)),
    "usage": dict,
    "model": str,
    "fingerprint": (str, type(None)),
    "mode": str,
    "endpoint": (str, type(None)),
    "meta": dict,
}


def check(row: Mapping[str, Any]) -> None:
    """Check an entry's fields, and that its key is that of what was asked.

    Raises:
        ValueError: with every fault.
    """
    faults = [
        f"{name}: got {type(row[name]).__name__}"
        for name, kind in _TYPES.items()
        if not isinstance(row[name], kind) or isinstance(row[name], bool)
    ]
    if not faults and not is_key(row["key"]):
        faults.append(f"key: expected {KEY_DIGITS} hex digits, got {row['key'][:40]!r}")
    elif not faults and row["key"] != (expected := key_of(row["asked"])):
        faults.append(f"key: expected {expected}, which is that of what was asked, got {row['key']}")
    if faults:
        raise ValueError("; ".join(faults))


def host(endpoint: str | None) -> str | None:
    """Host and port of an address; never its path, query or credentials."""
    if endpoint is None:
        return None
    parts = urlsplit(endpoint if "//" in endpoint else f"//{endpoint}")
    return parts.netloc.rpartition("@")[2] or None
