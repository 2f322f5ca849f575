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
        # bold and italic
        "***Findings:*** a.\n***Impression:*** b.",
        "__**Findings**__\na.\n__**Impression**__\nb.",
        # stand-ins of IMPRESSION
        "FINDINGS: a.\nDIAGNOSIS: b.",
        "FINDINGS: a.\nSUMMARY: b.",
        "Findings: a.\nAssessment: b.",
        "## Findings\na.\n## Final Diagnosis\nb.",
        "**Findings:** a.\n**Overall Assessment:** b.",
        "Findings\n\na.\n\nSummary\n\nb.",
        "Findings: a. Diagnosis: b.",
        "1. Findings: a.\n2. Diagnosis: b.",
        "DIAGNOSIS: b.\nFINDINGS: a.",
        "findings: a.\ndiagnosis: b.",
        "FINDINGS: a.\nAssessment and plan: b.",
        "CLINICAL DIAGNOSIS: c\nFINDINGS: a.\nCONCLUSIONS: b.",
        # HTML
        "<h2>Findings</h2><p>a.</p><h2>Impression</h2><p>b.</p>",
        '<h2 class="x">Findings</h2>\na.\n<h2>Diagnosis</h2>\nb.',
        "<b>FINDINGS</b>: a.<br><b>IMPRESSION</b>: b.",
        "<p><strong>Findings:</strong> a.</p>\n<p><strong>Impression:</strong> b.</p>",
        "<B><U>FINDINGS</U></B><BR />a.<BR/>IMPRESSION<br>b.",
        "<div>Findings: a.</div><div><em>Impression:</em> b.</div>",
        "<ul><li><b>Findings</b>: a.</li><li><b>Impression</b>: b.</li></ul>",
        # JSON
        '{"findings": "a.", "impression": "b."}',
        '```json\n{"Findings": "a.", "IMPRESSION": ["b."], "confidence": 0.9}\n```',
        '{"clinical_history": "c", "key_findings": "a.", "final_diagnosis": "b.", "notes": null}',
        '{"report": {"study": "c", "findings": "a.", "impression": "b."}, "score": 1}',
        '{"report": "FINDINGS: a.\\nIMPRESSION: b."}',
        '<think>{"findings": "c"}</think>{"impression": "b.", "diagnosis": "c", "findings": "a."}',
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
        ("**FINDINGS** Normal heart.\n**IMPRESSION** Normal.", {"findings": "Normal heart.", "impression": "Normal."}),
        ("**Findings** suggest pneumonia.\n**IMPRESSION** is normal.", {}),
        # stand-ins of IMPRESSION: not beside it, nor outside a report, nor in running text
        ("FINDINGS: a\nIMPRESSION: b\nSUMMARY: c", {"findings": "a", "impression": "b\nSUMMARY: c"}),
        ("FINDINGS: a. Assessment: b.\nOPINION: c", {"findings": "a. Assessment: b.", "impression": "c"}),
        ("## Findings\na\n## Summary\nb\n## Impression\nc", {"findings": "a", "impression": "c"}),
        ("## Findings\na\n## Assessment\nb\n## Summary\nc", {"findings": "a", "impression": "b\nc"}),
        ("Findings and diagnosis: both", {"findings": "both", "impression": "both"}),
        ("Findings and diagnosis: a\nImpression and plan: b", {"findings": "a", "impression": "b"}),
        ("TECHNIQUE: PA\nDIAGNOSIS: b", {"impression": "b"}),
        (
            "## Findings\na\n**Assessment:** c\n## Impression\nb",
            {"findings": "a\n**Assessment:** c", "impression": "b"},
        ),
        ("FINDINGS: see the clinical,\ndiagnosis: b", {"findings": "see the clinical,\ndiagnosis: b"}),
        ("There is an effusion.\nDiagnosis: b", {}),
        ("There is an effusion.\n## Summary\nb\n## Recommendations\nc", {}),
        ("Summary of findings: a", {}),
        ("FINDINGS: a\nSummary of findings: b", {"findings": "a\nSummary of findings: b"}),
        ("FINDINGS: a\nIn summary, normal.\nMy diagnosis: b", {"findings": "a\nIn summary, normal.\nMy diagnosis: b"}),
        ("FINDINGS: a\nSummary of b\nDIAGNOSIS c", {"findings": "a\nSummary of b\nDIAGNOSIS c"}),
        ("FINDINGS: a BI-RADS ASSESSMENT: 2", {"findings": "a BI-RADS ASSESSMENT: 2"}),
        ("FINDINGS: a\nDIFFERENTIAL DIAGNOSIS: b", {"findings": "a"}),
        ("CLINICAL DIAGNOSIS: c\nFINDINGS: a", {"findings": "a"}),
        ("FINDINGS: a, see the\ndiagnosis: b", {"findings": "a, see the\ndiagnosis: b"}),
        ("FINDINGS:\n- Lungs: a\n- Diagnosis: b\n- c", {"findings": "- Lungs: a\n- Diagnosis: b\n- c"}),
        # HTML and JSON
        ("<h3>Findings</h3><h4>Lungs</h4>a<br>b<h3>Other</h3>c", {"findings": "#### Lungs\na\nb"}),
        ("<H2>Findings</H2>a<H3>Lungs</H3>b<H2>Other</H2>c", {"findings": "a\n### Lungs\nb"}),
        ("FINDINGS: a < b and c > d", {"findings": "a < b and c > d"}),
        ('{"findings": {"lungs": "a", "heart": ["b", "c"]}}', {"findings": "heart: b; c\nlungs: a"}),
        ('{"findings": ["a", {"heart": "b"}, null, 3]}', {"findings": "a\nheart: b\n3"}),
        ('{"findings": "a\nb", "impression": "c"}', {"findings": "a\nb", "impression": "c"}),
        ('{"findings": "a", "diagnosis": {"main": "b"}}', {"findings": "a", "impression": "main: b"}),
        ('{"findings": "a", "impression": null}', {"findings": "a"}),
        ('{"findings": "a", "other": {"note": "b"}, "impression": "c"}', {"findings": "a", "impression": "c"}),
        ('{"answer": "a"}', {}),
        ('{"findings": a}', {}),
        ('{"findings": ' * 9_000 + "1" + "}" * 9_000, {}),
        ('["findings"]', {}),
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


@given(
    st.lists(
        st.sampled_from(["FINDINGS:", "DIAGNOSIS:", "Impression", "##", "\n", "a", "**", ": ", ". ", "TECHNIQUE:", " "])
    )
)
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
        ("", "<b>"),
        ("", "<h2 "),
        ("", "diagnosis and "),
        ("FINDINGS: a\n", "- Diagnosis: b\n"),
        ("", '{"findings": "a", '),
    ],
)
def test_hostile_texts_take_linear_time(head: str, unit: str) -> None:
    assert_linear(sections, unit, 200_000 // len(unit), head=head)
