import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from medgen_scripts.callback import MedGenCallback
from medgen_scripts.errors import UsageError
from medgen_scripts.run import run
from medgen_scripts.running.work import seed_of
from medgen_scripts.score import score
from medgen_scripts.scoring.options import ScoreOptions
from medgen_scripts.systems.file import SystemFile
from tests.metrics.judge.tiny_qwen3vl import write

from .training import EVERY
from .training import RECORDS
from .training import STEPS
from .training import trainer

OPTIONS: dict[str, Any] = {"edition": "sample", "limit": RECORDS, "max_tokens": 8, "batch_size": 2}
NAMES = {f"eval_medgen_vqa_{name}" for name in ("em", "bleu", "failed", "records", "seconds")}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("training") / "tiny-vlm")


def measured(log: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in log if "eval_medgen_vqa_bleu" in entry]


def timeless(entry: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if not name.endswith("_seconds")}


def answers_of(callback: MedGenCallback) -> list[dict[str, str | None]]:
    """Record id -> text, a measurement; grows with each."""
    found: list[dict[str, str | None]] = []
    measure, score = callback.measure, callback._tiers["text"].score

    def measuring(model: Any) -> dict[str, float]:
        found.append({})
        return measure(model)

    def scoring(samples: Any) -> Any:
        found[-1].update({record.id: prediction.text for record, prediction in samples})
        return score(samples)

    callback.measure = measuring  # type: ignore[method-assign]
    callback._tiers["text"].score = scoring  # type: ignore[method-assign]
    return found


def losses(log: list[dict[str, Any]]) -> list[float]:
    return [entry["loss"] for entry in log if "loss" in entry]


