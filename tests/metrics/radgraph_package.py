"""A package `radgraph` that stands in for the real one: annotations from a table, F1 by the published definition."""

import sys
from collections.abc import Mapping
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

VERSION = "0.1.18"


def entity(tokens: str, label: str, *relations: tuple[str, str]) -> dict[str, Any]:
    """As the package annotates; a relation is (name, number of the other entity)."""
    return {"tokens": tokens, "label": label, "start_ix": 0, "end_ix": 0, "relations": [list(one) for one in relations]}


def graph(*entities: dict[str, Any]) -> dict[str, Any]:
    """Entities numbered from "1" on."""
    return {"entities": {str(number): one for number, one in enumerate(entities, start=1)}}


def rg_er(candidate: Mapping[str, Any], reference: Mapping[str, Any]) -> float:
    """RG_ER: F1 of the sets of (tokens, label, has a relation), 2 |both| / (|one| + |other|)."""
    one, other = (
        {(item["tokens"], item["label"], bool(item["relations"])) for item in made["entities"].values()}
        for made in (candidate, reference)
    )
    return 2 * len(one & other) / (len(one) + len(other)) if one and other else 0.0


class StandIn:
    """What was asked of the stand-in.

    Attributes:
        graphs: text -> graph; a text that isn't in it can't be read.
        asked: the texts of each call.
        made: the keywords of each model that was made.
        precisions: of a product of matrices during each call.
    """

    def __init__(self, graphs: Mapping[str, Mapping[str, Any]]) -> None:
        self.graphs = graphs
        self.asked: list[list[str]] = []
        self.made: list[dict[str, Any]] = []
        self.precisions: list[torch.dtype] = []


def install(monkeypatch: pytest.MonkeyPatch, cache: Path, graphs: Mapping[str, Mapping[str, Any]]) -> StandIn:
    """Put the stand-in, its version, its cache folder with weights and an old transformers in place."""
    from transformers import PreTrainedTokenizerBase

    from medgen_metrics import radgraph_f1

    told = StandIn(graphs)

    class Model:
        def to(self, device: Any) -> "Model":
            return self

    class RadGraph:
        def __init__(self, **options: Any) -> None:
            print("Using device: cpu")
            told.made.append(options)
            self.model = Model()

        def __call__(self, texts: Sequence[str]) -> dict[str, Any]:
            print("noise")
            told.asked.append(list(texts))
            told.precisions.append((torch.ones(1, 1) @ torch.ones(1, 1)).dtype)
            return {str(place): graphs[text] for place, text in enumerate(texts) if text in graphs}

    def compute_reward(candidate: Mapping[str, Any], reference: Mapping[str, Any], level: str) -> float:
        assert level == "partial"
        return rg_er(candidate, reference)

    package, rewards, appdirs = ModuleType("radgraph"), ModuleType("radgraph.rewards"), ModuleType("appdirs")
    package.RadGraph = RadGraph  # type: ignore[attr-defined]
    rewards.compute_reward = compute_reward  # type: ignore[attr-defined]
    appdirs.user_cache_dir = lambda name: str(cache / name)  # type: ignore[attr-defined]
    for name, module in (("radgraph", package), ("radgraph.rewards", rewards), ("appdirs", appdirs)):
        monkeypatch.setitem(sys.modules, name, module)
    version = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: VERSION if name == "radgraph" else version(name))
    monkeypatch.setattr(PreTrainedTokenizerBase, "encode_plus", None, raising=False)
    write_weights(cache / "radgraph" / VERSION / "radgraph-xl", encoder=str(cache))
    radgraph_f1._model.cache_clear()
    return told


def write_weights(folder: Path, encoder: str) -> None:
    """What the archive holds, as far as it is looked at."""
    (folder / "vocabulary").mkdir(parents=True)
    (folder / "config.json").write_text(
        f'{{"model": {{"embedder": {{"token_embedders": {{"bert": {{"model_name": "{encoder}"}}}}}}}}}}'
    )
    (folder / "weights.th").write_bytes(b"weights")
