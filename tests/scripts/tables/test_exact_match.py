"""Exact match's denominators, by protocol."""

import csv
import io
import re

from medgen_metrics.bleu import statistics
from medgen_metrics.rows import Row
from medgen_scripts.result_file import ResultFile
from medgen_scripts.tables.printing import printed
from medgen_scripts.tables.render_data import render_csv

from ..built import as_text
from ..built import built
from ..built import cell
from ..built import edits
from ..built import foot
from ..built import marks
from ..results import config_result
from ..results import result


def answers(*scores: float | str) -> list[Row]:
    """Text rows: EM's value, or the reason of a failure."""
    rows = []
    for score in scores:
        failed = isinstance(score, str)
        values = {**statistics("a b c d", "a b c d"), "em": 0.0 if failed else score, "em_chance": 0.25}
        rows.append(Row(values, {"em": score} if failed else {}))  # type: ignore[dict-item, arg-type]
    return rows


def vqa(system: str, *scores: float | str, protocol: str = "paper") -> ResultFile:
    return result(system, {"vqa": config_result({"text": answers(*scores)}, protocol=protocol)}, protocol=protocol)


def test_the_papers_exact_match_prints_its_denominators_and_is_never_best() -> None:
    document = built(vqa("alpha", 1.0, 1.0, 0.0, "unparsable", "missing"), vqa("beta", 1.0, 1.0, 1.0, 1.0, 1.0))
    # The mean is the first of the two shares; one unparsable answer is in neither of its numbers.
    assert re.search(r"alpha +\S+ +50\.00\n +2/4 right\n +3/5 parsed\n", as_text(document))
    assert re.search(r"beta +\S+ +100\.00\n +5/5 right\n +5/5 parsed\n", as_text(document))
    assert marks(document, "em") == {}
    assert marks(document, "bleu") == {"alpha": "best", "beta": "best"}
    assert "the right answers over those that count, and the parsed ones over all closed questions" in foot(document)
    assert "scored/n" not in foot(document)


def test_exact_match_over_groups_has_no_shares_and_csv_has_those_over_records() -> None:
    document = built(vqa("alpha", 1.0, 1.0, 0.0, "unparsable", "missing"), by="task")
    (table,) = document.tables
    (column,) = [column for column in table.columns if column.metric == "em"]
    cells = {line.kind: line.cells[table.columns.index(column)] for line in table.lines}
    assert printed(column, cells["micro"], "paper").details == ("2/4 right", "3/5 parsed")
    assert printed(column, cells["macro"], "paper").details == ()
    figures = {
        (row["kind"], row["metric"]): [row[name] for name in ("right", "parsed", "closed")]
        for row in csv.DictReader(io.StringIO(render_csv(document)))
    }
    assert figures["micro", "em"] == ["2", "3", "5"]
    assert figures["macro", "em"] == figures["micro", "bleu"] == ["", "", ""]


def test_failures_that_count_as_wrong_are_not_told_as_unscored() -> None:
    document = built(vqa("alpha", 1.0, "empty", "unparsable"), vqa("beta", 1.0, "empty", "unparsable"))
    assert "Unscored records: alpha, beta, each (EM: unparsable 1)." in foot(document)
    assert "Failed and counted as wrong: alpha, beta, each (EM: empty 1)." in foot(document)
    # Nothing is left out in the field's definition.
    document = built(vqa("alpha", 1.0, "empty", "unparsable", protocol="standard"))
    assert "Unscored records" not in foot(document)
    assert "Failed and counted as wrong: alpha (EM: empty 1, unparsable 1)." in foot(document)


def test_a_question_whose_reference_is_missing_counts_neither_right_nor_wrong() -> None:
    rows = [*answers(1.0, "empty"), Row({}, {"em": "reference_missing", "bleu": "reference_missing"})]
    document = built(result("alpha", {"vqa": config_result({"text": rows})}))
    assert re.search(r"alpha +\S+ +50\.00\n +\S+ +1/2 right\n +1/2 parsed\n", as_text(document))
    assert "Unscored records: alpha (BLEU, EM: reference_missing 1)." in foot(document)


def test_standard_exact_match_is_over_all_closed_records_with_chance_beside_it() -> None:
    document = built(
        vqa("alpha", 1.0, 1.0, 0.0, "unparsable", "missing", protocol="standard"),
        vqa("beta", 1.0, 1.0, 1.0, 1.0, 0.0, protocol="standard"),
    )
    assert re.search(r"alpha +\S+ +_40\.00_\n +chance 25\.00\n +3/5\n", as_text(document).replace("*", " "))
    assert "parsed" not in as_text(document).replace("unparsable", "")
    # A failure is wrong, not left out: it counts in the comparison too.
    assert cell(document, "alpha", "em").common == 0.4
    assert marks(document, "em") == {"beta": "best", "alpha": "second"}
    assert "chance" in foot(document)


def test_standard_shows_failures_at_their_worst() -> None:
    file = edits("alpha", [0.5, None], [20.0, 30.0], [0.2, None], protocol="standard")
    text = as_text(built(file))
    row = "".join(text.split("\n")[4:7]).split()
    assert row == ["alpha", "50.00", "25.00", "20.00", "[-25.00]", "pooled", "22.60", "[–]", "1/2", "1/2"]
    assert "[x]: the mean with the system's failures at the metric's worst; [–]: that has no bound." in text
