"""Sentence similarity on real weights, against one text at a time through plain transformers."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch

from medgen_metrics.sentence import find_sentence_encoder
from medgen_metrics.sentence import limit_of
from medgen_metrics.sentence import sentence_name
from medgen_metrics.sentence import similarities
from medgen_metrics.weights import WeightsUnavailable

pytestmark = pytest.mark.xdist_group("bertscore")

TEXTS = ["No pneumothorax.", "A pneumothorax.", "a mass in the left lung", "left lung mass", "x", "a dog runs " * 200]


def alone(texts: list[str], folder: str, limit: int) -> list[torch.Tensor]:
    """Means of each text's own token vectors, unpadded, of length 1."""
    from transformers import AutoModel
    from transformers import AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    vectors = []
    for text in texts:
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=limit)
        with torch.no_grad():
            mean = model(**tokens).last_hidden_state[0].mean(dim=0)
        vectors.append(mean / mean.norm())
    return vectors


def test_cosines_are_those_of_each_text_alone(minilm: str) -> None:
    encoder = find_sentence_encoder(f"MiniLM={minilm}")
    vectors = alone(TEXTS, minilm, 256)
    found = similarities(TEXTS, TEXTS[::-1], encoder, "cpu")
    expected = [float(one @ other) for one, other in zip(vectors, vectors[::-1], strict=True)]
    assert [pair.cosine for pair in found] == pytest.approx(expected, abs=1e-5)
    assert [pair.truncated for pair in found] == [True, False, False, False, False, True]
    assert limit_of(encoder.folder) == 256  # what the model's own sentence config says


def test_company_and_order_change_no_bit_of_the_same_pairs(minilm: str) -> None:
    encoder = find_sentence_encoder(minilm)
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    whole = dict(zip(pairs, similarities(TEXTS, TEXTS[::-1], encoder, "cpu"), strict=True))
    turned = similarities(TEXTS[::-1] * 2, TEXTS * 2, encoder, "cpu")
    assert turned == [whole[pair] for pair in pairs[::-1]] * 2
    assert all(-1 <= pair.cosine <= 1 for pair in similarities(TEXTS, TEXTS, encoder, "cpu"))
    assert similarities([], [], encoder) == []


def test_weights_of_half_precision_are_computed_with_in_full(minilm: str, tmp_path: Path) -> None:
    from transformers import AutoModel

    for file in Path(minilm).glob("*.json"):
        shutil.copy(file, tmp_path)
    shutil.copy(Path(minilm) / "vocab.txt", tmp_path)
    half = AutoModel.from_pretrained(minilm).to(torch.bfloat16)
    half.save_pretrained(tmp_path)
    full = tmp_path / "full"
    shutil.copytree(tmp_path, full)
    half.float().save_pretrained(full)
    pairs = list(zip(TEXTS, TEXTS[::-1], strict=True))
    # transformers 4 loads them in full, 5 as they are stored: one definition, so one score.
    found, expected = (
        [one.cosine for one in similarities(*zip(*pairs, strict=True), find_sentence_encoder(str(folder)), "cpu")]
        for folder in (tmp_path, full)
    )
    assert found == expected


def test_the_callers_autocast_changes_no_bit(minilm: str) -> None:
    encoder = find_sentence_encoder(minilm)
    plain = similarities(TEXTS, TEXTS[::-1], encoder, "cpu")
    with torch.autocast("cpu", torch.bfloat16):
        assert similarities(TEXTS, TEXTS[::-1], encoder, "cpu") == plain


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("mine=/opt/model", "mine"),
        ("microsoft/BiomedNLP-PubMedBERT-base-uncased-abstract", "BiomedNLP-PubMedBERT-base-uncased-abstract"),
    ],
)
def test_names(model: str, name: str) -> None:
    assert sentence_name(model) == sentence_name(name) == name


def test_what_cannot_be_had(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"sentence_model: .*neither a folder here nor a Hub id"):
        find_sentence_encoder("nowhere", offline=True)
    with pytest.raises(ValueError, match=r"sentence_model: .*has no config\.json"):
        find_sentence_encoder(str(tmp_path))
    with pytest.raises(WeightsUnavailable, match="owner/no-such-model are not on this machine, and offline is set"):
        find_sentence_encoder("owner/no-such-model", offline=True)


def test_of_a_fault_only_the_arguments_own_name_is_made_the_callers(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("not JSON", encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"sentence_model: {tmp_path}: Expecting value: line 1 column 1")):
        find_sentence_encoder(str(tmp_path))
    (tmp_path / "config.json").write_text('{"num_layers": -1}', encoding="utf-8")
    with pytest.raises(ValueError, match=re.escape(f"sentence_model: {tmp_path}: num_layers: expected 0 to -1")):
        find_sentence_encoder(str(tmp_path))


def test_an_encoder_decoder_gives_its_encoder(tmp_path: Path, minilm: str) -> None:
    from transformers import T5Config
    from transformers import T5Model

    torch.manual_seed(0)
    vocabulary = len((Path(minilm) / "vocab.txt").read_text(encoding="utf-8").splitlines())
    config = T5Config(vocab_size=vocabulary, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    T5Model(config).save_pretrained(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        shutil.copy(Path(minilm) / name, tmp_path)
    told = json.loads((tmp_path / "tokenizer_config.json").read_text(encoding="utf-8"))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({**told, "model_max_length": 10**30}))
    encoder = find_sentence_encoder(str(tmp_path))
    assert limit_of(tmp_path) == 512
    (same,) = similarities(["a mass"], ["a mass"], encoder, "cpu")
    assert same.cosine == pytest.approx(1.0)
