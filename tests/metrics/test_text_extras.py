"""The text tier's extras: to what they apply, what failures do, names and definitions."""

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import sacrebleu

import medgen_bench
from medgen_metrics import radgraph_f1
from medgen_metrics.bleu import sentence_bleu
from medgen_metrics.rows import Row
from medgen_metrics.rows import summarise
from medgen_metrics.text import TextTier
from medgen_metrics.text import specs
from medgen_metrics.text_samples import CHOICE
from medgen_metrics.text_samples import REPORT
from medgen_metrics.text_specs import EXTRAS

from .radgraph_package import entity
from .radgraph_package import graph
from .radgraph_package import install

pytestmark = pytest.mark.xdist_group("bertscore")

QA = "question-answering"
REFERENCE = "FINDINGS: No effusion. No mass.\nIMPRESSION: Normal chest radiograph of a child."


def tier(*extras: str, protocol: str = "paper", metrics: tuple[str, ...] = ("bleu",), **options: Any) -> TextTier:
    return TextTier(protocol, metrics, extras=extras, device="cpu", offline=True, **options)


def one(made: TextTier, text: str | None, reference: str | None = REFERENCE, task: str | None = REPORT) -> Row:
    (row,) = made.score([text], [reference], tasks=[task])
    return row


def test_the_task_of_reports_is_the_data_sets() -> None:
    assert medgen_bench.TASKS[REPORT].answer == "open"


# --- by section -------------------------------------------------------------------------------------------------------


def test_sections_are_scored_by_themselves() -> None:
    row = one(tier("sections"), "Impression: Normal chest radiograph of a man.\nFindings: No effusion. A mass.")
    assert row.values["bleu_findings"] == sentence_bleu("No effusion. A mass.", "No effusion. No mass.")
    assert row.values["bleu_impression"] == sentence_bleu(
        "Normal chest radiograph of a man.", "Normal chest radiograph of a child."
    )
    assert row.flags == ()


@pytest.mark.parametrize(
    ("text", "values", "reason", "flags"),
    [
        ("FINDINGS: No effusion. No mass.", {"bleu_findings": 1.0, "bleu_impression": 0.0}, None, ("no_impression",)),
        ("Plain prose.", {"bleu_findings": 0.0, "bleu_impression": 0.0}, None, ("no_findings", "no_impression")),
        ("", {"bleu_findings": 0.0, "bleu_impression": 0.0}, None, ("empty", "no_findings", "no_impression")),
        # what is there can't be seen
        (
            "FINDINGS: \u200b\nIMPRESSION: \u00ad",
            {"bleu_findings": 0.0, "bleu_impression": 0.0},
            None,
            ("no_findings", "no_impression"),
        ),
        (None, {}, "missing", ()),
        ("VLM Error: x", {}, "error_text", ()),
    ],
)
def test_a_section_that_the_answer_lacks_scores_nothing(
    text: str | None, values: dict[str, float], reason: str | None, flags: tuple[str, ...]
) -> None:
    row = one(tier("sections"), text)
    assert {name: value for name, value in row.values.items() if name != "bleu"} == pytest.approx(values)
    assert row.flags == flags
    assert row.reasons == (
        {} if reason is None else dict.fromkeys(("bleu", "bleu_findings", "bleu_impression"), reason)
    )


@pytest.mark.parametrize(
    ("reference", "task", "applies"),
    [
        (REFERENCE, REPORT, {"findings", "impression"}),
        (REFERENCE, "Report_Generation", {"findings", "impression"}),
        (REFERENCE, None, {"findings", "impression"}),
        (REFERENCE, QA, set()),
        ("FINDINGS: Normal.", REPORT, {"findings"}),
        ("A normal chest.", REPORT, set()),
        (None, REPORT, set()),
        ("  ", None, set()),
    ],
)
def test_sections_apply_where_the_reference_is_a_report_that_has_them(
    reference: str | None, task: str | None, applies: set[str]
) -> None:
    made = tier("sections")
    row = one(made, REFERENCE, reference, task)
    found = {spec.name for spec in made.specs if spec.applies(row)} - {"bleu"}
    assert found == {f"bleu_{section}" for section in applies}


def test_corpus_bleu_of_sections_is_sacrebleus() -> None:
    made = tier("sections", protocol="standard")
    texts = ["FINDINGS: a b c d e\nIMPRESSION: f g h i", "FINDINGS: a b c x y", None]
    references = ["FINDINGS: a b c d z\nIMPRESSION: f g h i", "FINDINGS: a b c x y", "FINDINGS: q r s t u"]
    rows = made.score(texts, references, tasks=[REPORT] * 3)
    figures = summarise(rows, made.specs)["metrics"]["bleu_findings"]
    expected = sacrebleu.corpus_bleu(["a b c d e", "a b c x y"], [["a b c d z", "a b c x y"]]).score / 100
    assert figures["mean"] == pytest.approx(expected)
    worst = sacrebleu.corpus_bleu(["a b c d e", "a b c x y", ""], [["a b c d z", "a b c x y", "q r s t u"]]).score / 100
    assert figures["mean_failures_worst"] == pytest.approx(worst)
    assert (figures["n"], figures["failures"]) == (3, {"missing": 1})
    assert all(set(row.values) <= set(made.columns) for row in rows)


