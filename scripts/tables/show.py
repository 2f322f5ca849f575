"""What a table is to show: the command's options."""

from dataclasses import dataclass

from ..errors import UsageError
from .passes import Marks

TRACK = "track"
GROUPINGS = ("task", "modality", "subtask", TRACK)


@dataclass(frozen=True, slots=True)
class Show:
    """The options of `medgen-bench table` that say what is in it.

    Attributes:
        by: None for a line a system, or one of `GROUPINGS`: a line a group of records, then micro and macro means; by
            track a line a system, those of one track together.
        illustrative: marks, and with `intervals` intervals, on the sample edition too.
        intervals: bootstrap intervals beside the means.
        marks: pass rates at these marks; None: means.
        anchors: where figures lie between the anchors.
        practical: bounds take unscored records to be as good as the floor's, where a result of that is there.
        diagnostics: columns of the edit's locality.

    Raises:
        UsageError: an unknown grouping; diagnostics of pass rates.
    """

    by: str | None = None
    illustrative: bool = False
    intervals: bool = False
    marks: Marks | None = None
    anchors: bool = False
    practical: bool = False
    diagnostics: bool = False

    def __post_init__(self) -> None:
        if self.by is not None and self.by not in GROUPINGS:
            raise UsageError(f"--by: expected one of {', '.join(GROUPINGS)}, got {self.by!r}")

        if self.diagnostics and self.marks is not None:
            raise UsageError("--diagnostics: expected with --as means, got --as pass-rates; print two tables")

    def judges(self, edition: str) -> bool:
        """Whether an edition's records carry ranks and intervals: the sample's are too few, and chosen."""
        return edition != "sample" or self.illustrative
