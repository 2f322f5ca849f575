"""Digests of weights by content, so that neither a file's name nor its place makes a score another."""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from .signature import digest


def folder_digest(folder: Path, more: Sequence[str] = ()) -> str:
    """Digest of all that determines a model's output, by content: config, weights, tokenizer.

    Args:
        folder: of a transformers model.
        more: names of further files that count where they are there.

    Raises:
        ValueError: no weights in it.
    """
    names = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json")
    files = [folder / name for name in (*names, "vocab.txt", "vocab.json", "merges.txt", "spiece.model", *more)]
    # transformers prefers safetensors; another format beside it is not read.
    tensors = sorted(folder.glob("model*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not tensors:
        raise ValueError(f"model: {folder} holds no weights (model.safetensors or pytorch_model.bin)")
    present = [path for path in (*files, *tensors) if path.is_file()]
    return digest({path.name: file_digest(path) for path in present})


def file_digest(path: Path) -> str:
    """SHA-256 of a file, 64 hex digits; read once as long as its size and time stay."""
    about = path.stat()
    return _sha256(path, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, modified: int) -> str:
    # The Hub's cache names large files by their SHA-256.
    blob = path.resolve().name
    if re.fullmatch(r"[0-9a-f]{64}", blob):
        return blob
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() if hasattr(hashlib, "file_digest") else _sha256_of(file)


def _sha256_of(file: Any) -> str:
    sha = hashlib.sha256()
    while block := file.read(1 << 20):
        sha.update(block)
    return sha.hexdigest()


def files_digest(folder: Path) -> str:
    """Digest of all files below a folder by name and content, 16 hex digits; hidden ones apart."""
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = {path.relative_to(folder).as_posix(): path for path in found}
    return digest({name: file_digest(path) for name, path in names.items() if not re.search(r"(^|/)\.", name)})
