"""BERTScore against `bert_score.score`, on a real encoder; names, limits, order and digests."""

import json
import random
import shutil
from dataclasses import replace
from pathlib import Path

import bert_score
import pytest
import torch

from medgen_metrics import weights
from medgen_metrics.bertscore import bert_scores
from medgen_metrics.bertscore import find_encoder
from medgen_metrics.bertscore import scorer
from medgen_metrics.bertscore import short_name
from medgen_metrics.file_digests import folder_digest

pytestmark = pytest.mark.xdist_group("bertscore")  # one load of the encoder

TEXT = "there is a large mass in the left lung with pleural effusion and no pneumothorax X-ray T2-weighted 3.5 cm"


def pairs(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(TEXT.split(), k=rng.randint(1, 40))) for _ in range(2 * count)]
    return texts[:count], texts[count:]


def alone(candidates: list[str], references: list[str], folder: str, layers: int = 6) -> list[float]:
    """bert-score's own F1 of each pair by itself; in a padded batch its values depend on the other pairs."""
    made = bert_score.BERTScorer(model_type=folder, num_layers=layers, device="cpu")
    return [made.score([c], [r])[2].item() for c, r in zip(candidates, references, strict=True)]


def test_equals_bert_score(minilm: str) -> None:
    candidates, references = pairs(70)
    candidates[:4] = ["The same text.", "naïve café 左肺", "a", "?"]
    references[:3] = ["The same text.", "naive cafe lung", "a b c"]
    scores = bert_scores(candidates, references, find_encoder(minilm), "cpu")
    assert [score.f1 for score in scores] == pytest.approx(alone(candidates, references, minilm), abs=1e-5)
    for index in (0, 1, 69):
        *_, f1 = bert_score.score(
            candidates[index : index + 1], references[index : index + 1], model_type=minilm, num_layers=6, device="cpu"
        )
        assert scores[index].f1 == pytest.approx(f1.item(), abs=1e-5)
    assert max(score.f1 for score in scores) <= 1.0
    assert not any(score.truncated for score in scores)


def test_a_pair_does_not_depend_on_its_company(minilm: str) -> None:
    # One word without any similar one: where the batch is padded, bert-score matches it with the padding.
    candidate, reference = "pleural X-ray", "there is a large mass in the left lung with no effusion and 3.5 cm " * 2
    company = ["lung " * 60, "effusion", "a left lung mass"]
    encoder = find_encoder(minilm)
    (by_itself,) = bert_scores([candidate], [reference], encoder, "cpu")
    together = bert_scores([candidate, *company], [reference, *company[::-1]], encoder, "cpu")[0]
    assert together.f1 == pytest.approx(by_itself.f1, abs=1e-6)
    rng = random.Random(1)
    words = ["zebra", "quantum", "lung", "of", "1997", "violin"]
    candidates = [" ".join(rng.choices(words, k=rng.randint(1, 30))) for _ in range(30)]
    references = [" ".join(rng.choices(TEXT.split(), k=rng.randint(1, 30))) for _ in range(30)]
    expected = alone(candidates, references, minilm)
    *_, batched = bert_score.score(candidates, references, model_type=minilm, num_layers=6, device="cpu")
    assert batched.tolist() != pytest.approx(expected, abs=1e-5)  # else this test shows nothing
    scores = bert_scores(candidates, references, encoder, "cpu")
    assert [score.f1 for score in scores] == pytest.approx(expected, abs=1e-5)


def test_another_layer_is_another_score(minilm: str) -> None:
    candidates, references = pairs(4)
    third = [score.f1 for score in bert_scores(candidates, references, find_encoder(minilm, 3), "cpu")]
    assert third == pytest.approx(alone(candidates, references, minilm, 3), abs=1e-5)
    last = [score.f1 for score in bert_scores(candidates, references, find_encoder(minilm), "cpu")]
    assert third != pytest.approx(last, abs=1e-3)


def test_duplicates_order_and_batches_change_nothing(minilm: str) -> None:
    encoder = find_encoder(minilm)
    candidates, references = pairs(9)
    once = bert_scores(candidates, references, encoder, "cpu")
    order = [3, 0, 0, 8, 1, 2, 7, 4, 5, 6, 3, 3]
    again = bert_scores([candidates[i] for i in order], [references[i] for i in order], encoder, "cpu")
    assert again == [once[i] for i in order]  # bit for bit
    singly = [bert_scores([c], [r], encoder, "cpu")[0] for c, r in zip(candidates, references, strict=True)]
    assert [score.f1 for score in singly] == pytest.approx([score.f1 for score in once], abs=1e-6)