def test_a_training_is_measured_and_not_disturbed(checkpoint: Path, tmp_path: Path) -> None:
    plain = trainer(checkpoint, tmp_path)
    plain.train()
    watched = trainer(checkpoint, tmp_path)
    callback = MedGenCallback(watched, every=EVERY, **OPTIONS)
    said = answers_of(callback)
    callback.measure(watched.model)
    watched.add_callback(callback)
    watched.train()
    log = watched.state.log_history
    assert [entry["step"] for entry in measured(log)] == list(range(EVERY, STEPS + 1, EVERY))
    assert all(set(entry) == {*NAMES, "epoch", "step"} for entry in measured(log)), log
    assert measured(log)[0]["eval_medgen_vqa_records"] == RECORDS
    assert len(losses(log)) == STEPS
    assert losses(log) == losses(plain.state.log_history)
    assert watched.model.training
    assert watched.model.generation_config.do_sample is True
    assert watched.processing_class.tokenizer.padding_side == "right"
    # the model under training was measured, not the one of before
    callback.measure(watched.model)
    before, *during, after = said
    assert [len(texts) for texts in said] == [RECORDS] * (STEPS // EVERY + 2)
    assert during[-1] == after
    assert len({tuple(texts.values()) for texts in (before, *during)}) == STEPS // EVERY + 1


def test_a_measurement_is_what_run_and_score_would_say(checkpoint: Path, tmp_path: Path) -> None:
    made = trainer(checkpoint, tmp_path)
    callback = MedGenCallback(made, every=1, **OPTIONS)
    said = answers_of(callback)
    found = callback.measure(made.model)
    component = {"backend": "transformers", "model": str(checkpoint), "max_tokens": 8}
    system = SystemFile.model_validate({"name": "tiny", "shape": "vlm", "components": {"vlm": component}})
    options: dict[str, Any] = {"edition": "sample", "out": tmp_path / "out"}
    path = run(system, "vqa", limit=RECORDS, **options)
    rows = {row["id"]: row["text"] for row in map(json.loads, path.read_text().splitlines())}
    assert said == [rows]
    score([path.parent], ScoreOptions(tiers=("text",), offline=True, **options))
    (result,) = (tmp_path / "out" / "results").glob("*.json")
    told = json.loads(result.read_text())["configs"]["vqa"]["tiers"]["text"]["metrics"]
    for name in ("em", "bleu"):
        assert found.get(f"eval_medgen_vqa_{name}") == told[name]["mean"]


def test_the_trainers_own_evaluation_is_lent_what_was_measured(checkpoint: Path, tmp_path: Path) -> None:
    made = trainer(
        checkpoint,
        tmp_path,
        max_steps=2,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="best",
        metric_for_best_model="medgen_vqa_bleu",
        greater_is_better=True,
    )
    made.add_callback(MedGenCallback(made, every=2, **OPTIONS))
    made.train()
    assert made.state.best_metric == measured(made.state.log_history)[-1]["eval_medgen_vqa_bleu"]


def test_images_come_from_ones_own_function(checkpoint: Path, tmp_path: Path) -> None:
    made = trainer(checkpoint, tmp_path)
    seen: list[dict[str, Any]] = []

    def respond(asks: list[dict[str, Any]]) -> list[Any]:
        assert not made.model.training
        seen.extend(asks)
        return [{"image": ask["image"] if number else None} for number, ask in enumerate(asks)]

    callback = MedGenCallback(made, every=1, config="edit", respond=respond, **{**OPTIONS, "limit": 4})
    found = timeless(callback.measure(made.model))
    assert set(found) == {f"eval_medgen_edit_{name}" for name in ("ssim", "psnr", "failed", "records")}
    assert found["eval_medgen_edit_failed"] == 0.5
    assert 0 < found["eval_medgen_edit_ssim"] < 1
    assert [ask["seed"] for ask in seen] == [seed_of(0, ask["id"]) for ask in seen]


def test_a_measurement_that_fails_ends_no_training(
    checkpoint: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = trainer(checkpoint, tmp_path, max_steps=1)
    made.add_callback(MedGenCallback(made, every=1, respond=lambda asks: ["one"], **OPTIONS))
    made.train()
    (entry,) = measured(made.state.log_history)
    # of five records in batches of two the last is answered alone
    assert entry["eval_medgen_vqa_failed"] == 0.8
    assert "TypeError: expected a list of 2 answers, got 1" in caplog.text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"config": "edit"}, "asks for an image, which `generate` doesn't give; pass respond="),
        ({"metrics": ["ssim"]}, "config vqa has em, bleu, bertscore; got ssim"),
        ({"metrics": []}, "got none"),
        ({"every": 0}, "expected every and batch_size of 1 or more"),
        ({"metrics": ["bertscore"], "text_model": "owner/no-such-encoder"}, "bertscore.*not on this machine"),
        ({"processor": object()}, "expected a processor with a tokenizer and a chat template"),
        ({"tasks": ["banana"]}, "unknown 'banana'"),
        (
            {"max_tokens": 0, "image_side": 3},
            "^image_side: expected greater than or equal to 16, got 3; "
            "max_tokens: expected greater than or equal to 1, got 0$",
        ),
    ],
)
def test_what_cannot_be_measured(checkpoint: Path, tmp_path: Path, given: dict[str, Any], said: str) -> None:
    made = trainer(checkpoint, tmp_path)
    with pytest.raises(UsageError, match=said):
        MedGenCallback(made, **{"every": 1, **OPTIONS, **given})


def test_two_processes_log_what_one_does(checkpoint: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.scripts.training", str(checkpoint), str(tmp_path)]
    done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (before, *log), other = (json.loads((tmp_path / f"log-{rank}.json").read_text()) for rank in range(2))
    alone = trainer(checkpoint, tmp_path)
    found = MedGenCallback(alone, every=EVERY, **OPTIONS).measure(alone.model)
    assert timeless(before) == timeless(found)
    assert len(measured(log)) == STEPS // EVERY
    assert [timeless(entry) for entry in measured(log)] == [timeless(entry) for entry in measured(other[1:])]
