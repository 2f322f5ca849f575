"""What `validate` found in data sets made up here, and a file that it should not like."""

from medgen_scripts.validate_report import Report

from .. import builders

BROKEN = builders.png(1)[:60]
# Of data sets made up here, which are far smaller than the editions.
SIZE = ("other count than expected", "too few records")


def findings(report: Report, *without: str) -> dict[str, list[str]]:
    return {kind: said for kind, said in report.findings.items() if kind not in without}
