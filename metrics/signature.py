"""Signatures that say how a number was made, in sacreBLEU's manner, and digests of definitions.

A signature is `name|key:value|key:value…`, for people and papers. A definition digest is for machines: journals and
caches reuse a score only under the same digest, and package versions are not part of it.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from . import __version__

# Made once: several digests are taken for each record and system.
_canonical = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def signature(name: str, parts: Mapping[str, Any]) -> str:
    """Join `name`, our version and `parts` in the order given; parts that are None are left out.

    >>> signature("medgen_pixel", {"protocol": "paper", "lpips": None})
    'medgen_pixel|v:0.1.0|protocol:paper'
    """
    fields = {"v": __version__, **{key: value for key, value in parts.items() if value is not None}}
    # A value never breaks the form: separators inside one are replaced.
    return "|".join([name, *(f"{key}:{str(value).replace('|', '/')}" for key, value in fields.items())])


def digest(definition: Any, length: int = 16) -> str:
    """`length` hex digits of SHA-256 over canonical JSON (sorted keys, no white space)."""
    return hashlib.sha256(_canonical(definition).encode("utf-8", "surrogatepass")).hexdigest()[:length]
