"""Judges with known behaviour, in the tier's place."""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from random import Random
from typing import Any

from medgen_metrics.judge.prompt import JudgeSample
from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import rubric
from medgen_metrics.judge.specs import dimension
from medgen_metrics.judge.specs import holistic
from medgen_metrics.rows import Row

Judging = Callable[[JudgeSample, str], float | None]


class FakeTier:
    """Scores by a function of sample and view; all dimensions as the overall score. None is no usable verdict."""

    unavailable: Mapping[str, str] = {}
    signature = "medgen_judge|judge:fake"

    def __init__(self, judging: Judging, views: Sequence[str] = VIEWS, model: str = "fake") -> None:
        self.judging = judging
        self.views = tuple(views)
        self.rubric = rubric("v2", "paper", None)
        self.model = model
        self.asked: list[str] = []
        self.fingerprints: dict[str, frozenset[str]] = {model: frozenset({"one"})}

    @property
    def definition(self) -> dict[str, Any]:
        return {"judges": [{"model": self.model}], "views": list(self.views), "temperature": 0.0}

    def stream(self, samples: Iterable[tuple[Any, JudgeSample]], on_row: Callable[[Any, Row], None]) -> None:
        for tag, sample in samples:
            on_row(tag, self._row(sample))

    def fresh(self, samples: Sequence[JudgeSample]) -> list[Row]:
        return [self._row(sample) for sample in samples]

    def _row(self, sample: JudgeSample) -> Row:
        self.asked.append(sample.id)
        values: dict[str, float] = {}
        reasons: dict[str, str] = {}
        for view in self.views:
            score = self.judging(sample, view)
            for metric in (holistic(view), *(dimension(name, view) for name in self.rubric.names)):
                if score is None:
                    reasons[metric] = "judge_failed"
                else:
                    values[metric] = score
        return Row(values, reasons)


def perfect(sample: JudgeSample, view: str) -> float:
    """5 for the reference, 1 for all else."""
    return 5.0 if (sample.output_image, sample.response) == (sample.reference_image, sample.answer) else 1.0


def coin(seed: int = 0) -> Judging:
    """A score drawn for each output, whatever it holds."""
    return lambda sample, view: float(Random(f"{seed} {sample.id} {view}").randint(1, 5))


def by_length(sample: JudgeSample, view: str) -> float:
    """Longer answers are better; images don't matter."""
    return min(5.0, 1.0 + len(sample.response or "") / 100)


def constant(sample: JudgeSample, view: str) -> float:
    """3 for everything."""
    return 3.0


def noisy(judging: Judging, seed: int, spread: float = 0.5) -> Judging:
    """Each call its own noise."""
    random = Random(seed)

    def judge(sample: JudgeSample, view: str) -> float | None:
        score = judging(sample, view)
        return None if score is None else score + random.uniform(-spread, spread)

    return judge
