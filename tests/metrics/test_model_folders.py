from pathlib import Path

import pytest

from medgen_metrics import bertscore
from medgen_metrics import model_folders
from medgen_metrics import sentence
from medgen_metrics import weights
from medgen_metrics.encoders import finding
from medgen_metrics.serving import local_weights
from medgen_metrics.weights import WeightsUnavailable

FINDERS = {
    "text-model": lambda model: bertscore.find_encoder(model, offline=True),
    "sentence-model": lambda model: sentence.find_sentence_encoder(model, offline=True),
    "embedding-model": lambda model: finding.find(model, offline=True),
    "open-clip": lambda model: finding.find(f"open-clip:{model}", offline=True),
    "judge": lambda model: local_weights.find(model, offline=True),
    "transformers": lambda model: local_weights.find(model, offline=True, role="system"),
}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("finder", FINDERS)
def test_a_mistyped_folder_is_named_before_the_hub(finder: str) -> None:
    with pytest.raises(WeightsUnavailable) as caught:
        FINDERS[finder]("checkpoints/step-500")
    said = str(caught.value)
    assert said.startswith("no folder checkpoints/step-500 here, and weights checkpoints/step-500 are not on this ")
    assert "name a folder that holds them, or " in said


@pytest.mark.parametrize("finder", FINDERS)
@pytest.mark.parametrize(
    "model",
    ["./step-500", "../step-500", "/step-500", "~/step-500", "runs/step-500/", "step-500/", "a/b/c", r"runs\step"],
)
def test_a_path_is_not_asked_for_on_the_hub(finder: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: object, **named: object) -> Path:
        raise AssertionError("the Hub was tried")

    monkeypatch.setattr(weights, "obtain", never)
    with pytest.raises(ValueError, match="no folder") as caught:
        FINDERS[finder](model)
    assert str(caught.value).endswith(f": no folder {model} here")


def test_a_folder_is_taken_and_the_hub_left_alone(tmp_path: Path) -> None:
    (tmp_path / "owner" / "name").mkdir(parents=True)

    def never(repo: str, revision: str | None) -> Path:
        raise AssertionError(repo)

    assert model_folders.find("owner/name", never) == Path("owner/name")


@pytest.mark.parametrize("model", ["tiny", "no such model", "owner/na me", "owner/-name", "owner/name@v1", "-/.."])
def test_neither_path_nor_hub_id(model: str) -> None:
    with pytest.raises(ValueError, match="is neither a folder here nor a Hub id"):
        model_folders.find(model, lambda repo, revision: Path(repo))


def test_a_revision_is_told_apart() -> None:
    asked: list[tuple[str, str | None]] = []

    def on_hub(repo: str, revision: str | None) -> Path:
        asked.append((repo, revision))
        return Path(repo)

    model_folders.find("owner/name@v1.0", on_hub, takes_revision=True)
    model_folders.find("owner/name", on_hub, takes_revision=True)
    model_folders.find("owner/name@refs/pr/1", on_hub, takes_revision=True)
    assert asked == [("owner/name", "v1.0"), ("owner/name", None), ("owner/name", "refs/pr/1")]
    for path in ("owner/name@../x", "owner/name@x/", "owner/name@/x", "owner/na/me@v1", "./name@refs/pr/1"):
        with pytest.raises(ValueError, match="no folder"):
            model_folders.find(path, on_hub, takes_revision=True)
    with pytest.raises(ValueError, match="no folder"):
        model_folders.find("owner/name@refs/pr/1", on_hub)
    with pytest.raises(ValueError, match="neither a folder here nor a Hub id"):
        model_folders.find("owner/name@", on_hub, takes_revision=True)


def test_what_a_hub_client_says_comes_second() -> None:
    def on_hub(repo: str, revision: str | None) -> Path:
        raise OSError("404")

    with pytest.raises(OSError, match=r"^no folder runs/step-1 here, and on the Hub: 404$"):
        model_folders.find("runs/step-1", on_hub)
