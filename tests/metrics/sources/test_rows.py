"""Rows of both JSONL layouts, whatever they hold: a row in the release's columns, or a ValueError."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import given
from hypothesis import settings
from hypothesis import strategies as st

from medgen_metrics.sources import folder
from medgen_metrics.sources import prepared

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=4)
    | st.just("\ud800")
    | st.sampled_from(["a.png", "source/a.png", "/x", ".."]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["sample_id", "FINDINGS"]), inner),
    max_leaves=4,
)
NAMES = (
    "instruction paper_task paper_format paper_subtask modality answer choice source metadata sample_id eval_adapter"
)
ROWS = st.dictionaries(
    st.sampled_from([*NAMES.split(), "input_image", "input_images", "ground_truth_image", "sub-category"]), VALUES
)


@pytest.mark.parametrize("layout", [folder, prepared])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300)
@given(row=ROWS)
def test_any_row_is_read_or_refused(layout: Any, row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "VQA" / "blank-filling" / "data.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "a.png").write_bytes(b"picture")
    good = {"instruction": "Fill in.", "sample_id": "s", "input_image": "a.png"}
    assert layout.read_row(path, 3, good)["input_images"] == [{"bytes": b"picture", "path": None}]
    try:
        read = layout.read_row(path, 3, good | row)
    except ValueError as error:
        assert str(error)  # noqa: PT017
    else:
        assert isinstance(read["answer"], str | None)
        assert all(image["bytes"] == b"picture" for image in read["input_images"] + read["output_images"])
        for text in (read["instruction"], read["answer"], read["source"], read["release_id"], *(read["choices"] or ())):
            (text or "").encode()
