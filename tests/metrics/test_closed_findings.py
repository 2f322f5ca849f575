"""The closed list of findings, what a whole text says of them, and how two texts agree."""

import re

import pytest

from medgen_metrics import closed_findings
from medgen_metrics.closed_findings import CLOSED_ANSWER
from medgen_metrics.closed_findings import LIMIT
from medgen_metrics.closed_findings import Agreement
from medgen_metrics.closed_findings import compare
from medgen_metrics.closed_findings import definition
from medgen_metrics.closed_findings import findings
from medgen_metrics.closed_findings import statuses


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # present before uncertain before absent
        ("No right effusion. Small left effusion.", {"pleural effusion": "present"}),
        ("No mass. A mass cannot be excluded.", {"mass": "uncertain"}),
        ("No mass. No masses.", {"mass": "absent"}),
        # the longer name
        ("Pericardial effusion.", {"pericardial effusion": "present"}),
        ("No mass effect.", {"mass effect": "absent"}),
        ("Haemorrhage and oedema.", {"hemorrhage": "present", "edema": "present"}),
        ("NO PNEUMOTHORAX", {"pneumothorax": "absent"}),
        ("Massive amyloid.", {}),
        ("", {}),
        # only what was found
        (
            "INDICATION: Rule out pneumonia. History of fracture.\nFINDINGS: No effusion.\nIMPRESSION: Normal.",
            {"pleural effusion": "absent"},
        ),
        ("<think>A mass? No effusion.</think>A mass.", {"mass": "present"}),
        # closed answers
        ("Yes.", {CLOSED_ANSWER: "present"}),
        ("**No**", {CLOSED_ANSWER: "absent"}),
        ("The answer is: yes, a fracture.", {CLOSED_ANSWER: "present", "fracture": "present"}),
        ("No, there is a fracture.", {CLOSED_ANSWER: "absent", "fracture": "present"}),
        ("No fracture.", {"fracture": "absent"}),
        ("**No** fracture.", {"fracture": "absent"}),
        ("No **fracture** is seen.", {"fracture": "absent"}),
        ('No "acute" fracture.', {"fracture": "absent"}),
        ("**No**, a fracture.", {CLOSED_ANSWER: "absent", "fracture": "present"}),
        ("**No.** A fracture.", {CLOSED_ANSWER: "absent", "fracture": "present"}),
        ("No - a fracture.", {CLOSED_ANSWER: "absent", "fracture": "present"}),
        ("'No'", {CLOSED_ANSWER: "absent"}),
        ("Yes\n\nA fracture.", {CLOSED_ANSWER: "present", "fracture": "present"}),
        ("No\nfracture", {"fracture": "absent"}),
        ("Noted.", {}),
        ("Yesterday", {}),
    ],
)
def test_statuses(text: str, expected: dict[str, str]) -> None:
    assert statuses(text) == expected


def test_a_text_is_read_up_to_a_limit() -> None:
    assert statuses("x " * LIMIT + "mass") == {}


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("No mass. Effusion.", "No mass. Effusion.", Agreement(2, 2, 0)),
        ("A mass. Effusion.", "No mass. Effusion.", Agreement(2, 1, 1)),
        ("", "No mass. Effusion.", Agreement(2, 0, 0)),
        # hedging agrees with nothing and contradicts nothing
        ("Possible mass.", "A mass.", Agreement(1, 0, 0)),
        # what the reference only considers, or doesn't mention, isn't asked for
        ("A mass and a fracture.", "Possible mass. No effusion.", Agreement(1, 0, 0)),
        ("A mass.", "Normal.", Agreement(0, 0, 0)),
        ("No, it is normal.", "Yes.", Agreement(1, 0, 1)),
    ],
)
def test_compare(answer: str, reference: str, expected: Agreement) -> None:
    assert compare(statuses(answer), statuses(reference)) == expected


def test_the_list_is_closed_and_each_name_finds_itself() -> None:
    names = findings()
    assert len(names) == len(set(names)) >= 60
    for name in names:
        assert statuses(f"No {name}.") == {name: "absent"}, name
    assert re.fullmatch(r"[0-9a-f]{16}", definition())


def test_the_definition_is_of_the_list_not_of_its_remarks(monkeypatch: pytest.MonkeyPatch) -> None:
    source, before = closed_findings._source(), definition()
    seen = {}
    for kind, text in (("remark", f"# A remark.\n{source}"), ("list", f"{source}\nkyphosis: {{named: [kyphosis]}}\n")):
        monkeypatch.setattr(closed_findings, "_source", lambda text=text: text)
        definition.cache_clear()
        seen[kind] = definition() == before
    definition.cache_clear()
    assert seen == {"remark": True, "list": False}