def test_bertscore_of_sections_is_that_of_the_texts_alone(minilm: str) -> None:
    made = tier("sections", metrics=("bertscore",), model=f"M={minilm}")
    row = one(made, "FINDINGS: A mass is seen.\nIMPRESSION: Abnormal.")
    plain = TextTier("paper", ("bertscore",), f"M={minilm}", device="cpu")
    pairs = [("A mass is seen.", "No effusion. No mass."), ("Abnormal.", "Normal chest radiograph of a child.")]
    expected = [plain.score([own], [other])[0].values["bertscore[M]"] for own, other in pairs]
    assert [row.values[f"bertscore_{name}[M]"] for name in ("findings", "impression")] == pytest.approx(
        expected, abs=1e-5
    )


# --- closed findings --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "task", "value", "reason"),
    [
        ("No effusion, no mass.", REPORT, 1.0, None),
        ("A mass. No effusion.", QA, 0.5, None),
        ("Possible mass.", QA, 0.0, None),
        ("", QA, 0.0, None),
        (None, QA, None, "missing"),
        ("No effusion, no mass.", CHOICE, None, None),
    ],
)
def test_negation(text: str | None, task: str, value: float | None, reason: str | None) -> None:
    row = one(tier("negation"), text, task=task)
    assert row.values.get("negation_agreement") == value
    assert row.reasons.get("negation_agreement") == reason


def test_negation_applies_where_the_reference_states_a_finding() -> None:
    made = tier("negation")
    for reference in ("A normal chest.", "A mass cannot be excluded.", None):
        for text in ("A mass.", "", None):
            row = one(made, text, reference, QA)
            assert "negation_agreement" not in {*row.values, *row.reasons}
    texts = ["No mass.", "A mass, no effusion.", None, "x"]
    rows = made.score(texts, ["A mass.", "A mass. Effusion. Edema.", "A mass.", "Normal."], tasks=[QA] * 4)
    figures = summarise(rows, made.specs)["metrics"]["negation_agreement"]
    assert figures["mean"] == pytest.approx((0 + 1 / 3) / 2)
    assert (figures["asserted"], figures["agreed"], figures["contradicted"], figures["compared"]) == (4, 1, 2, 3)
    assert figures["of_compared"] == pytest.approx(1 / 3)
    assert (figures["n"], figures["scored"]) == (3, 2)


# --- sentence embeddings ----------------------------------------------------------------------------------------------


def test_sentence(minilm: str) -> None:
    made = tier("sentence", "sections", sentence_model=f"M={minilm}")
    texts = [REFERENCE, "", None, "x", "a dog " * 300]
    rows = made.score(texts, [REFERENCE, "a", "a", None, "a"], tasks=[REPORT, *[QA] * 4])
    assert rows[0].values["sentence[M]"] == pytest.approx(1.0)
    assert rows[0].values["sentence_findings[M]"] == pytest.approx(1.0)
    assert rows[1].values["sentence[M]"] == 0.0
    assert [row.reasons.get("sentence[M]") for row in rows] == [None, None, "missing", "reference_missing", None]
    assert [row.flags for row in rows if row.flags] == [("empty",), ("sentence_truncated",)]
    # what can't be seen has no direction
    assert one(made, "\u200b", "a mass").values["sentence[M]"] == 0.0
    assert "sentence_findings[M]" not in {*rows[1].values, *rows[2].reasons}
    # the whole and its section are both cut, which is one flag
    assert one(made, f"FINDINGS: {'a dog ' * 300}\nIMPRESSION: x").flags == ("sentence_truncated",)


# --- RadGraph ---------------------------------------------------------------------------------------------------------

PRESENT = "Observation::definitely present"


def test_radgraph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graphs = {"mass": graph(entity("mass", PRESENT)), "nothing": graph(), "FINDINGS: mass": graph(entity("m", PRESENT))}
    told = install(monkeypatch, tmp_path, graphs)
    made = tier("radgraph", "sections", protocol="standard")
    texts = ["mass", "", None, "VLM Error: x", "unknown", "mass", None, "mass", "FINDINGS: mass", "mass"]
    references = ["mass"] * 5 + ["nothing"] * 2 + ["mass", "FINDINGS: mass", None]
    rows = made.score(texts, references, tasks=[REPORT] * 7 + [QA, REPORT, REPORT])
    assert [row.values.get("radgraph_f1") for row in rows] == [1.0, 0.0, *[None] * 6, 1.0, None]
    # where the reference has no entity, or is no report, it doesn't apply, whatever the answer
    assert [row.reasons.get("radgraph_f1") for row in rows] == [
        *(None, None, "missing", "error_text", "unparsable"),
        *[None] * 5,
    ]
    assert all("radgraph_f1" not in row.values for row in rows[2:8])
    assert [row.flags for row in rows if row.flags] == [("empty",)]
    # a reference that is missing is no empty report
    assert "" not in {text for asked in told.asked for text in asked}
    assert rows[8].values["radgraph_f1_findings"] == 1.0
    assert made.unavailable == {}
    assert (
        f"radgraph:rg_er-radgraph-xl-{made.definition['metrics']['radgraph']['weights']}-lib-0.1.18" in made.signature
    )
    radgraph_f1._model.cache_clear()


