"""FINDINGS and IMPRESSION of reports, in the forms that people and models write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medgen_metrics.sections import SECTIONS
from medgen_metrics.sections import sections
from medgen_metrics.sources.answers import flatten

from ..growth import assert_linear

BOTH = {"findings": "a.", "impression": "b."}


@pytest.mark.parametrize(
    "text",
    [
        "FINDINGS: a.\nIMPRESSION: b.",
        "Findings: a.\nImpression: b.",
        "findings: a.\nimpression: b.",
        "FINDINGS:\na.\n\nIMPRESSION:\nb.",
        "FINDINGS\na.\nIMPRESSION\nb.",
        "Findings\n\na.\n\nConclusion\n\nb.",
        "## Findings\na.\n## Impression\nb.",
        "### Findings:\na.\n### Impression:\nb.",
        "**FINDINGS:** a.\n**IMPRESSION:** b.",
        "**Findings**: a.\n**Impression**: b.",
        "**Findings**\n\na.\n\n**Impression**\n\nb.",
        "__Findings:__ a.\n*Impression:* b.",
        "1. Findings: a.\n2. Impression: b.",
        "1) **Findings:** a.\n2) **Impression:** b.",
        "### 1. **Findings**\na.\n### 2. **Impression**\nb.",
        "- **Findings**: a.\n- **Impression**: b.",
        "> Findings: a.\n> Impression: b.",
        "Findings - a.\nImpression – b.",
        "FINDINGS：a.\nIMPRESSION：b.",
        "EXAM: chest FINDINGS: a. IMPRESSION: b.",
        "EXAMINATION: chest. Findings: a. Impression: b.",
        "**FINDINGS**: a. **IMPRESSION**: b.",
        "Radiographic findings: a.\nDiagnostic impression: b.",
        "CLINICAL_HISTORY: fall\nTECHNIQUE: PA\nFINDINGS: a.\nIMPRESSION: b.\nRECOMMENDATION: none",
        "IMPRESSION: b.\nFINDINGS: a.",
        "<think>FINDINGS: c.</think>\nFINDINGS: a.\nIMPRESSION: b.",
        "FINDINGS: a.\r\nIMPRESSION: b.\r\n",
        "Observations: a.\nOpinion: b.",
    ],
)
def test_both_sections(text: str) -> None:
    assert sections(text) == BOTH


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("The lungs are clear.", {}),
        ("The findings are normal. My impression is good.", {}),
        ("Findings suggest pneumonia.\nImpression is normal.", {}),
        ("The findings: normal", {}),
        ("IMPRESSION:", {}),
        ("FINDINGS:\nIMPRESSION: b.", {"impression": "b."}),
        ("FINDINGS The heart is normal.", {"findings": "The heart is normal."}),
        ("Findings and impression: both", {"findings": "both", "impression": "both"}),
        ("FINDINGS/IMPRESSION: both", {"findings": "both", "impression": "both"}),
        ("IMPRESSION: a\nCONCLUSION: b", {"impression": "a\nb"}),
        # other labels belong to the section, unless they are a known one
        ("FINDINGS:\nLungs: clear\nHeart: normal\nTECHNIQUE: PA", {"findings": "Lungs: clear\nHeart: normal"}),
        ("## Findings\na\n### Lungs\nb\n## Other\nc", {"findings": "a\n### Lungs\nb"}),
        ("FINDINGS: a\n\nb\n\nRECOMMENDATIONS: c", {"findings": "a\n\nb"}),
        ("IMPRESSION: no change. COMPARISON: none", {"impression": "no change."}),
        ("TECHNIQUE: PA\nIMPRESSION: b", {"impression": "b"}),
        ("IMPRESSION: b\n\nRECOMMENDATION(S): c", {"impression": "b"}),
        ("Findings- a\nIMPRESSION- b", {"findings": "a", "impression": "b"}),
        # the last word of a sentence that a report's line breaks part
        (" FINDINGS: as on the prior\n study.\n Clear lungs.", {"findings": "as on the prior\n study.\n Clear lungs."}),
        ("impression\nb", {"impression": "b"}),
        ("FINDINGS: a, see\nfindings.\n\nimpression\nb", {"findings": "a, see\nfindings.", "impression": "b"}),
        # remarks in running text
        ("Findings: a. Note: b. Contrast: c. Technique: d.", {"findings": "a. Note: b. Contrast: c."}),
        ("FINDINGS: a. NOTE: b", {"findings": "a."}),
        # items of a section that are called like one
        ("FINDINGS:\n- Contrast: a\n- b\nIMPRESSION: c", {"findings": "- Contrast: a\n- b", "impression": "c"}),
        ("Impression:\n1. a\n2. Follow-up: b\nTechnique: PA", {"impression": "1. a\n2. Follow-up: b"}),
        ("- Impression: a\n- Follow-up: b", {"impression": "a"}),
        ("## Impression\n1. Plan: a\n## 3. Plan\nb", {"impression": "1. Plan: a"}),
        # lines below a heading and between sections
        ("FINDINGS\n--------\na\n\n---\n\nIMPRESSION\n===\nb\n***\n", {"findings": "a", "impression": "b"}),
        ("FINDINGS:\n---\nIMPRESSION: b", {"impression": "b"}),
    ],
)
def test_other_texts(text: str, expected: dict[str, str]) -> None:
    assert sections(text) == expected


def test_sections_of_an_older_release_are_found() -> None:
    report = {"IMPRESSION": "b.", "TECHNIQUE": "PA", "FINDINGS": {"LUNGS": "clear", "HEART": ["x", "y"]}}
    assert sections(flatten(report)) == {"findings": "HEART: x; y\n  LUNGS: clear", "impression": "b."}


BODY = st.text(st.characters(codec="utf-8", categories=("L", "N", "Zs")), min_size=1).map(str.split).map(" ".join)
PLAIN = BODY.filter(lambda text: text and not sections(f"FINDINGS: x {text}.\n{text}").get("impression"))


@given(PLAIN, PLAIN, st.sampled_from([("{}:", "{}"), ("## {}", "\n{}"), ("**{}:**", " {}"), ("2. {}:", " {}")]))
def test_what_is_put_under_a_heading_is_found(first: str, second: str, form: tuple[str, str]) -> None:
    heading, body = form
    text = "\n".join(
        heading.format(name) + body.format(f"x {content}")
        for name, content in (("Findings", first), ("Impression", second))
    )
    assert sections(text) == {"findings": f"x {first}".strip(), "impression": f"x {second}".strip()}


@given(st.lists(st.sampled_from(["FINDINGS:", "Impression", "##", "\n", "a", "**", ": ", ". ", "TECHNIQUE:", " "])))
def test_any_text_gives_parts_of_itself(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = sections(text)
    assert list(found) == [section for section in SECTIONS if section in found]
    for body in found.values():
        assert body == body.strip() != ""
        assert all(line in text for line in body.split("\n"))


@pytest.mark.parametrize(
    ("head", "unit"),
    [
        ("", "FINDINGS: "),
        ("", "#"),
        ("", "*"),
        ("", ". "),
        ("", "radiographic "),
        ("", "1. "),
        ("FINDINGS:\n", "### x\n"),
        ("", "findings and "),
        ("", "- "),
        ("", " "),
    ],
)
def test_hostile_texts_take_linear_time(head: str, unit: str) -> None:
    assert_linear(sections, unit, 200_000 // len(unit), head=head)
