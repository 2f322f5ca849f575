"""Unscored records: their share, their reasons, and how far they could move a mean."""

import pytest

from medgen_metrics.rows import Row

from ..built import as_text
from ..built import built
from ..built import cell
from ..built import edits
from ..built import foot
from ..results import config_result
from ..results import result


def test_coverage_stands_in_every_incomplete_cell_and_only_there() -> None:
    text = as_text(built(edits("alpha", [0.5, None], [20.0, 30.0]), edits("beta", [0.5, 0.5], [20.0, 30.0])))
    assert text.count(" 1/2") == 1
    assert "2/2" not in text
    assert "scored/n" in text
    complete = as_text(built(edits("beta", [0.5, 0.5])))
    assert "scored/n" not in complete


def test_unscored_records_are_counted_by_reason() -> None:
    document = built(edits("alpha", [0.5, None, None], [20.0, None, None], reason="unreadable"))
    assert "Unscored records: alpha (SSIM, PSNR: unreadable 2)." in foot(document)


def test_bounds_put_unscored_records_at_both_ends_of_the_range() -> None:
    document = built(edits("alpha", [0.5, None], [20.0, None], [0.25, None]))
    assert cell(document, "alpha", "ssim").bounds == (-0.25, 0.75)
    assert cell(document, "alpha", "psnr").bounds == (10.0, 60.0)
    assert cell(document, "alpha", "lpips").bounds == (0.125, None)
    assert (
        "Means with unscored records at the worst and at the best of the range: "
        "alpha (SSIM -25.00 to 75.00, PSNR 10.00 to 60.00, LPIPS 12.50 or more)."
    ) in foot(document)


def test_bounds_of_text_metrics() -> None:
    right, wrong = Row({"em": 1.0, "bertscore": 0.8}), Row({"em": 0.0, "bertscore": 0.8})
    unparsable = Row({"em": 0.0, "bertscore": 0.8}, {"em": "unparsable"})
    missing = Row({"em": 0.0}, {"em": "missing", "bertscore": "missing"})
    options = {"text": {"metrics": ["em", "bertscore"]}}
    file = result("alpha", {"vqa": config_result({"text": [right, wrong, unparsable, missing]}, options=options)})
    document = built(file)
    # The answer that can't be parsed may be right; the missing one is wrong, as defined.
    assert cell(document, "alpha", "em").bounds == (0.25, 0.5)
    assert cell(document, "alpha", "bertscore").bounds == (pytest.approx(0.35), pytest.approx(0.85))


def test_complete_means_have_no_room() -> None:
    document = built(edits("alpha", [0.5, 0.25]))
    assert cell(document, "alpha", "ssim").bounds == (0.375, 0.375)
    assert "at the worst and at the best" not in foot(document)


def test_an_order_that_unscored_records_could_turn_is_warned_of() -> None:
    many = [0.75] * 100
    document = built(edits("alpha", [*many, 0.75]), edits("beta", [*many, None]), edits("gamma", [0.5] * 101))
    # alpha and beta print alike and are tied; gamma is out of beta's reach.
    assert "could flip" not in foot(document)
    document = built(edits("alpha", [*many, 0.75]), edits("beta", [*many[1:], 0.8, None]), edits("gamma", [0.5] * 101))
    assert "Warning: within these bounds the order in SSIM could flip: beta before alpha." in foot(document)


def test_an_order_is_warned_of_where_less_is_better() -> None:
    document = built(edits("alpha", [0.5] * 2, None, [0.25, 0.25]), edits("beta", [0.5] * 2, None, [0.125, None]))
    assert "the order in LPIPS could flip: beta before alpha." in foot(document)
