"""RadGraph F1: the package stood in for, its absence, its weights; and the real package where it is installed."""

import tarfile
from importlib import metadata
from pathlib import Path

import pytest
import torch

from medgen_metrics import radgraph_f1
from medgen_metrics.radgraph_f1 import Graphs
from medgen_metrics.radgraph_f1 import find_radgraph
from medgen_metrics.radgraph_f1 import radgraph_scores
from medgen_metrics.radgraph_f1 import unpack
from medgen_metrics.weights import WeightsUnavailable

from .radgraph_package import entity
from .radgraph_package import graph
from .radgraph_package import install
from .radgraph_package import rg_er
from .radgraph_package import write_weights

PRESENT, ABSENT, ANATOMY = (
    "Observation::definitely present",
    "Observation::definitely absent",
    "Anatomy::definitely present",
)
GRAPHS = {
    "no pneumothorax": graph(entity("pneumothorax", ABSENT)),
    "pneumothorax": graph(entity("pneumothorax", PRESENT)),
    "small effusion": graph(entity("small", PRESENT, ("modify", "2")), entity("effusion", PRESENT)),
    "effusion small": graph(entity("effusion", PRESENT), entity("small", PRESENT)),
    "Effusion": graph(entity("Effusion", PRESENT)),
    "thank you": graph(),
    " ".join(["long"] * 512): graph(entity("long", PRESENT)),
}
IS_REAL = True
try:
    metadata.version("radgraph")
except metadata.PackageNotFoundError:
    IS_REAL = False


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):  # type: ignore[no-untyped-def]
    yield install(monkeypatch, tmp_path, GRAPHS)
    radgraph_f1._model.cache_clear()


@pytest.mark.parametrize(
    ("candidate", "reference", "f1"),
    [
        ("pneumothorax", "pneumothorax", 1.0),
        ("no pneumothorax", "pneumothorax", 0.0),  # another label
        ("effusion small", "small effusion", 0.5),  # a relation starts from one of two
        ("Effusion", "effusion small", 0.0),  # the package's own: case differs
        ("thank you", "pneumothorax", 0.0),
        ("", "pneumothorax", 0.0),
        (" \u200b", "pneumothorax", 0.0),
        ("pneumothorax", "thank you", None),
        ("", "thank you", None),
    ],
)
def test_scores(tiny, candidate: str, reference: str, f1: float | None) -> None:  # type: ignore[no-untyped-def]
    (score,) = radgraph_scores([candidate], [reference], Graphs(find_radgraph(), "cpu"))
    assert score is not None
    assert score.f1 == f1
    assert not score.truncated


def test_each_text_is_read_once(tiny, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    graphs = Graphs(find_radgraph(), "cpu")
    radgraph_scores(["pneumothorax", "pneumothorax"], ["no pneumothorax", "pneumothorax"], graphs)
    radgraph_scores(["effusion small"], ["pneumothorax"], graphs)
    assert tiny.asked == [["no pneumothorax", "pneumothorax"], ["effusion small"]]
    assert [made["cuda"] for made in tiny.made] == [-1]
    assert capsys.readouterr().out == ""
    assert radgraph_scores([], [], graphs) == []


def test_the_callers_autocast_does_not_reach_the_model(tiny) -> None:  # type: ignore[no-untyped-def]
    with torch.autocast("cpu", torch.bfloat16):
        radgraph_scores(["pneumothorax"], ["pneumothorax"], Graphs(find_radgraph(), "cpu"))
    assert tiny.precisions == [torch.float32]


def test_long_texts_are_cut_and_say_so(tiny) -> None:  # type: ignore[no-untyped-def]
    graphs = Graphs(find_radgraph(), "cpu")
    (score,) = radgraph_scores(["long " * 513], ["pneumothorax"], graphs)
    assert score == radgraph_f1.Score(0.0, True)
    assert len(tiny.asked[0][0].split()) == 512


def test_what_the_package_cannot_read_is_no_score(tiny, caplog: pytest.LogCaptureFixture) -> None:  # type: ignore[no-untyped-def]
    graphs = Graphs(find_radgraph(), "cpu")
    assert radgraph_scores(["unknown"], ["pneumothorax"], graphs) == [None]
    (score,) = radgraph_scores(["pneumothorax"], ["unknown"], graphs)
    assert score is not None
    assert score.f1 is None
    assert "can't read the answer 'unknown'" in caplog.text
    assert "can't read the reference 'unknown'" in caplog.text


def test_the_published_definition() -> None:
    # three entities against two, one in common: P = 1/3, R = 1/2
    one = graph(entity("a", PRESENT), entity("b", PRESENT, ("modify", "1")), entity("c", ANATOMY))
    other = graph(entity("a", PRESENT), entity("b", PRESENT))
    assert rg_er(one, other) == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))


def test_an_absent_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", absent)
    with pytest.raises(WeightsUnavailable, match=r"not installed; pip install 'medgen-bench\[radgraph\]'"):
        find_radgraph(offline=True)


def test_a_transformers_that_the_package_cannot_use_is_told(tiny, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    from transformers import PreTrainedTokenizerBase

    monkeypatch.delattr(PreTrainedTokenizerBase, "encode_plus", raising=False)
    with pytest.raises(WeightsUnavailable, match=r"encode_plus, which transformers .* no longer has; .*below 5"):
        find_radgraph(offline=True)


def test_absent_weights_are_told(tiny, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = find_radgraph().folder
    (folder / "weights.th").unlink()
    with pytest.raises(WeightsUnavailable) as told:
        find_radgraph(offline=True)
    assert "radgraph-xl are not on this machine, and offline is set" in str(told.value)
    assert f"hf download StanfordAIMI/RRG_scorers radgraph-xl.tar.gz`, and unpack the archive here to {folder}" in str(
        told.value
    )


def test_an_absent_encoder_is_told(tiny) -> None:  # type: ignore[no-untyped-def]
    folder = find_radgraph().folder
    config = folder / "config.json"
    config.write_text(config.read_text().replace(str(folder.parents[2]), "owner/no-such-encoder"))
    with pytest.raises(WeightsUnavailable, match="owner/no-such-encoder are not on this machine"):
        find_radgraph(offline=True)


def test_the_archive_is_unpacked_at_once_and_nowhere_else(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "cache" / "radgraph-xl"
    write_weights(source, "bert")
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        for path in sorted(source.rglob("*")):
            tar.add(path, path.relative_to(source))
    target.mkdir(parents=True)  # what the package leaves where its download failed
    unpack(archive, target)
    assert sorted(path.name for path in target.iterdir()) == ["config.json", "vocabulary", "weights.th"]
    assert sorted(path.name for path in target.parent.iterdir()) == ["radgraph-xl"]
    unpack(archive, target)  # another process was quicker
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(source / "weights.th", "../../out.th")
    with pytest.raises(tarfile.OutsideDestinationError):
        unpack(archive, tmp_path / "cache" / "other")
    assert not (tmp_path / "out.th").exists()
    assert sorted(path.name for path in target.parent.iterdir()) == ["radgraph-xl"]


@pytest.mark.skipif(not IS_REAL, reason="needs the package radgraph (pip install 'medgen-bench[radgraph]')")
def test_the_packages_own_reward_is_the_published_definition() -> None:
    from radgraph import rewards

    made = list(GRAPHS.values())
    for one in made:
        for other in made:
            assert rewards.compute_reward(one, other, radgraph_f1.LEVEL) == pytest.approx(rg_er(one, other))
