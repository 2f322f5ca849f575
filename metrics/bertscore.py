"""BERTScore through one cached `BERTScorer`: length-sorted batches, duplicates once, texts over the limit counted.

PubMedBERT's score is the paper's PBScore; any other encoder's goes by that encoder's name.
"""

import csv
import json
import re
from collections import Counter
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from typing import NamedTuple

from . import model_folders
from . import weights
from .devices import inference
from .file_digests import folder_digest

if TYPE_CHECKING:
    import torch
    from bert_score import BERTScorer

    _State = tuple[torch.Tensor, torch.Tensor]  # a text's token vectors [T, d] and their weights [T]

LIMIT = 512  # tokens of a text that are read, the special ones included
LAYERS = 12  # of PubMedBERT
BATCH = 64  # pairs


class Encoder(NamedTuple):
    """An encoder that is on this machine.

    Attributes:
        name: what the score is called by; None for PubMedBERT.
        folder: config, weights and tokenizer.
        layers: the layer whose output is compared.
        digest: of the config, the weights and the tokenizer.
    """

    name: str | None
    folder: Path
    layers: int
    digest: str


class Score(NamedTuple):
    """F1 of a pair, and whether either text was cut to the limit."""

    f1: float
    truncated: bool


def short_name(model: str | None) -> str | None:
    """What an encoder's score is called by: None for PubMedBERT, else the last part of its id or folder.

    >>> short_name("sentence-transformers/all-MiniLM-L6-v2"), short_name("/opt/biobert"), short_name("x=/opt/model")
    ('all-MiniLM-L6-v2', 'biobert', 'x')
    """
    if model is None or model == weights.PUBMEDBERT:
        return None
    name, folder = named(model)
    if name:
        return name
    cached = re.search(r"models--[^/\\]+--([^/\\]+)[/\\]snapshots[/\\][0-9a-f]{40}", folder)
    name = cached.group(1) if cached else re.split(r"[/\\]", folder.rstrip("/\\"))[-1]
    # The name becomes part of `bertscore[<name>]`.
    return re.sub(r"[\[\]|\s]", "-", name)


def named(model: str) -> tuple[str, str]:
    """The parts of `NAME=FOLDER`; without a name all is the folder, or id."""
    name, equals, folder = model.partition("=")
    return (name, folder) if equals and name and not re.search(r"[/\\]", name) else ("", model)


def find_encoder(model: str | None = None, num_layers: int | None = None, offline: bool | None = None) -> Encoder:
    """Have an encoder on this machine, downloaded if need be.

    Args:
        model: None for PubMedBERT; a Hub id; a folder; or `NAME=FOLDER` where the folder's own name says nothing.
        num_layers: default 12 for PubMedBERT, else the last layer.
        offline: don't try the network; default as `weights.obtain`.

    Raises:
        weights.WeightsUnavailable: not here and not to be had.
        ValueError: no such folder, no model in it, or no such layer.
    """
    name = short_name(model)
    if model is None or name is None:
        folder = weights.obtain("pubmedbert", offline=offline)
        num_layers = LAYERS if num_layers is None else num_layers
    else:
        folder = model_folders.find(
            named(model)[1], lambda repo, _: weights.obtain(weights.hub_encoder(repo), offline=offline)
        )
    config_path = folder / "config.json"
    if not config_path.is_file():
        raise ValueError(f"model: {folder} has no config.json; expected the folder of a transformers encoder")
    config = json.loads(config_path.read_text(encoding="utf-8"))
    depth = config.get("num_hidden_layers", config.get("num_layers", config.get("n_layers")))
    layers = num_layers if num_layers is not None else depth
    if layers is None:
        raise ValueError(
            f"num_layers: {config_path} doesn't say how many layers the encoder has; give the one to compare"
        )
    if depth is not None and not 0 <= layers <= depth:
        raise ValueError(f"num_layers: expected 0 to {depth} for {name or 'PubMedBERT'}, got {layers}")
    return Encoder(name, folder, int(layers), folder_digest(folder))


def baseline(path: Path, layers: int) -> float:
    """F1 of random pairs at a layer, from a baseline file in bert-score's format (LAYER,P,R,F).

    Raises:
        ValueError: the file has no such layer or no such columns.
    """
    with Path(path).open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row.get("LAYER") is not None and int(row["LAYER"]) == layers and row.get("F"):
                return float(row["F"])
    raise ValueError(f"baseline_path: {path} has no row for layer {layers}; expected columns LAYER,P,R,F")


class _Folder(str):
    """A model folder that bert-score takes for a T5 model only if it is one, not wherever "t5" is in the path."""

    is_t5 = False

    def __contains__(self, part: object) -> bool:
        return self.is_t5 if part == "t5" else super().__contains__(str(part))


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps transformers' notes and progress bars off the terminal while a model is loaded."""
    from transformers.utils import logging

    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