def test_a_report_that_radgraph_reads_in_part_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    mass = graph(entity("mass", PRESENT))
    install(monkeypatch, tmp_path, {"mass": mass, " ".join(["mass"] * radgraph_f1.WORDS): mass})
    row = one(tier("radgraph", protocol="standard"), "mass " * (radgraph_f1.WORDS + 1), "mass")
    assert (row.values["radgraph_f1"], row.flags) == (1.0, ("radgraph_truncated",))
    # an answer that isn't scored isn't cut, nor is what it is compared with
    assert one(tier("radgraph", protocol="standard"), None, "mass " * (radgraph_f1.WORDS + 1)).flags == ()
    radgraph_f1._model.cache_clear()


# --- weights that can't be had ----------------------------------------------------------------------------------------


def test_what_cannot_be_had_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(radgraph_f1.metadata, "version", absent)
    made = tier(*EXTRAS, sentence_model="owner/no-such-model")
    row = one(made, "FINDINGS: No effusion, no mass.")
    lacking = {
        *("radgraph_f1", "radgraph_f1_findings", "radgraph_f1_impression"),
        *("sentence[no-such-model]", "sentence_findings[no-such-model]", "sentence_impression[no-such-model]"),
    }
    assert row.reasons == dict.fromkeys(lacking, "weights_missing")
    assert row.values.keys() >= {"bleu", "bleu_findings", "bleu_impression", "negation_agreement"}
    assert set(made.unavailable) == lacking
    assert made.unavailable["radgraph_f1"].endswith("pip install 'medgen-bench[radgraph]' takes a transformers below 5")
    assert "owner/no-such-model" in made.unavailable["sentence[no-such-model]"]
    assert "radgraph:rg_er-radgraph-xl-missing" in made.signature
    (other,) = made.score([None], [None], tasks=[QA])
    assert other.reasons["sentence[no-such-model]"] == "weights_missing"


# --- what is declared -------------------------------------------------------------------------------------------------


def test_without_extras_nothing_is_another(minilm: str) -> None:
    made = TextTier(model=f"M={minilm}", device="cpu")
    assert made.options == {
        "protocol": "paper",
        "metrics": ["bleu", "bertscore", "em"],
        "model": "M",
        "rescaled": False,
    }
    assert made.definition["metrics"].keys() == {"bleu", "bertscore", "em"}
    assert made.columns == ("bleu", "bertscore[M]", "em", "em_chance")
    assert not {*EXTRAS} & {part.partition(":")[0] for part in made.signature.split("|")}
    # a journal of before is read again: the digest of this definition is in files
    assert TextTier(metrics=("bleu", "em")).definition == {
        "tier": "text",
        "revision": 1,
        "protocol": "paper",
        "metrics": {"bleu": "sentence-4, method1 0.1", "em": "option or blank parsed"},
    }


def test_extras_do_not_touch_the_other_metrics(minilm: str) -> None:
    options: dict[str, Any] = {"model": f"M={minilm}", "device": "cpu"}
    texts, references = [REFERENCE, None, "", "a mass"], [REFERENCE, "a", "b", "the mass"]
    plain = TextTier(**options).score(texts, references)
    more = TextTier(**options, extras=EXTRAS, sentence_model=f"M={minilm}", offline=True).score(texts, references)
    for row, other in zip(plain, more, strict=True):
        assert row.values.items() <= other.values.items()
        assert row.reasons.items() <= other.reasons.items()


def test_each_extra_is_part_of_the_definition(minilm: str) -> None:
    made = [tier(), tier("negation"), tier("sections"), tier("sentence", sentence_model=minilm), tier("radgraph")]
    assert len({json.dumps(one.definition, sort_keys=True) for one in made}) == len(made)
    assert len({one.signature for one in made}) == len(made)


def test_specs_come_again_from_options(minilm: str) -> None:
    for protocol in ("paper", "standard"):
        made = tier("sections", "negation", "sentence", "radgraph", protocol=protocol, sentence_model=f"M={minilm}")
        assert made.options["extras"] == list(EXTRAS)
        again = specs(**json.loads(json.dumps(made.options)))
        assert [(spec.name, spec.low, spec.high) for spec in again] == [
            (spec.name, spec.low, spec.high) for spec in made.specs
        ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"extras": ["rouge"]}, r"extras: expected a list of some of radgraph, sentence, negation, sections, got"),
        ({"extras": "negation"}, r"extras: expected a list of some of"),
        ({"extras": ["sentence"]}, r"sentence_model: the extra `sentence` needs a text encoder"),
        ({"sentence_model": "a/b"}, r"sentence_model: only the extra `sentence` uses it"),
        ({"extras": ["sections"], "metrics": ["em"]}, r"`sections` needs a metric to score sections by"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TextTier(**options)
