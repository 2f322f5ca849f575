"""The text tier: what each protocol makes of answers, failures, and missing weights."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import bert_score
import pytest
import sacrebleu
from nltk.translate.bleu_score import SmoothingFunction
from nltk.translate.bleu_score import sentence_bleu as nltk_bleu

from medgen_metrics import weights
from medgen_metrics.options import read_options
from medgen_metrics.rows import Row
from medgen_metrics.rows import summarise
from medgen_metrics.text import TextTier
from medgen_metrics.text import specs
from medgen_metrics.text_samples import normalise

pytestmark = pytest.mark.xdist_group("bertscore")

ORGANS = ["A. heart", "B. right lung", "C. stomach", "D. left lung"]
CHOICE, BLANK, OPEN = "multiple-choice", "blank-filling", "question-answering"


def fast(protocol: str = "paper") -> TextTier:
    return TextTier(protocol, metrics=("bleu", "em"))


def one(text: str | None, reference: str | None = "D. left lung", task: str = CHOICE, protocol: str = "paper") -> Row:
    (row,) = fast(protocol).score([text], [reference], [ORGANS if task == CHOICE else []], [task])
    return row


# --- normalisation --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "task", "expected"),
    [
        ("D", CHOICE, "d. left lung"),
        ("(d)", CHOICE, "d. left lung"),
        ("D) Left Lung.", CHOICE, "d. left lung"),
        ("left lung", CHOICE, "d. left lung"),
        # never through the EM parser
        ("The answer is D", CHOICE, "the answer is d"),
        ("D. heart", CHOICE, "d. heart"),
        ("  The   LEFT\nlung ", BLANK, "the left lung"),
        ("X-ray", BLANK, "x-ray"),
        ("D", BLANK, "d"),
        ("  The   LEFT\nlung ", OPEN, "The LEFT lung"),
        ("", OPEN, ""),
    ],
)
def test_normalise(text: str, task: str, expected: str) -> None:
    assert normalise(text, task, read_options(ORGANS) if task == CHOICE else ()) == expected


# --- exact match ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "em", "reason"),
    [
        ("The answer is D.", 1.0, None),
        ("The answer is A.", 0.0, None),
        ("A and B", 0.0, "unparsable"),
        ("", 0.0, "empty"),
        (" \u200b\n", 0.0, "empty"),
        (None, 0.0, "missing"),
        ("VLM Error: timeout", 0.0, "error_text"),
        ("Parsing Error: no JSON", 0.0, "error_text"),
        ("I'm sorry, I can't assist with that.", 0.0, "refused"),
        # a refusal that answers all the same is an answer
        ("I'm sorry, I cannot provide a diagnosis, but the answer is D.", 1.0, None),
        ("I'm sorry, I cannot provide a diagnosis, but the answer is A.", 0.0, None),
    ],
)
@pytest.mark.parametrize("protocol", ["paper", "standard"])
def test_em_of_choices(text: str | None, em: float, reason: str | None, protocol: str) -> None:
    row = one(text, protocol=protocol)
    assert row.values["em"] == em
    assert row.reasons.get("em") == reason
    assert row.values["em_chance"] == 0.25


@pytest.mark.parametrize(
    ("text", "reference", "em", "reason"),
    [
        ("left lung", "Left lung.", 1.0, None),
        ("The answer is: **Left Lung**", "left lung", 1.0, None),
        ("right lung", "left lung", 0.0, None),
        ("ＬＥＦＴ lung", "left lung", 1.0, None),
        ("the left lung", "left lung", 0.0, None),
        ("word " * 21, "left lung", 0.0, "unparsable"),
        ("I'm sorry, I can't assist with that.", "left lung", 0.0, "refused"),
        ("", "left lung", 0.0, "empty"),
        (None, "left lung", 0.0, "missing"),
        ("first\nsecond", "first second", 1.0, None),
    ],
)
def test_em_of_blanks(text: str | None, reference: str, em: float, reason: str | None) -> None:
    row = one(text, reference, BLANK)
    assert (row.values["em"], row.reasons.get("em")) == (em, reason)
    assert "em_chance" not in row.values


def test_em_does_not_apply_to_open_tasks() -> None:
    row = one("left lung", "left lung", OPEN)
    assert "em" not in row.values
    assert "em" not in row.reasons


@pytest.mark.parametrize(
    ("reference", "choices"), [("kidney", ORGANS), ("D. left lung", []), (None, ORGANS), ("", ORGANS)]
)
def test_em_needs_a_reference_among_the_options(reference: str | None, choices: list[str]) -> None:
    (row,) = fast().score(["D"], [reference], [choices], [CHOICE])
    assert row.reasons["em"] == "reference_missing"
    assert "em" not in row.values


@pytest.mark.parametrize("task", ["multiple-choice", "Multiple_Choice", "multiple choice"])
def test_task_spellings(task: str) -> None:
    (row,) = fast().score(["D"], ["D"], [ORGANS], [task])
    assert row.values["em"] == 1.0


def test_without_tasks_a_sample_with_options_is_multiple_choice() -> None:
    rows = fast().score(["D", "left lung"], ["D. left lung", "left lung"], [ORGANS, []])
    assert ["em" in row.values for row in rows] == [True, False]
    rows = fast().score(["D"], ["D. left lung"])
    assert "em" not in rows[0].values


TEXTS = ["D", "The answer is A", "A and B", None, "", "I'm sorry, I can't help with that.", "left lung", "VLM Error: x"]


def test_em_means_and_extras() -> None:
    references = ["D. left lung"] * len(TEXTS)
    tasks = [CHOICE] * 6 + [BLANK] + [CHOICE]
    references[6] = "left lung"
    figures = {}
    for protocol in ("paper", "standard"):
        rows = fast(protocol).score(TEXTS, references, [ORGANS] * len(TEXTS), tasks)
        figures[protocol] = summarise(rows, specs(protocol, ("em",)))["metrics"]["em"]
    # two right; eight closed; unparsable is left out by `paper` alone
    assert figures["paper"]["mean"] == pytest.approx(2 / 7)
    assert figures["standard"]["mean"] == pytest.approx(2 / 8)
    for found in figures.values():
        assert (found["right"], found["parsed"], found["closed"], found["chance"]) == (2, 3, 8, 0.25)
        assert found["coverage"] == pytest.approx(3 / 8)
        assert found["mean_failures_worst"] == pytest.approx(2 / 8)
        assert found["failures"] == {"empty": 1, "error_text": 1, "missing": 1, "refused": 1, "unparsable": 1}


# --- BLEU -----------------------------------------------------------------------------------------------------------


def method1(candidate: str, reference: str) -> float:
    return float(nltk_bleu([reference.split()], candidate.split(), smoothing_function=SmoothingFunction().method1))


def test_paper_bleu_is_of_normalised_texts() -> None:
    assert one("D").values["bleu"] == pytest.approx(method1("d. left lung", "d. left lung"), abs=1e-9)
    assert one("A Left  Lung mass", "a left lung mass", BLANK).values["bleu"] == pytest.approx(1.0)
    expected = method1("A Left Lung mass", "a left lung mass")
    assert one("A Left  Lung mass", "a left lung mass", OPEN).values["bleu"] == pytest.approx(expected, abs=1e-9)


def test_standard_bleu_is_sacrebleu_of_raw_texts() -> None:
    candidates = ["D", "The Left  lung is clear.", "there is a mass in the left lung", "", " \u200b "]
    references = ["D. left lung", "The left lung is clear.", "There is a mass in the left lung.", "normal", "left lung"]
    tier = fast("standard")
    rows = tier.score(candidates, references)
    figures = summarise(rows, tier.specs)["metrics"]["bleu"]
    expected = sacrebleu.corpus_bleu([*candidates[:4], ""], [references]).score / 100
    assert figures["mean"] == pytest.approx(expected, abs=1e-9)
    assert figures["mean_failures_worst"] == pytest.approx(expected, abs=1e-9)
    assert rows[0].values["bleu"] == pytest.approx(sacrebleu.sentence_bleu("D", ["D. left lung"]).score / 100)
    assert "nrefs:1/case:mixed/eff:no/tok:13a/smooth:exp/" in tier.signature


def test_standard_bleu_counts_failures_as_empty_texts_in_its_worst_mean() -> None:
    candidates = ["there is a mass in the left lung", None, "Edit Error: x", "a large mass in the heart"]
    references = ["there is a mass in the left lung", "no mass is seen", "the heart is normal", None]
    tier = fast("standard")
    figures = summarise(tier.score(candidates, references), tier.specs)["metrics"]["bleu"]
    assert figures["failures"] == {"error_text": 1, "missing": 1, "reference_missing": 1}
    assert figures["mean"] == pytest.approx(1.0)
    expected = sacrebleu.corpus_bleu([candidates[0], "", ""], [references[:3]]).score / 100
    assert figures["mean_failures_worst"] == pytest.approx(expected, abs=1e-9)
    assert figures["mean_failures_worst"] < 1.0


def test_paper_bleu_counts_failures_as_zero_in_its_worst_mean() -> None:
    tier = fast()
    figures = summarise(tier.score(["a b c d", None, ""], ["a b c d"] * 3), tier.specs)["metrics"]["bleu"]
    assert figures["mean"] == pytest.approx(1 / 2)  # an empty text is scored 0, a missing one is unscored
    assert figures["mean_failures_worst"] == pytest.approx(1 / 3)


# --- all metrics ----------------------------------------------------------------------------------------------------


@pytest.fixture
def encoder(minilm: str) -> str:
    return f"all-MiniLM-L6-v2={minilm}"


NAME = "bertscore[all-MiniLM-L6-v2]"


def test_bertscore_is_of_normalised_texts_or_raw_ones(encoder: str, minilm: str) -> None:
    candidates, references = ["D", "a  Mass in the LEFT lung"], ["D. left lung", "A mass in the left lung."]
    choices, tasks = [ORGANS, []], [CHOICE, OPEN]
    compared = {
        "paper": (["d. left lung", "a Mass in the LEFT lung"], ["d. left lung", "A mass in the left lung."]),
        "standard": (candidates, references),
    }
    for protocol, (left, right) in compared.items():
        rows = TextTier(protocol, ("bertscore",), encoder, device="cpu").score(candidates, references, choices, tasks)
        *_, expected = bert_score.score(left, right, model_type=minilm, num_layers=6, device="cpu")
        assert [row.values[NAME] for row in rows] == pytest.approx(expected.tolist(), abs=1e-5)


def test_failures_in_all_metrics(encoder: str) -> None:
    tier = TextTier(model=encoder, device="cpu")
    texts = ["left lung", None, " \n", "API Error: 500", "I'm sorry, I cannot help with that.", "x " * 600, "left"]
    references: list[str | None] = ["left lung"] * 6 + [None]
    rows = tier.score(texts, references)
    scored = [0, 2, 4, 5]
    for name in ("bleu", NAME):
        assert [index for index, row in enumerate(rows) if name in row.values] == scored
        assert [row.reasons.get(name) for row in rows] == [
            *(None, "missing", None, "error_text", None, None, "reference_missing")
        ]
        assert rows[2].values[name] == 0.0
    assert [row.flags for row in rows] == [(), (), ("empty",), (), ("refused",), ("truncated",), ()]
    assert all(set(row.values) <= set(tier.columns) for row in rows)


def test_half_a_surrogate_pair_and_control_characters_are_scored(encoder: str) -> None:
    rows = TextTier(model=encoder, device="cpu").score(["left \ud800 lung", "\x00\x01", "�"], ["left lung", "a", "b"])
    assert all(NAME in row.values for row in rows)
    assert rows[1].flags == ("empty",)


def test_a_batch_scored_twice_gives_the_same_bits(encoder: str) -> None:
    texts = ["a mass in the left lung", "left lung", "no finding at all", "left lung"]
    tier = TextTier(model=encoder, device="cpu")
    assert tier.score(texts, texts[::-1]) == tier.score(texts, texts[::-1])


def test_declared_ranges() -> None:
    assert {spec.name: (spec.low, spec.high) for spec in specs()} == {
        "bleu": (0.0, 1.0),
        "bertscore": (-1.0, 1.0),
        "em": (0.0, 1.0),
    }


def test_weights_that_cannot_be_had_leave_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(weights.REGISTRY, "pubmedbert", replace(weights.REGISTRY["pubmedbert"], find=lambda: None))
    tier = TextTier(offline=True)
    rows = tier.score(["D", None, ""], ["D. left lung"] * 3, [ORGANS] * 3, [CHOICE] * 3)
    assert [row.reasons["bertscore"] for row in rows] == ["weights_missing"] * 3
    assert rows[0].values["em"] == 1.0
    assert "medgen-bench weights fetch pubmedbert" in tier.unavailable["bertscore"]
    figures = summarise(rows, tier.specs)["metrics"]["bertscore"]
    assert (figures["mean"], figures["coverage"], figures["mean_failures_worst"]) == (None, 0.0, None)
    assert "weights:missing" in tier.signature


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # within bert-score
def test_rescaled_bertscore(encoder: str, minilm: str, tmp_path: Path) -> None:
    path = tmp_path / "baseline.tsv"
    path.write_text("LAYER,P,R,F\n" + "".join(f"{n},0.{n}1,0.{n}2,0.{n}3\n" for n in range(7)))
    tier = TextTier("standard", ("bertscore",), encoder, baseline_path=path, device="cpu")
    texts, references = ["a mass in the left lung", "", None], ["the left lung", "x", "x"]
    rows = tier.score(texts, references)
    *_, expected = bert_score.score(
        texts[:1], references[:1], lang="en", model_type=minilm, num_layers=6, device="cpu",
        rescale_with_baseline=True, baseline_path=str(path),
    )  # fmt: skip
    rescaled = "bertscore_rescaled[all-MiniLM-L6-v2]"
    assert rows[0].values[rescaled] == pytest.approx(expected.item(), abs=1e-5)
    assert rows[1].values[rescaled] == pytest.approx(-0.63 / 0.37)
    assert rows[2].reasons[rescaled] == "missing"
    assert [spec.name for spec in tier.specs] == [NAME, rescaled]
    assert [spec.name for spec in specs(**tier.options)] == [NAME, rescaled]
    path.write_text("LAYER,P,R,F\n0,0,0,0\n")
    with pytest.raises(ValueError, match="no row for layer 6"):
        TextTier("standard", ("bertscore",), encoder, baseline_path=path)
    with pytest.raises(ValueError, match="the paper protocol doesn't rescale"):
        TextTier(model=encoder, baseline_path=path)


# --- what is declared -----------------------------------------------------------------------------------------------


def test_specs_come_again_from_options_without_weights(encoder: str) -> None:
    for protocol in ("paper", "standard"):
        tier = TextTier(protocol, ("em", "bertscore"), encoder)
        again = specs(**json.loads(json.dumps(tier.options)))
        assert [spec.name for spec in again] == [spec.name for spec in tier.specs] == [NAME, "em"]


def test_definition_follows_what_determines_scores(encoder: str, minilm: str) -> None:
    def definition(**options: Any) -> str:
        return json.dumps(TextTier(**{"model": encoder, **options}).definition, sort_keys=True)

    assert definition() == definition(model=minilm, device="cpu")
    others = [definition(protocol="standard"), definition(metrics=("bleu",)), definition(num_layers=5)]
    assert len({definition(), *others}) == 4
    assert minilm not in definition()
    assert minilm not in TextTier(model=encoder).signature
    assert "bert-score-" in TextTier(model=encoder).signature


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"protocol": "published"}, "expected one of paper, standard, got 'published'"),
        ({"metrics": ["rouge"]}, "expected some of bleu, bertscore, em, got 'rouge'"),
        ({"metrics": []}, "got none"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextTier(**options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ((["a", 5], ["a", "b"]), TypeError, r"predictions\[1\]: expected str or None, got int '5'"),
        ((["a"], [{"FINDINGS": "x"}]), TypeError, r"references\[0\]: expected str or None, got dict"),
        ((["a"], ["a", "b"]), ValueError, "1 predictions, 2 references"),
        ((["a"], ["a"], [[]], ["x", "y"]), ValueError, "2 tasks"),
        ((["a"], ["a"], ["A. x"]), TypeError, r"choices\[0\]: expected a list of str"),
        ((["a"], ["a"], [["A. x", ""]]), ValueError, r"choices\[0\]: option 2 of 2 is empty"),
        ((["a"], ["a"], None, [3]), TypeError, r"tasks\[0\]: expected str or None, got int"),
    ],
)
def test_wrong_inputs(call: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fast().score(*call)


def test_no_samples() -> None:
    assert fast().score([], []) == []
