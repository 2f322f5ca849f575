"""What `validate` found: findings by kind, errors and warnings, with counts; printed for people or as JSON."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from typing import Any

from .terminal import printable

SHOWN = 20  # findings of a kind that are spelled out
# Bare ids, of which a file that is wholly wrong has one for each record: in print a line of a few.
LISTED = {"no row": 3, "error of unknown kind": 3, "output of one pixel": 3, "transparent output": 3}

# Kind -> whether it is an error. Closed, so that nobody's script meets a kind that is written nowhere.
KINDS: Mapping[str, bool] = {
    # a data set
    "unreadable file": True,
    "bad record": True,
    "image path out of the folder": True,
    "missing image": True,
    "empty image": True,
    "unreadable image": True,
    "no input image": True,
    "no reference image": True,
    "empty instruction": True,
    "empty answer": True,
    "error message as answer": True,
    "no options": True,
    "options lack the answer": True,
    "id stands twice": True,
    "id does not fit the content": True,
    "duplicate record": False,
    "reference equals an input": False,
    "same image twice in a record": False,
    "unknown modality": False,
    "too few records": True,
    "other edition than named": False,
    "other count than expected": False,
    # predictions
    "bad row": True,
    "unknown id": True,
    "duplicate id": True,
    "unreadable output": True,
    "output equals a reference": True,
    "output named for another record": True,
    "no row": False,
    "no output": False,
    "empty output": False,
    "error message as output": False,
    "error of unknown kind": False,
    "refusal": False,
    "file name of another format": False,
    "several output images": False,
    "output of one pixel": False,
    "transparent output": False,
    "output equals the input": False,
    "same output for several records": False,
    "nearly the same output for several records": False,
    "notice": False,
}
NOTES = ("notice",)  # neither errors nor warnings


def severity(kind: str) -> str:
    """Of one of `KINDS`: error, warning or note."""
    return "error" if KINDS[kind] else "note" if kind in NOTES else "warning"


@dataclass(slots=True)
class Report:
    """The findings on one target, and its counts.

    Attributes:
        target: what was looked at, in words.
        counts: name of a count -> figure, or figures by name; for print and JSON alike.
        expected: the same names -> what the edition has; names without an expectation are absent.
        findings: kind -> the first `SHOWN` in words.
        totals: kind -> how many there are.
    """

    target: str
    counts: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)
    findings: dict[str, list[str]] = field(default_factory=dict)
    totals: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, message: str) -> None:
        """Note a finding of one of `KINDS`."""
        if kind not in KINDS:
            raise ValueError(f"unknown kind {kind!r}; expected one of {', '.join(KINDS)}")
        self.totals[kind] += 1
        if self.totals[kind] <= SHOWN:
            self.findings.setdefault(kind, []).append(printable(message))

    @property
    def errors(self) -> int:
        """How many findings are errors."""
        return sum(count for kind, count in self.totals.items() if KINDS[kind])

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return sum(count for kind, count in self.totals.items() if severity(kind) == "warning")

    def compare(self) -> None:
        """Note each count that is other than expected, but for one that is an error already."""
        for name, wanted in self.expected.items():
            if name == "records" and self.totals["too few records"]:
                continue
            got = self.counts.get(name)
            if isinstance(wanted, Mapping):
                got = got or {}
                off = [
                    f"{key}: {got.get(key, 0):,} of {value:,}"
                    for key, value in wanted.items()
                    if got.get(key, 0) != value
                ]
                for each in off:
                    self.add("other count than expected", f"{name}, {each}")
            elif got != wanted:
                self.add("other count than expected", f"{name}: {got:,}, expected {wanted:,}")

    def as_json(self) -> dict[str, Any]:
        """Everything, JSON-able."""
        kinds = [kind for kind in KINDS if kind in self.totals]
        return {
            "target": self.target,
            "errors": self.errors,
            "warnings": self.warnings,
            "counts": self.counts,
            "expected": self.expected,
            "findings": [
                {
                    "kind": kind,
                    "severity": severity(kind),
                    "count": self.totals[kind],
                    "first": self.findings[kind],
                }
                for kind in kinds
            ],
        }

    def lines(self) -> list[str]:
        """Everything, for people; text of data and models is in it only escaped."""
        said = [self.target]
        for name, got in self.counts.items():
            if not isinstance(got, Mapping):
                wanted = self.expected.get(name)
                said.append(f"  {name}: {got:,}" + (f" (expected {wanted:,})" if wanted not in (None, got) else ""))
                continue
            width = max((len(str(key)) for key in got), default=0)
            said.append(f"  {name}:")
            for key, value in got.items():
                wanted = self.expected.get(name, {}).get(key)
                off = f"  (expected {wanted:,})" if wanted not in (None, value) else ""
                said.append(f"    {key!s:<{width}}  {value:>7,}{off}")
        for kind in KINDS:
            total = self.totals[kind]
            if kind in NOTES:
                said += [f"note: {message}" for message in self.findings.get(kind, ())]
            elif total:
                said.append(f"{severity(kind)}: {kind} ({'once' if total == 1 else f'{total:,} times'})")
                shown = self.findings[kind][: LISTED.get(kind, SHOWN)]
                more = [f"… and {total - len(shown):,} more"] if total > len(shown) else []
                listed = [", ".join([*shown, *more])] if kind in LISTED else [*shown, *more]
                said += [f"  {message}" for message in listed]
        return said


def to_json(reports: list[Report]) -> str:
    """Reports as one JSON document."""
    document = {"format": "medgen-bench/validation@1", "reports": [report.as_json() for report in reports]}
    return json.dumps(document, indent=2, ensure_ascii=True)
