"""The embedding tier, on encoders of random weights; `encoders/` holds the encoders themselves to independent ones."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from safetensors.torch import save_file

from medgen_metrics.embedding import EmbeddingTier
from medgen_metrics.embedding import specs
from medgen_metrics.embedding_looks import Record
from medgen_metrics.encoders import medimageinsight
from medgen_metrics.feature_cache import Feature
from medgen_metrics.rows import Row
from medgen_metrics.weights import MEDIMAGEINSIGHT_SHA256

from ..builders import encoded
from .encoders.test_medimageinsight import SMALL
from .encoders.test_medimageinsight import state
from .tiny_vision import save_vit

METRIC = "cosine[tiny]"


def picture(seed: int, size: tuple[int, int] = (40, 50)) -> np.ndarray:
    return np.random.RandomState(seed).randint(0, 256, (*size, 3), np.uint8)


def png(array: np.ndarray) -> bytes:
    return encoded(Image.fromarray(array))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"tiny={save_vit(tmp_path_factory.mktemp('vit'))}"


@pytest.fixture
def counted(model: str, monkeypatch: pytest.MonkeyPatch) -> tuple[EmbeddingTier, list[int]]:
    """A tier, and how many images each forward pass of its encoder took."""
    tier = EmbeddingTier(model=model)
    return tier, counting(tier, monkeypatch)


def counting(tier: EmbeddingTier, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    passes: list[int] = []
    encoder = tier._encoder
    encode = encoder.encode

    def noted(pixels: Sequence[np.ndarray]) -> np.ndarray:
        passes.append(len(pixels))
        return encode(pixels)

    monkeypatch.setattr(encoder, "encode", noted)
    return passes


def values(rows: Sequence[Row], metric: str = METRIC) -> list[float | None]:
    return [row.values.get(metric) for row in rows]


def reasons(rows: Sequence[Row], metric: str = METRIC) -> list[str | None]:
    return [row.reasons.get(metric) for row in rows]


# --- values -----------------------------------------------------------------------------------------------------------


def test_is_the_cosine_of_the_encoders_vectors(model: str) -> None:
    tier = EmbeddingTier(model=model)
    pairs = [(picture(1), picture(2)), (picture(3, (20, 90)), picture(4, (64, 64)))]
    got = values(tier.score([one for one, _ in pairs], [other for _, other in pairs]))
    encoder = tier._encoder
    for value, pair in zip(got, pairs, strict=True):
        # each image at its own size: the candidate is not brought to the reference's
        one, other = (encoder.encode([encoder.preprocess(Image.fromarray(array))])[0] for array in pair)
        assert value == pytest.approx(torch.cosine_similarity(torch.tensor(one), torch.tensor(other), 0).item(), 1e-6)


def test_an_image_is_as_like_itself_as_can_be(model: str) -> None:
    tier = EmbeddingTier(model=model)
    once = [picture(5), png(picture(5)), Image.fromarray(picture(5))]
    assert values(tier.score(once, [picture(5)] * 3)) == pytest.approx([1.0] * 3, abs=1e-12)


finite = st.floats(-1e4, 1e4, width=32)


@given(st.lists(st.tuples(finite, finite), min_size=1, max_size=8), st.booleans())
def test_cosine_is_within_its_range(pairs: list[tuple[float, float]], is_same: bool) -> None:
    first, second = (np.array([pair[side] for pair in pairs], np.float32) for side in (0, 0 if is_same else 1))
    features = {"a": Feature(first, "8-bit"), "b": Feature(second, "8-bit")}
    got = Record([None], [False], ["a"], "b", features=features).cosine(0)
    assert got is not None
    assert -1 <= got <= 1
    if first.any() and second.any():
        wanted = math.fsum(first.astype(float) * second.astype(float))
        assert got == pytest.approx(
            wanted / (np.linalg.norm(first.astype(float)) * np.linalg.norm(second.astype(float))), abs=1e-6
        )


def test_mii_is_medimageinsights_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(medimageinsight, "PUBLISHED", SMALL)
    file = tmp_path / "medimageinsigt-v1.0.0.pt"
    save_file(state(), file)
    tier = EmbeddingTier(weights=file)
    assert [spec.name for spec in tier.specs] == list(tier.columns) == ["mii"]
    assert f"where the published checkpoint has {MEDIMAGEINSIGHT_SHA256}" in caplog.text
    row = tier.score([picture(1)], [picture(2)])[0]
    encoder = medimageinsight.find(file).load(torch.device("cpu"), "float32")
    one, other = encoder.encode([encoder.preprocess(Image.fromarray(picture(seed))) for seed in (1, 2)])
    assert row.values["mii"] == pytest.approx(float(one @ other), abs=1e-6)
    assert "|mii:MedImageInsight|size:own|weights:" in tier.signature
    with pytest.raises(ValueError, match="only with MedImageInsight"):
        EmbeddingTier(model=str(tmp_path), weights=file)
    assert specs("standard", "x=/y")[0].name == "cosine[x]"


# --- what fails -------------------------------------------------------------------------------------------------------


def test_reasons(model: str) -> None:
    good = picture(1)
    deep = np.zeros((8, 8), np.uint16)
    sixteen = png(deep)
    predictions = [None, b"sorry", good, good, sixteen, [good, good], None]
    references = [good, good, None, b"", good, good, None]
    rows = EmbeddingTier(model=model).score(predictions, references)
    wanted = ["missing", "not_an_image", "reference_missing", "reference_missing", "unreadable", None, "missing"]
    assert reasons(rows) == wanted
    assert rows[5].flags == ("several_images",)
    assert values(rows)[5] == pytest.approx(1.0)


def test_a_strip_is_not_scaled_up_to_gigabytes(model: str) -> None:
    strip, good = np.zeros((1, 30_000, 3), np.uint8), picture(1)
    rows = EmbeddingTier(model=model).score_systems([[strip, good, good], [good, strip, good]], [good, good, strip])
    assert [reasons(system) for system in rows] == [
        ["too_large", None, "reference_missing"],
        [None, "too_large", "reference_missing"],
    ]
    assert rows[1][0].values[METRIC] == pytest.approx(1.0)


def test_deep_images_go_through_one_map(model: str) -> None:
    def file(levels: np.ndarray) -> bytes:
        return png(levels.astype(np.uint16))

    levels = np.random.RandomState(0).randint(0, 4000, (40, 50))
    shown = np.rint(np.clip((levels - 1000) / 1000, 0, 1) * 255).astype(np.uint8)
    tier = EmbeddingTier(model=model)
    other = picture(3)[..., 0]
    rows = tier.score([file(levels), other], [other, file(levels)], windows=[(1000, 2000)] * 2)
    plain = tier.score([shown], [other])
    assert values(rows) == pytest.approx(values(plain) * 2, abs=1e-9)
    # the same file under another window is another picture
    assert values(tier.score([file(levels)], [other], windows=[(0, 4000)])) != values(rows[:1])


def test_without_weights_it_says_which_file_to_get(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    tier = EmbeddingTier(offline=True)
    assert "weights fetch medimageinsight" in tier.unavailable["mii"]
    assert "medimageinsigt-v1.0.0.pt" in tier.unavailable["mii"]
    rows = tier.score([picture(1), None, picture(1)], [picture(1), picture(1), None])
    assert reasons(rows, "mii") == ["weights_missing", "missing", "reference_missing"]
    assert "weights:missing" in tier.signature


def test_bad_options_are_told_before_anything_is_scored(model: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="protocol: expected paper, standard"):
        EmbeddingTier(protocol="fast", model=model)
    with pytest.raises(FileNotFoundError, match="there is none at"):
        EmbeddingTier(weights=tmp_path / "none.pt")
    with pytest.raises(ValueError, match=r"has no config\.json"):
        EmbeddingTier(model=str(tmp_path))
    tier = EmbeddingTier(model=model)
    with pytest.raises(TypeError, match=r"references\[1\]: expected a PIL image"):
        tier.score([None, None], [picture(1), 3])
    with pytest.raises(ValueError, match="got 1 predictions, 2 references, 2 windows"):
        tier.score([None], [None, None])
    with pytest.raises(ValueError, match="black below white"):
        tier.score([None], [None], windows=[(2, 1)])


def test_damaged_weights_are_no_scores(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    tier = EmbeddingTier(model=model)
    monkeypatch.setattr(tier._encoder, "encode", lambda pixels: np.full((len(pixels), 4), np.nan, np.float32))
    with pytest.raises(ValueError, match="not finite"):
        tier.score([picture(1)], [picture(2)])


# --- what is computed once --------------------------------------------------------------------------------------------


def test_each_content_is_encoded_once(counted: tuple[EmbeddingTier, list[int]]) -> None:
    tier, passes = counted
    one, other = png(picture(1)), png(picture(2))
    tier.score([one, other, one], [other, other, one])
    assert passes == [1, 1]
    tier.score([other], [one])
    assert passes == [1, 1]


def test_several_systems_score_as_each_alone(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    references = [png(picture(seed)) for seed in (1, 2, 3)]
    systems: list[list[Any]] = [
        [png(picture(seed)) for seed in (4, 5, 6)],
        [None, b"no", png(picture(7))],
        [references[0], None, references[1]],
    ]
    alone = [EmbeddingTier(model=model).score(system, references) for system in systems]
    tier = EmbeddingTier(model=model)
    passes = counting(tier, monkeypatch)
    assert tier.score_systems(systems, references) == alone
    # 3 references, and of the candidates 4 that are no reference
    assert sum(passes) == 7


def test_a_score_does_not_depend_on_what_is_scored_beside_it(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    predictions, references = [picture(seed) for seed in range(7)], [picture(seed) for seed in range(10, 17)]
    alone = [
        EmbeddingTier(model=model).score([one], [other])[0] for one, other in zip(predictions, references, strict=True)
    ]
    assert EmbeddingTier(model=model).score(predictions, references) == alone
    # as on a GPU: batches, always full
    monkeypatch.setattr("medgen_metrics.embedding_queue.batch_size", lambda device: 4)
    tier = EmbeddingTier(model=model)
    passes = counting(tier, monkeypatch)
    together = tier.score(predictions, references)
    assert passes == [4, 4, 4, 4]
    assert values(together) == pytest.approx(values(alone), abs=1e-6)


def test_threads_change_nothing(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image = Image.fromarray(picture(1))  # one object in several samples
    predictions = [image, image, png(picture(2)), None] * 5
    references = [image, picture(3), image, image] * 5
    alone = EmbeddingTier(model=model).score(predictions, references)
    monkeypatch.setattr("medgen_metrics.embedding_queue.thread_count", lambda: 4)
    assert EmbeddingTier(model=model).score(predictions, references) == alone


def test_a_reference_is_kept_for_later_runs(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    references, outputs = [png(picture(seed)) for seed in (1, 2)], [png(picture(seed)) for seed in (3, 4)]
    first = EmbeddingTier(model=model, cache=tmp_path)
    rows = first.score(outputs, references)
    later = EmbeddingTier(model=model, cache=tmp_path)
    passes = counting(later, monkeypatch)
    reads: list[str] = []
    read = noting(reads)
    monkeypatch.setattr("medgen_metrics.pixel_target.read", read)
    assert later.score(outputs, references) == rows
    assert sum(passes) == 2
    # its file isn't even decoded
    assert not [where for where in reads if where.startswith("references")]


def noting(reads: list[str]) -> Any:
    from medgen_metrics.images import read

    def noted(source: Any, where: str = "image") -> Any:
        reads.append(where)
        return read(source, where)

    return noted


def test_another_encoder_never_meets_a_kept_value(tmp_path: Path) -> None:
    reference, output = png(picture(1)), png(picture(2))
    folders = [save_vit(tmp_path / str(seed), seed) for seed in (0, 1)]
    kept = [
        EmbeddingTier(model=f"x={folder}", cache=tmp_path / "cache").score([output], [reference]) for folder in folders
    ]
    alone = [EmbeddingTier(model=f"x={folder}").score([output], [reference]) for folder in folders]
    assert kept == alone
    assert kept[0] != kept[1]


def test_a_cache_that_cant_be_written_costs_no_scores(
    model: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    tier = EmbeddingTier(model=model, cache=tmp_path / "file" / "cache")
    assert values(tier.score([picture(1)], [picture(1)])) == pytest.approx([1.0])
    assert "embeddings can't be kept" in caplog.text


# --- half precision ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_another_definition_and_nearly_the_same_score(
    model: str, tmp_path: Path, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    references, outputs = [png(picture(seed)) for seed in (1, 2)], [png(picture(seed)) for seed in (3, 4)]
    whole = EmbeddingTier(model=model, cache=tmp_path)
    wanted = values(whole.score(outputs, references))
    half = EmbeddingTier(model=model, cache=tmp_path, dtype=dtype)
    passes = counting(half, monkeypatch)
    got = values(half.score(outputs, references))
    assert sum(passes) == 4, "what was kept of another precision is not met"
    assert got != wanted
    assert got == pytest.approx(wanted, abs=0.02)
    assert half.definition != whole.definition
    assert f"|size:own|dtype:{dtype}|weights:" in half.signature
    assert "dtype" not in whole.signature
    assert EmbeddingTier(model=model, dtype="float32").definition == whole.definition


def test_an_unknown_precision_is_told(model: str) -> None:
    with pytest.raises(ValueError, match="dtype: expected float32, bfloat16, float16; got 'int8'"):
        EmbeddingTier(model=model, dtype="int8")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_medimageinsight_takes_half_precision(tmp_path: Path, dtype: str) -> None:
    file = tmp_path / "medimageinsigt-v1.0.0.pt"
    save_file(state(), file)
    image = Image.fromarray(picture(1))
    found: dict[str, np.ndarray] = {}
    for name in ("float32", dtype):
        encoder = medimageinsight.find(file, SMALL).load(torch.device("cpu"), name)
        found[name] = encoder.encode([encoder.preprocess(image)])[0]
    assert found[dtype].dtype == np.float32
    # random weights multiply rounding far more than trained ones
    assert 0.8 < float(found["float32"] @ found[dtype]) < 1 - 1e-7