def test_texts_are_encoded_once_longest_first_in_an_order_that_no_hash_seed_changes(
    minilm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    encode = bert_score.utils.get_bert_embedding

    def noting(texts: list[str], *args: object, **kwargs: object) -> object:
        seen.extend(texts)
        return encode(texts, *args, **kwargs)

    monkeypatch.setattr(bert_score.utils, "get_bert_embedding", noting)
    bert_scores(["yes", "no", "yes", "a", "left lung"], ["yes", "yes", "no", "b", "yes"], find_encoder(minilm), "cpu")
    assert seen == ["left lung", "a", "b", "no", "yes"]


def test_weights_of_half_precision_are_computed_with_in_full(minilm: str, tmp_path: Path) -> None:
    from transformers import AutoModel

    for file in (*Path(minilm).glob("*.json"), Path(minilm) / "vocab.txt"):
        shutil.copy(file, tmp_path)
    AutoModel.from_pretrained(minilm).to(torch.bfloat16).save_pretrained(tmp_path)
    encoder = find_encoder(str(tmp_path))
    (found,) = bert_scores(["a mass in the left lung"], ["left lung mass"], encoder, "cpu")
    weights_used = scorer(encoder.folder, encoder.layers, "cpu")._model.parameters()
    assert {weight.dtype for weight in weights_used} == {torch.float32}
    assert 0 < found.f1 < 1


def test_the_callers_autocast_changes_no_bit(minilm: str) -> None:
    encoder = find_encoder(minilm)
    pairs = ["a mass in the left lung", "no effusion"], ["left lung mass", "a small effusion"]
    plain = bert_scores(*pairs, encoder, "cpu")
    with torch.autocast("cpu", torch.bfloat16):
        assert bert_scores(*pairs, encoder, "cpu") == plain


def test_one_scorer_is_kept(minilm: str) -> None:
    folder = Path(minilm)
    assert scorer(folder, 6, "cpu") is scorer(folder, 6, "cpu")


def test_texts_over_the_limit_are_cut_and_said_so(minilm: str) -> None:
    encoder = find_encoder(minilm)
    long, longer = " ".join(["lung"] * 509 + ["heart"]), " ".join(["lung"] * 509 + ["heart"] * 300)
    fits, cut = bert_scores([long, longer], [long, long], encoder, "cpu")
    assert not fits.truncated  # 510 words and two special tokens
    assert cut.truncated
    assert cut.f1 == pytest.approx(fits.f1, abs=1e-6)


def test_an_encoder_without_a_declared_limit_is_not_read_past_its_positions(minilm: str, tmp_path: Path) -> None:
    folder = copy_of(minilm, tmp_path / "unlimited")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    del config["model_max_length"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (score,) = bert_scores(["lung " * 700], ["lung " * 600], find_encoder(str(folder)), "cpu")
    assert score.truncated
    assert score.f1 == pytest.approx(1.0, abs=1e-5)


def test_t5_in_the_path_makes_no_t5(minilm: str, tmp_path: Path) -> None:
    folder = tmp_path / "t5" / "mini"
    folder.parent.mkdir()
    folder.symlink_to(minilm)
    (score,) = bert_scores(["left lung"], ["left lung"], find_encoder(str(folder)), "cpu")
    assert score.f1 == pytest.approx(1.0, abs=1e-5)


def copy_of(minilm: str, folder: Path) -> Path:
    folder.mkdir()
    for path in Path(minilm).glob("*"):
        if path.suffix == ".safetensors":
            (folder / path.name).symlink_to(path)
        elif path.is_file():
            shutil.copy(path, folder)
    return folder


def test_nothing_to_score(minilm: str) -> None:
    assert bert_scores([], [], find_encoder(minilm)) == []


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (None, None),
        (weights.PUBMEDBERT, None),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("all-MiniLM-L6-v2", "all-MiniLM-L6-v2"),
        ("/opt/encoders/biobert/", "biobert"),
        ("MiniLM=/opt/model", "MiniLM"),
        (f"/cache/models--a--b-c/snapshots/{'0' * 40}", "b-c"),
        ("C:\\models\\my model[1]", "my-model-1-"),
        ("/data/lr=0.1/model", "model"),
    ],
)
def test_short_name(model: str | None, name: str | None) -> None:
    assert short_name(model) == name
    assert name is None or short_name(name) == name


def test_digest_follows_content_not_place(minilm: str, tmp_path: Path) -> None:
    folder = copy_of(minilm, tmp_path / "copy")
    assert folder_digest(folder) == folder_digest(Path(minilm)) == find_encoder(f"x={folder}").digest
    vocabulary = folder / "tokenizer.json"
    vocabulary.write_text(vocabulary.read_text() + " ")
    assert folder_digest(folder) != folder_digest(Path(minilm))


def test_pubmedbert_that_is_not_here_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    here = replace(weights.REGISTRY["pubmedbert"], find=lambda: None)
    monkeypatch.setitem(weights.REGISTRY, "pubmedbert", here)
    with pytest.raises(weights.WeightsUnavailable, match="medgen-bench weights fetch pubmedbert"):
        find_encoder(offline=True)


def test_pubmedbert_has_no_other_name_and_its_twelfth_layer(minilm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here = replace(weights.REGISTRY["pubmedbert"], find=lambda: Path(minilm))
    monkeypatch.setitem(weights.REGISTRY, "pubmedbert", here)
    with pytest.raises(ValueError, match="expected 0 to 6 for PubMedBERT, got 12"):
        find_encoder()
    assert find_encoder(num_layers=6).name is None


def test_wrong_models(minilm: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no folder"):
        find_encoder("/no/such/folder")
    with pytest.raises(ValueError, match="has no config"):
        find_encoder(str(tmp_path))
    with pytest.raises(ValueError, match="expected 0 to 6 for model, got 12"):
        find_encoder(minilm, 12)
    (tmp_path / "config.json").write_text('{"num_hidden_layers": 2}')
    with pytest.raises(ValueError, match="holds no weights"):
        find_encoder(str(tmp_path))
    with pytest.raises(weights.WeightsUnavailable, match="name a folder that holds them"):
        find_encoder("nobody/no-such-encoder", offline=True)
