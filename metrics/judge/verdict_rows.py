"""How the verdicts on a sample become its row."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from ..failures import is_refusal
from ..rows import Row
from ..rows import mean
from ..serving.usage import Usage
from . import specs as judge_specs
from .backend import Found
from .intake import failure
from .prompt import JudgeSample
from .rubric import Rubric

REVISION = 2  # raised when a change moves or adds any value


@dataclass(frozen=True, slots=True)
class VerdictRows:
    """Makes rows.

    Attributes:
        rubric: what was asked.
        protocol: `paper` or `standard`, which adds the mean of the dimensions.
        views: as of `tier.JudgeTier`.
        samples: verdicts drawn a record and view.
        judges: their names.
    """

    rubric: Rubric
    protocol: str
    views: tuple[str, ...]
    samples: int
    judges: tuple[str, ...]

    def row(self, sample: JudgeSample, found: Sequence[Found]) -> Row:
        """What came of a sample, as a row; `found` is of all views, judges and numbers."""
        reason = failure(sample)
        flags = ["refused"] if sample.response is not None and is_refusal(sample.response) else []
        if sample.saw_sheet is not None and len(sample.inputs) > 1:
            flags.append("system_saw_sheet" if sample.saw_sheet else "system_saw_images")
        if reason is not None:
            return Row(reasons=dict.fromkeys(self.asked(sample), reason), flags=tuple(flags))
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for view in self.views:
            of_view = [item for item in found if item.view == view]
            # of the two views one may show a picture that can't be read, and the other not
            unshown = next((item.reason for item in of_view if item.reason), None)
            if unshown is not None:
                reasons.update(dict.fromkeys(self.asked(sample, [view]), unshown))
                continue
            self._add(view, sample, of_view, values, reasons)
            used = sum((item.usage for item in of_view), Usage())
            for count in judge_specs.COUNTS:
                values[judge_specs.dimension(count, view)] = float(getattr(used, count))
            if used.cost is not None:
                values[judge_specs.dimension(judge_specs.COST, view)] = used.cost
            flags += [f"repaired_{view}"] if any(item.repaired for item in of_view) else []
            # a judge's mean over fewer verdicts than were drawn is a score all the same, and counted
            short = any(item.verdict is None for item in of_view)
            flags += [f"fewer_verdicts_{view}"] if short and judge_specs.holistic(view) in values else []
        return Row(values, reasons, tuple(flags))

    def asked(self, sample: JudgeSample, views: Sequence[str] | None = None) -> list[str]:
        """The metrics of these views, default all, that apply to a sample."""
        names = [dimension.key for dimension in self.rubric.dimensions(sample.config, sample.task)]
        found = []
        for view in self.views if views is None else views:
            found += [judge_specs.holistic(view), *(judge_specs.dimension(name, view) for name in names)]
            found += [judge_specs.dimension("dimensions", view)] if self.protocol == "standard" else []
        return found

    def _add(
        self, view: str, sample: JudgeSample, found: Sequence[Found], values: dict[str, float], reasons: dict[str, str]
    ) -> None:
        """Mean over the judges of the means over their verdicts; a judge without any leaves the view unscored."""
        names = [dimension.key for dimension in self.rubric.dimensions(sample.config, sample.task)]
        by_judge = {
            judge: [item.verdict for item in found if item.judge == judge and item.verdict is not None]
            for judge in self.judges
        }
        metric = judge_specs.holistic(view)
        if not all(by_judge.values()):
            reasons.update(dict.fromkeys(self.asked(sample, [view]), "judge_failed"))
            return
        overall = {name: _mean([verdict.overall for verdict in given]) for name, given in by_judge.items()}
        values[metric] = _mean(list(overall.values()))
        if len(self.judges) > 1:
            values.update({judge_specs.of_judge(metric, name): score for name, score in overall.items()})
        if self.samples > 1:
            spreads = [statistics.stdev([v.overall for v in given]) for given in by_judge.values() if len(given) > 1]
            if spreads:
                values[f"{metric}_sd"] = _mean(spreads)
        scores = {
            name: _mean([_mean([verdict.scores[name] for verdict in given]) for given in by_judge.values()])
            for name in names
        }
        values.update({judge_specs.dimension(name, view): score for name, score in scores.items()})
        if self.protocol == "standard":
            values[judge_specs.dimension("dimensions", view)] = _mean(list(scores.values()))


def _mean(values: Sequence[float]) -> float:
    found = mean(values)
    assert found is not None
    return found
