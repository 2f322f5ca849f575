"""Sentence-embedding similarity: the cosine of two texts' mean-pooled token vectors, of any `transformers` encoder.

Mean pooling over the attention mask and L2 normalisation as in Reimers and Gurevych 2019 (Sentence-BERT). The model is
the user's choice and part of the metric's name; no model is taken by default.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any
from typing import NamedTuple

from . import weights
from .bertscore import LIMIT
from .bertscore import Encoder
from .bertscore import batches
from .bertscore import find_encoder
from .bertscore import quiet
from .bertscore import short_name
from .devices import default_device
from .devices import inference

if TYPE_CHECKING:
    import torch


class Similarity(NamedTuple):
    """Cosine of a pair in [-1, 1], and whether either text was cut to the encoder's limit."""

    cosine: float
    truncated: bool


def sentence_name(model: str) -> str:
    """The model's name in the metric's: `sentence[<name>]`.

    >>> sentence_name("sentence-transformers/all-MiniLM-L6-v2")
    'all-MiniLM-L6-v2'
    """
    return short_name(model) or weights.PUBMEDBERT.partition("/")[2]


def find_sentence_encoder(model: str, offline: bool | None = None) -> Encoder:
    """Have an encoder on this machine, downloaded if need be.

    Args:
        model: a Hub id, a folder, or `NAME=FOLDER`.
        offline: don't try the network.

    Raises:
        weights.WeightsUnavailable: not here and not to be had.
        ValueError: no such folder, no model in it, or one whose config can't be read.
    """
    try:
        return find_encoder(model, 0, offline)  # no layer is compared
    except ValueError as error:
        # The argument is called `sentence_model` here; what doesn't begin with its name says nothing of it yet.
        told = f"sentence_{error}" if str(error).startswith("model:") else f"sentence_model: {model}: {error}"
        raise ValueError(told) from error


def limit_of(folder: Path) -> int:
    """Tokens of a text that are read: what the model says of itself as a sentence encoder, else of its positions."""
    limits = [LIMIT]
    for file, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("config.json", "max_position_embeddings"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        path = folder / file
        told = json.loads(path.read_text(encoding="utf-8")).get(key) if path.is_file() else None
        limits += [int(told)] if isinstance(told, (int, float)) and told > 0 else []
    return min(limits)


@lru_cache(maxsize=1)
def _model(folder: Path, device: str | None) -> tuple[Any, Any, "torch.device"]:
    """The process's one tokenizer and model, and its device; another folder or device replaces them."""
    import torch
    from transformers import AutoModel
    from transformers import AutoTokenizer

    place = torch.device(device) if device else default_device()
    with quiet():
        tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModel.from_pretrained(folder)
    if getattr(model.config, "is_encoder_decoder", False):
        model = model.get_encoder()
    # Weights stored in half precision are kept so from transformers 5 on, and the score would depend on it.
    return tokenizer, model.float().to(place).eval(), place


def similarities(
    candidates: Sequence[str], references: Sequence[str], encoder: Encoder, device: str | None = None
) -> list[Similarity]:
    """Each pair's similarity. The same pairs give the same bits, in whatever order they come.

    Args:
        candidates: texts, none of them blank.
        references: likewise, as many.
        encoder: from `find_sentence_encoder`.
        device: torch's name; None for CUDA where there is some.
    """
    texts = sorted({*candidates, *references})
    if not texts:
        return []
    import torch

    tokenizer, model, place = _model(encoder.folder, device)
    limit = limit_of(encoder.folder)
    lengths = dict(zip(texts, map(len, tokenizer(texts, truncation=False, verbose=False)["input_ids"]), strict=True))
    texts.sort(key=lambda text: (-lengths[text], text))
    vectors: dict[str, torch.Tensor] = {}
    for batch in batches(texts, lengths):
        tokens = tokenizer(batch, padding=True, truncation=True, max_length=limit, return_tensors="pt").to(place)
        with inference(place):
            states = model(**tokens).last_hidden_state
        mask = tokens["attention_mask"].unsqueeze(-1).to(states.dtype)
        pooled = ((states * mask).sum(dim=1) / mask.sum(dim=1)).double().cpu()
        # A norm of 0 would be no direction; its cosine is 0.
        vectors.update(zip(batch, torch.nn.functional.normalize(pooled, dim=1), strict=True))
    return [
        Similarity(
            max(-1.0, min(1.0, float(vectors[candidate] @ vectors[reference]))),
            max(lengths[candidate], lengths[reference]) > limit,
        )
        for candidate, reference in zip(candidates, references, strict=True)
    ]
