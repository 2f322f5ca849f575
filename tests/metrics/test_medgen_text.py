"""The medgen_text module: the tier's numbers through evaluate's calls."""

from pathlib import Path

import evaluate
import pytest

from medgen_metrics.rows import summarise
from medgen_metrics.text import TextTier

pytestmark = pytest.mark.xdist_group("bertscore")

FOLDER = str(Path(__file__).resolve().parents[2] / "metrics" / "medgen_text")
ORGANS = ["A. heart", "B. right lung", "C. stomach", "D. left lung"]
PREDICTIONS = ["The answer is D.", "A and B", None, "", "left lung", "a mass in the left lung", "VLM Error: x"]
REFERENCES = ["D. left lung"] * 4 + ["left lung", "There is a mass in the left lung.", "normal"]
CHOICES = [ORGANS] * 4 + [[], [], []]
TASKS = ["multiple-choice"] * 4 + ["blank-filling", "report-generation", "question-answering"]


@pytest.mark.parametrize("protocol", ["paper", "standard"])
def test_result_is_the_tiers(minilm: str, protocol: str) -> None:
    options = {"protocol": protocol, "model": f"MiniLM={minilm}", "device": "cpu"}
    module = evaluate.load(FOLDER, **options)
    result = module.compute(
        predictions=PREDICTIONS, references=REFERENCES, choices=CHOICES, tasks=TASKS, return_per_sample=True
    )
    tier = TextTier(**options)
    rows = tier.score(PREDICTIONS, REFERENCES, CHOICES, TASKS)
    expected = summarise(rows, tier.specs)
    for name, figures in expected["metrics"].items():
        assert result[name] == figures["mean"]
        assert result["coverage"][name] == figures["coverage"]
        assert result["failures"][name] == figures["failures"]
        assert result["per_sample"][name] == [row.values.get(name) for row in rows]
    assert list(result["per_sample"]) == ["bleu", "bertscore[MiniLM]", "em"]
    assert (result["em_right"], result["em_parsed"], result["em_closed"], result["em_chance"]) == (2, 2, 5, 0.25)
    assert result["signature"] == tier.signature
    assert result["n"] == 7
    assert result["flags"] == {"empty": 1}


def test_batches_singles_and_ids_give_the_same_as_one_call() -> None:
    module = evaluate.load(FOLDER, protocol="standard", metrics=["bleu", "em"])
    whole = module.compute(predictions=PREDICTIONS, references=REFERENCES, choices=CHOICES, tasks=TASKS)
    inputs = list(zip(PREDICTIONS, REFERENCES, CHOICES, TASKS, map(str, range(7)), strict=True))
    for part in (inputs[:3], inputs[3:6], inputs[5:6]):  # the last one padded
        predictions, references, choices, tasks, ids = (list(column) for column in zip(*part, strict=True))
        module.add_batch(predictions=predictions, references=references, choices=choices, tasks=tasks, ids=ids)
    prediction, reference, choice, task, name = inputs[6]
    module.add(prediction=prediction, reference=reference, choices=choice, tasks=task, ids=name)
    parts = module.compute()
    assert parts.pop("repeated_ids") == 1
    assert parts == whole


def test_choices_and_tasks_may_be_left_out() -> None:
    module = evaluate.load(FOLDER, metrics=["bleu", "em"])
    result = module.compute(predictions=["left lung"], references=["left lung"])
    assert result["em"] is None
    assert result["em_closed"] == 0
    assert result["bleu"] > 0.3


def test_metrics_of_one_call() -> None:
    module = evaluate.load(FOLDER, metrics=["em"])
    result = module.compute(predictions=["a"], references=["a"], metrics=["bleu"], protocol="standard")
    assert result["bleu"] == pytest.approx(0.0)
    assert "em" not in result
    module.add_batch(predictions=["a"], references=["a"])
    with pytest.raises(ValueError, match="scored already"):
        module.compute(protocol="standard")


def test_extras_are_options_of_the_module(minilm: str) -> None:
    options = {
        "metrics": ["bleu"],
        "extras": ["sentence", "negation"],
        "sentence_model": f"M={minilm}",
        "device": "cpu",
    }
    module = evaluate.load(FOLDER, **options)
    predictions, references = ["No mass.", "A mass.", None], ["No mass.", "No mass.", "A mass."]
    result = module.compute(predictions=predictions, references=references, return_per_sample=True)
    rows = TextTier(**options).score(predictions, references)
    for name in ("bleu", "sentence[M]", "negation_agreement"):
        assert result["per_sample"][name] == [row.values.get(name) for row in rows]
    assert (result["negation_agreement"], result["negation_agreement_contradicted"]) == (0.5, 1)
    with pytest.raises(ValueError, match="`sentence` needs a text encoder"):
        evaluate.load(FOLDER, extras=["sentence"])
