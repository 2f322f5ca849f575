from typing import Any

import pytest

from medgen_metrics.sources.answers import flatten


@pytest.mark.parametrize(
    ("sections", "text"),
    [
        ({}, ""),
        ({"IMPRESSION": "Normal.", "FINDINGS": "Clear."}, "FINDINGS: Clear.\nIMPRESSION: Normal."),
        (
            dict.fromkeys(("ZEBRA", "NOTIFICATION", "ABDOMEN", "HISTORY", "INDICATION", "CLINICAL_HISTORY"), "x"),
            "CLINICAL_HISTORY: x\nINDICATION: x\nHISTORY: x\nNOTIFICATION: x\nABDOMEN: x\nZEBRA: x",
        ),
        ({"Impression": "b", "Clinical history": "a", "study": "s"}, "study: s\nClinical history: a\nImpression: b"),
        ({"FINDINGS": ["one", "two", 3]}, "FINDINGS: one; two; 3"),
        (
            {"FINDINGS": {"RIGHT": "clear", "LEFT": {"UPPER": ["a", "b"]}}, "STUDY": "CT"},
            "STUDY: CT\nFINDINGS:\n  LEFT:\n    UPPER: a; b\n  RIGHT: clear",
        ),
        ({"FINDINGS": [{"SITE": "lung", "SIZE": "3 mm"}, "else"]}, "FINDINGS: SITE: lung; SIZE: 3 mm; else"),
        ({"COMPARISON": None, "TECHNIQUE": ""}, "TECHNIQUE:\nCOMPARISON:"),
    ],
)
def test_sections_become_lines_in_the_fixed_order(sections: dict[str, Any], text: str) -> None:
    assert flatten(sections) == text
