"""Tables by task, subtask or modality, with micro and macro means."""

import pytest

from ..built import as_text
from ..built import built
from ..built import cell
from ..built import edits
from ..built import marks


def test_micro_is_over_records_and_macro_over_groups() -> None:
    file = edits("alpha", [0.25, 0.75, 0.75, None], modalities=["MRI", "CT", "CT", "CT"])
    document = built(file, by="modality")
    assert [(line.kind, line.group) for line in document.tables[0].lines] == [
        ("group", "CT"),
        ("group", "MRI"),
        ("micro", ""),
        ("macro", ""),
    ]
    assert cell(document, "alpha", "ssim", kind="group", group="CT").mean == 0.75
    assert (cell(document, "alpha", "ssim", kind="group", group="CT").scored, 3) == (2, 3)
    assert cell(document, "alpha", "ssim", kind="micro").mean == pytest.approx(1.75 / 3)
    assert cell(document, "alpha", "ssim", kind="macro").mean == 0.5


def test_macro_says_where_a_group_has_no_mean() -> None:
    file = edits("alpha", [0.25, None, None], modalities=["MRI", "CT", "CT"])
    document = built(file, by="modality")
    assert cell(document, "alpha", "ssim", kind="macro").groups == "1/2 groups"
    assert "1/2 groups" in as_text(document)


def test_each_group_has_its_own_best() -> None:
    document = built(
        edits("alpha", [0.9, 0.1], tasks=["x", "y"]), edits("beta", [0.1, 0.8], tasks=["x", "y"]), by="task"
    )
    assert marks(document, "ssim", kind="group", group="x") == {"alpha": "best", "beta": "second"}
    assert marks(document, "ssim", kind="group", group="y") == {"beta": "best", "alpha": "second"}
    assert marks(document, "ssim", kind="micro") == {"alpha": "best", "beta": "second"}
    assert marks(document, "ssim", kind="macro") == {"alpha": "best", "beta": "second"}


def test_by_subtask_in_text() -> None:
    document = built(edits("alpha", [0.5, 0.75], subtasks=["denoise", None]), by="subtask")
    lines = [line.rstrip() for line in as_text(document).split("\n")]
    assert lines[2:13] == [
        " system    SSIM ↑",
        " ────────────────",
        " (none)",
        "   alpha    75.00",
        "",
        " denoise",
        "   alpha    50.00",
        "",
        " micro",
        "   alpha    62.50",
        "",
    ]


def test_records_in_another_order_are_the_same_records() -> None:
    forth = edits("alpha", [0.9, None], ids=["a", "b"])
    back = edits("beta", [0.2, 0.1], ids=["b", "a"])
    document = built(forth, back)
    assert len(document.tables) == 1
    assert cell(document, "beta", "ssim").common == 0.1
