"""Columns and foot of the text tier's extras."""

from typing import Any

import pytest

from medgen_metrics.rows import Row
from medgen_scripts.result_file import ResultFile
from medgen_scripts.tables.columns import column_signature
from medgen_scripts.tables.columns import head

from ..built import built
from ..built import foot
from ..results import SIGNATURES
from ..results import config_result
from ..results import result

EXTRAS = ["radgraph", "sentence", "negation", "sections"]
PARTS = "|radgraph:rg_er-ab|sentence:M-mean-ab|negation:66findings-ab|sections:findings+impression-rev1"
COUNTS = {"negation_asserted": 4.0, "negation_agreed": 2.0, "negation_contradicted": 1.0}
VALUES = {
    **{"bleu": 0.5, "bleu_findings": 0.25, "bleu_impression": 0.0, "sentence[M]": 0.75, "radgraph_f1": 0.5},
    **{"negation_agreement": 0.5, **COUNTS},
}
ONE = {"negation_agreement": 1.0, "negation_asserted": 1.0, "negation_agreed": 1.0, "negation_contradicted": 0.0}


def texts(system: str, rows: list[Row], extras: list[str] | None = None, **options: Any) -> ResultFile:
    chosen: dict[str, Any] = {"metrics": ["bleu"]}
    if extras:
        chosen |= {"extras": extras, "sentence_model": "M" if "sentence" in extras else None}
        options["signatures"] = {**SIGNATURES, "text": SIGNATURES["text"] + PARTS}
    return result(system, {"vqa": config_result({"text": rows}, options={"text": chosen}, **options)})


def test_heads() -> None:
    assert head("radgraph_f1") == "RadGraph F1 (RG_ER)"
    assert head("bertscore_findings") == "PBScore findings"
    assert head("bertscore_impression[M]") == "BERTScore impression[M]"
    assert head("sentence[M]") == "Sentence cosine[M]"
    assert head("sentence_findings[M]") == "Sentence cosine findings[M]"
    assert head("negation_agreement") == "Negation agreement"


def test_extras_stand_behind_the_other_columns_and_are_explained() -> None:
    document = built(texts("alpha", [Row(VALUES, {}, ("no_impression",)), Row({"bleu": 0.5, **ONE})], EXTRAS))
    assert [column.metric for column in document.tables[0].columns] == [
        *("bleu", "radgraph_f1", "sentence[M]", "negation_agreement", "bleu_findings", "bleu_impression"),
    ]
    assert [column.unit for column in document.tables[0].columns] == ["%"] * 6
    said = foot(document)
    for note in (
        "RadGraph F1 (RG_ER): entities of reports",
        "Sentence cosine: of mean-pooled token vectors",
        "Negation agreement: of the findings of a closed list",
        "Closed findings stated: alpha 3 of 5 in 2 records alike, 1 the other way round.",
        "an answer without it scores 0 there",
        "no_impression: alpha 1/1 (100.0%)",
        "no_impression: answers without the section IMPRESSION",
    ):
        assert note in said, note


def test_without_extras_nothing_is_said_of_them() -> None:
    said = foot(built(texts("alpha", [Row({"bleu": 0.5})])))
    assert not any(word in said for word in ("RadGraph", "Sentence", "Negation", "findings"))


def test_systems_with_and_without_extras_share_the_columns_that_both_have() -> None:
    one = texts("alpha", [Row(VALUES)], EXTRAS, definition="ff" * 8)
    document = built(one, texts("beta", [Row({"bleu": 0.25})]))
    assert document.tables[0].columns[0].metric == "bleu"
    assert [line.cells[0] is not None for line in document.tables[0].lines] == [True, True]


def test_a_part_of_the_signature_belongs_to_its_own_columns() -> None:
    whole = SIGNATURES["text"] + PARTS
    for metric in ("bleu", "bertscore", "em"):
        assert column_signature(whole, metric) == column_signature(SIGNATURES["text"], metric)
    assert "|sections:" in column_signature(whole, "bleu_findings")
    assert "|bleu:" in column_signature(whole, "bleu_findings")
    assert "|weights:" in column_signature(whole, "bertscore_findings")
    assert column_signature(whole, "negation_agreement").endswith("|negation:66findings-ab")
    assert "|sentence:" in column_signature(whole, "sentence_impression[M]")
    assert "|radgraph:" in column_signature(whole, "radgraph_f1_findings")


def test_metrics_that_lack_the_same_thing_are_told_together() -> None:
    lacking = ["radgraph_f1", "radgraph_f1_findings", "radgraph_f1_impression"]
    rows = [Row({"bleu": 0.5}, dict.fromkeys(lacking, "weights_missing"))]
    why = {"text": dict.fromkeys(lacking, "the package is not installed")}
    said = foot(built(texts("alpha", rows, ["radgraph", "sections"], unavailable=why)))
    assert (
        "RadGraph F1 (RG_ER), RadGraph F1 (RG_ER) findings, RadGraph F1 (RG_ER) impression: not scored: the package is "
        "not installed" in said
    )


@pytest.mark.parametrize("by", [None, "task"])
def test_a_section_that_answers_lack_is_counted_of_the_references_that_have_it(by: str | None) -> None:
    rows = [
        Row({"bleu": 0.5, "bleu_findings": 0.0, "bleu_impression": 0.5}, {}, ("no_findings",)),
        Row({"bleu": 0.5, "bleu_findings": 0.5}),
        Row({}, {"bleu": "missing", "bleu_findings": "missing"}),
        *[Row({"bleu": 0.5})] * 4,
    ]
    said = foot(built(texts("alpha", rows, ["sections"]), by=by))
    assert "no_findings: alpha 1/3 (33.3%)" in said
    assert "no_impression" not in said.replace("(no_findings, no_impression)", "")
