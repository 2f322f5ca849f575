"""Several systems in one call, and what is alike: the rows of each alone, with less work."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision.models import alexnet

from medgen_scripts import result_file
from medgen_scripts.records import Records
from medgen_scripts.score import score
from medgen_scripts.scoring import tiers
from medgen_scripts.scoring.options import ScoreOptions

from .scored import options
from .scored import rows
from .scored import write_data
from .scored import write_predictions

COUNT = 40


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, three systems of which the third gives the second's outputs, and LPIPS weights."""
    folder = tmp_path_factory.mktemp("work")
    write_data(folder / "data", COUNT)
    for name, skip in (("one", (4, 5)), ("two", (20,))):
        write_predictions(folder / name, COUNT, skip=skip)
    for position, row in enumerate(rows("edit", COUNT)):
        if position % 3:
            # another's output: wrong, and not the first system's
            other = folder / "two" / "images" / f"{list(rows('edit', COUNT))[position - 1]['id']}.png"
            if other.exists():
                shutil.copy(other, folder / "two" / "images" / f"{row['id']}.png")
    shutil.copytree(folder / "two", folder / "three")
    torch.manual_seed(0)
    torch.save(alexnet(weights=None).state_dict(), folder / "alex.pth")
    return folder


def chosen(work: Path, out: Path, **changes: Any) -> ScoreOptions:
    return options(work / "data", out, lpips_weights=work / "alex.pth", **changes)


def found(out: Path, name: str) -> Any:
    return {
        config: (r.rows, r.tiers) for config, r in result_file.load(out / "results" / f"{name}.json").configs.items()
    }


@pytest.fixture(scope="module")
def alone(work: Path) -> dict[str, Any]:
    for name in ("one", "two", "three"):
        score([work / name], chosen(work, work / f"out-{name}"))
    return {name: found(work / f"out-{name}", name) for name in ("one", "two", "three")}


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many outputs each tier is asked to score."""
    counts: Counter[str] = Counter()
    pixel, text = tiers.PixelWork.score_systems, tiers.TextWork.score

    def pixel_spy(self: Any, systems: Any) -> Any:
        counts["pixel"] += sum(prediction is not None for samples in systems for _, prediction in samples)
        return pixel(self, systems)

    def text_spy(self: Any, samples: Any) -> Any:
        counts["text"] += len(samples)
        return text(self, samples)

    monkeypatch.setattr(tiers.PixelWork, "score_systems", pixel_spy)
    monkeypatch.setattr(tiers.TextWork, "score", text_spy)
    return counts


def test_together_each_has_the_rows_that_it_has_alone(
    work: Path, alone: dict[str, Any], tmp_path: Path, scored: Counter[str]
) -> None:
    score([work / name for name in ("one", "two", "three")], chosen(work, tmp_path))
    assert {name: found(tmp_path, name) for name in alone} == alone
    # The third's outputs are the second's, and some of the first's are, too.
    assert scored["pixel"] <= 2 * COUNT - 3
    lpips = [alone[name]["edit"][0].tiers["pixel"].values["lpips"] for name in ("one", "two")]
    assert sum(a != b for a, b in zip(*lpips, strict=True)) > COUNT // 3


def test_a_system_that_joins_later_has_them_too(
    work: Path, alone: dict[str, Any], tmp_path: Path, scored: Counter[str]
) -> None:
    score([work / "one"], chosen(work, tmp_path))
    (edit,) = (tmp_path / "scores" / "one").glob("edit.*.jsonl")
    edit.write_text("".join(edit.read_text().splitlines(keepends=True)[::2]))  # half of it is lost
    before = scored["pixel"]
    score([work / "one", work / "two"], chosen(work, tmp_path))
    assert {name: found(tmp_path, name) for name in ("one", "two")} == {name: alone[name] for name in ("one", "two")}
    assert scored["pixel"] - before <= COUNT + COUNT // 2


def test_a_records_images_are_read_once_for_all_systems(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    get = Records.__getitem__
    monkeypatch.setattr(Records, "__getitem__", lambda self, position: read.append(position) or get(self, position))
    score([work / "one", work / "two"], chosen(work, tmp_path, tiers=("pixel",)), config="edit")
    assert sorted(read) == list(range(COUNT))


def test_alike_answers_are_scored_once(work: Path, tmp_path: Path, scored: Counter[str]) -> None:
    answers = tmp_path / "same"
    answers.mkdir()
    lines = [{"id": row["id"], "text": "I see nothing.", "image": None} for row in rows("vqa", COUNT)]
    (answers / "vqa.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    score([answers], chosen(work, tmp_path, tiers=("text",)))
    # all closed questions have one answer; each open one has its own
    assert scored["text"] == 1 + COUNT // 2
    values = found(tmp_path, "same")["vqa"][0].tiers["text"].values
    assert len(set(values["bleu"][::2])) == 1
    assert len(values["bleu"]) == COUNT
