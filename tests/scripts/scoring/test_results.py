from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from medgen_metrics.bootstrap import mean_interval
from medgen_metrics.pixel import PixelTier
from medgen_metrics.rows import Row
from medgen_scripts.result_file import Figures
from medgen_scripts.result_file import Predictions
from medgen_scripts.scoring.results import config_result
from medgen_scripts.subset import select

VALUES = [0.1, 0.2, 0.9, 0.8]
GROUPS = ["a", "a", "b", "c"]


@dataclass
class Records:
    """As many records as there are values."""

    edition: str

    def __len__(self) -> int:
        return len(VALUES)

    def column(self, name: str) -> Sequence[Any]:
        ids = [f"style-transfer-{number:012x}" for number in range(len(VALUES))]
        columns = {"id": ids, "task": ["style-transfer"] * 4, "subtask": [None] * 4, "modality": ["CT"] * 4}
        return {**columns, "group": GROUPS}[name]


class Work:
    """The pixel tier with SSIM alone."""

    def __init__(self) -> None:
        self.scorer = PixelTier(metrics=["ssim"])
        self.options = {"protocol": "paper", "metrics": ["ssim"], "lpips_net": "alex"}


def figures(edition: str) -> Figures:
    records = Records(edition)
    selection = select(*(records.column(name) for name in ("id", "task", "modality")))
    predictions = Predictions(path="p.jsonl", digest="ff", layout="medgen-bench")
    rows = [Row({"ssim": value}) for value in VALUES]
    made = config_result("s", records, selection, predictions, {"pixel": (Work(), rows)})  # type: ignore[arg-type]
    return made.tiers["pixel"].metrics["ssim"]


@pytest.mark.parametrize("edition", ["paper", "release"])
def test_a_metric_has_an_interval_and_its_groups(edition: str) -> None:
    low, high, *_ = mean_interval(VALUES, GROUPS)
    found = figures(edition)
    assert found.interval == (low, high)
    assert (found.groups, found.largest_group) == (3, 2)


def test_the_sample_has_no_intervals() -> None:
    found = figures("sample")
    assert (found.interval, found.groups, found.largest_group) == (None, None, None)


def test_a_file_of_before_loads() -> None:
    assert Figures.model_validate({"mean": 0.5, "n": 1, "scored": 1, "coverage": 1.0}).interval is None
