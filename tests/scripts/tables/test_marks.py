"""Which figures are best and second."""

import pytest

from medgen_scripts.result_file import ResultFile

from ..built import built
from ..built import cell
from ..built import edits
from ..built import foot
from ..built import marks


def test_marks_rest_on_the_records_that_every_system_has_scored() -> None:
    # Over its own records beta is better; over the two that both have scored it is worse.
    document = built(edits("alpha", [0.6, 0.6, 0.1]), edits("beta", [0.5, None, 0.6]))
    assert cell(document, "alpha", "ssim").mean == pytest.approx(1.3 / 3)
    assert cell(document, "alpha", "ssim").common == pytest.approx(0.35)
    assert cell(document, "beta", "ssim").common == pytest.approx(0.55)
    assert marks(document, "ssim") == {"beta": "best", "alpha": "second"}
    assert "Best and second of SSIM rest on the 2 of 3 records that every shown system has scored." in foot(document)


def test_an_easier_subset_does_not_win() -> None:
    document = built(edits("alpha", [0.9, 0.2]), edits("beta", [0.8, None]))
    assert cell(document, "beta", "ssim").mean > cell(document, "alpha", "ssim").mean  # type: ignore[operator]
    # Nor is alpha's lower figure set best: a reader would take that for an error.
    assert marks(document, "ssim") == {}
    assert (
        "No best and second of SSIM: over the 1 records that every shown system has scored the order is another than "
        "that of the printed means (over these records: alpha 90.00, beta 80.00)."
    ) in foot(document)


@pytest.mark.parametrize(
    "pair",
    [
        # tied over the common record, printed apart
        (edits("alpha", [0.5, 0.7]), edits("beta", [0.5, None])),
        # printed alike, apart over the common record
        (edits("alpha", [0.5, 0.7]), edits("beta", [0.6, None])),
        # less is better
        (edits("alpha", [0.5] * 2, None, [0.2, 0.9]), edits("beta", [0.5] * 2, None, [0.3, None])),
    ],
)
def test_no_marks_where_printed_means_would_have_others(pair: tuple[ResultFile, ResultFile]) -> None:
    document = built(*pair)
    metric = document.tables[0].columns[-1].metric
    assert marks(document, metric) == {}
    assert "the order is another than that of the printed means" in foot(document)


def test_a_third_system_below_does_not_take_the_marks_away() -> None:
    third, fourth = edits("gamma", [0.3, 0.1]), edits("delta", [0.2, None])
    document = built(edits("alpha", [0.9, 0.9]), edits("beta", [0.8, 0.8]), third, fourth)
    assert marks(document, "ssim") == {"alpha": "best", "beta": "second"}


def test_a_group_without_marks_is_named() -> None:
    tasks = ["x", "x", "y", "y"]
    document = built(
        edits("alpha", [0.9, 0.2, 0.5, 0.5], tasks=tasks), edits("beta", [0.8, None, 0.4, 0.4], tasks=tasks), by="task"
    )
    assert marks(document, "ssim", kind="group", group="x") == {}
    assert marks(document, "ssim", kind="group", group="y") == {"alpha": "best", "beta": "second"}
    said = (
        "No best and second of SSIM there: over the 3 records that every shown system has scored the order is another"
    )
    assert said in foot(document)
    assert "(over these records: x: alpha 90.00, beta 80.00" in foot(document)


def test_lower_is_better_where_the_column_says_so() -> None:
    document = built(edits("alpha", [0.5], [20.0], [0.4]), edits("beta", [0.5], [20.0], [0.3]))
    assert marks(document, "lpips") == {"beta": "best", "alpha": "second"}


def test_values_that_print_alike_are_tied_and_all_marked() -> None:
    document = built(
        edits("alpha", [0.50001]),
        edits("beta", [0.50002]),
        edits("gamma", [0.4]),
        edits("delta", [0.4]),
        edits("e", [0.3]),
    )
    assert marks(document, "ssim") == {"alpha": "best", "beta": "best", "gamma": "second", "delta": "second"}


def test_an_oracle_takes_no_record_away() -> None:
    document = built(edits("alpha", [0.5, 0.5]), edits("beta", [0.6, 0.6]), edits("recipe", [1.0, None]))
    assert document.tables[0].common["ssim"] == 2
    assert marks(document, "ssim") == {"beta": "best", "alpha": "second"}
    assert "recipe (oracle)" in foot(document)


def test_no_marks_without_common_records() -> None:
    document = built(edits("alpha", [0.5, None]), edits("beta", [None, 0.6]))
    assert marks(document, "ssim") == {}
    assert "No best and second of SSIM: no record is scored for every shown system." in foot(document)


def test_a_single_system_is_not_best() -> None:
    assert marks(built(edits("alpha", [0.5])), "ssim") == {}
    document = built(edits("alpha", [0.5]), edits("reference", [1.0]))
    assert marks(document, "ssim") == {}
    assert "Best" not in foot(document)


def test_anchors_are_shown_last_and_never_marked() -> None:
    document = built(
        edits("reference", [1.0]),
        edits("beta", [0.1]),
        edits("copy-input", [0.9]),
        edits("alpha", [0.2]),
        edits("blank", [0.0]),
    )
    assert [line.system for line in document.tables[0].lines] == ["beta", "alpha", "copy-input", "blank", "reference"]
    assert marks(document, "ssim") == {"alpha": "best", "beta": "second"}
    assert "Not ranked: copy-input (does nothing), blank (empty output), reference (upper bound)." in foot(document)


def test_the_sample_has_no_best_unless_asked_for() -> None:
    pair = [
        edits(name, [value], edition="sample", edition_note="illustrative") for name, value in (("a", 0.5), ("b", 0.6))
    ]
    document = built(*pair)
    assert marks(document, "ssim") == {}
    assert "On edition sample no best and second are set (--illustrative does it)." in foot(document)
    assert marks(built(*pair, illustrative=True), "ssim") == {"b": "best", "a": "second"}
    assert "On edition sample" not in foot(built(*pair, illustrative=True))