@lru_cache(maxsize=1)
def scorer(folder: Path, layers: int, device: str | None = None) -> "BERTScorer":
    """The process's one `BERTScorer`; another encoder, layer or device replaces it.

    Args:
        folder: the encoder.
        layers: the layer whose output is compared.
        device: torch's name; None for CUDA where there is some.
    """
    from bert_score import BERTScorer

    model = _Folder(folder.absolute())
    model.is_t5 = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("model_type", "").endswith("t5")
    with quiet():
        made = BERTScorer(model_type=model, num_layers=layers, device=device, batch_size=BATCH)
    # Weights stored in half precision are kept so from transformers 5 on, and the score would depend on it.
    made._model.float()
    tokenizer, config = made._tokenizer, made._model.config
    # Tokenizers of older repositories declare no limit, and the encoder would index past its positions.
    positions = getattr(config, "max_position_embeddings", None) or LIMIT
    tokenizer.model_max_length = min(LIMIT, tokenizer.model_max_length, positions)
    return made


def bert_scores(
    candidates: Sequence[str], references: Sequence[str], encoder: Encoder, device: str | None = None
) -> list[Score]:
    """F1 of each pair, equal to `bert_score.score` of that pair alone, without idf and rescaling, within 1e-5.

    The same pairs give the same bits, in whatever order they come: batches are planned from the texts alone
    (bert-score's own order of equally long texts follows the process's hash seed).

    Args:
        candidates: texts, none of them blank.
        references: likewise, as many.
        encoder: from `find_encoder`.
        device: as `scorer`.
    """
    pairs = sorted(set(zip(candidates, references, strict=True)))
    if not pairs:
        return []
    import torch

    made = scorer(encoder.folder, encoder.layers, device)
    texts = sorted({text for pair in pairs for text in pair})
    tokens = made._tokenizer(texts, truncation=False, add_special_tokens=True, verbose=False)["input_ids"]
    lengths = {text: len(ids) for text, ids in zip(texts, tokens, strict=True)}
    limit = made._tokenizer.model_max_length
    pairs.sort(key=lambda pair: max(lengths[pair[0]], lengths[pair[1]]), reverse=True)
    scores: dict[tuple[str, str], Score] = {}
    states: dict[str, _State] = {}
    uses = Counter(text for pair in pairs for text in set(pair))
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        new = sorted({text for pair in batch for text in pair} - set(states), key=lambda text: (-lengths[text], text))
        with inference(torch.device(made.device)):
            for part in batches(new, lengths):
                states.update(_encode(made, part))
            found = [_match(states[pair[1]], states[pair[0]]) for pair in batch]
        for pair, f1 in zip(batch, found, strict=True):
            # Rounding may carry equal texts past 1.
            scores[pair] = Score(min(1.0, f1), any(lengths[text] > limit for text in pair))
        # A text's vectors are kept as long as a pair needs them, no longer.
        uses.subtract(text for pair in batch for text in set(pair))
        states = {text: state for text, state in states.items() if uses[text]}
    return [scores[pair] for pair in zip(candidates, references, strict=True)]


def batches(texts: Sequence[str], lengths: Mapping[str, int]) -> Iterator[list[str]]:
    """Texts, longest first, in batches of nearly equal lengths: little padding to compute."""
    batch: list[str] = []
    for text in texts:
        if batch and (len(batch) == BATCH or lengths[text] < 0.8 * lengths[batch[0]]):
            yield batch
            batch = []
        batch.append(text)
    if batch:
        yield batch


def _encode(made: "BERTScorer", texts: list[str]) -> dict[str, "_State"]:
    from bert_score.utils import get_bert_embedding

    tokenizer = made._tokenizer
    weight: dict[int, float] = defaultdict(lambda: 1.0, {tokenizer.sep_token_id: 0.0, tokenizer.cls_token_id: 0.0})
    vectors, mask, idf = get_bert_embedding(texts, made._model, tokenizer, weight, device=made.device)
    return {
        # A slice would keep the whole batch in memory.
        text: (vectors[index, :count].clone(), idf[index, :count].clone())
        for index, (text, count) in enumerate(zip(texts, mask.sum(dim=1).tolist(), strict=True))
    }


def _match(reference: "_State", candidate: "_State") -> float:
    """F1 of one pair, unpadded.

    In a padded batch bert-score lets a token without any similar one match the padding, at 0, so that a score depends
    on the company it is in. Alone it doesn't.
    """
    from bert_score.utils import greedy_cos_idf

    sides = []
    for vectors, idf in (reference, candidate):
        # It normalises in place.
        sides += [vectors.unsqueeze(0).clone(), vectors.new_ones((1, len(vectors))), idf.unsqueeze(0).clone()]
    _, _, f1 = greedy_cos_idf(*sides)
    return float(f1)
