"""The tiers: what `score` asks of one, which configs each serves, and how it is made."""

from collections.abc import Callable
from collections.abc import Sequence
from typing import Any
from typing import Protocol

from medgen_metrics.rows import Row
from medgen_metrics.scorer import Scorer

from ..errors import UsageError
from ..prediction import Prediction
from . import judge_options
from .image_work import EmbeddingWork
from .image_work import PixelWork
from .image_work import image_digests
from .judging import JudgeWork
from .judging import judge_digests
from .text_work import TextWork
from .text_work import text_digests
from .work import Sample
from .work import TierOptions


class Tier(Protocol):
    """A tier as `score` drives it; `Work` has the rest of it, and what it means.

    Attributes:
        scorer: the metrics.
        options: keywords that rebuild the metric specs.
    """

    @property
    def scorer(self) -> Scorer: ...

    @property
    def options(self) -> dict[str, Any]: ...

    @property
    def batch(self) -> int: ...

    @property
    def budget(self) -> int | None: ...

    @property
    def is_by_record(self) -> bool: ...

    @property
    def is_batch_invariant(self) -> bool: ...

    @property
    def needs_images(self) -> bool: ...

    def cost(self, answer: str | None, prediction: Prediction | None) -> int:
        """What the batch plan sorts by."""
        ...

    def score(self, samples: Sequence[Sample]) -> list[Row]:
        """One row a sample."""
        ...

    def score_systems(self, systems: Sequence[Sequence[Sample]]) -> list[list[Row]]:
        """Each system's rows for the same records."""
        ...


def _judge(options: TierOptions) -> JudgeWork:
    return JudgeWork(
        judge_options.build(
            options.user.judge,
            protocol=options.user.protocol,
            out=options.user.out,
            device=options.device,
            offline=options.offline,
            processes=options.processes,
            dry_run=options.dry_run,
        ),
        has_budget=options.user.judge.max_requests is not None or options.user.judge.max_cost is not None,
    )


DIGESTS = {"pixel": image_digests, "text": text_digests, "embedding": image_digests, "judge": judge_digests}
TEXTS_ONLY = ("text",)
"""Tiers whose digests need no image."""
TIERS: dict[str, Callable[[TierOptions], Tier]] = {
    "pixel": PixelWork,
    "text": TextWork,
    "embedding": EmbeddingWork,
    "judge": _judge,
}
CONTENT_TIERS = {"vqa": ("text",), "edit": ("pixel",), "gen": ("pixel", "text")}
"""Config -> the tiers whose candidates are all that its predictions hold."""
CONFIG_TIERS = {
    config: (*names, *(["embedding"] if "pixel" in names else []), "judge") for config, names in CONTENT_TIERS.items()
}


def chosen(names: Sequence[str]) -> tuple[str, ...]:
    """The tiers named, in the order of `TIERS`.

    Raises:
        UsageError: a name that is no tier, or none at all.
    """
    unknown = [name for name in names if name not in TIERS]
    if unknown or not names:
        raise UsageError(f"--tiers: expected some of {', '.join(TIERS)}, got {', '.join(unknown) or 'none'}")
    return tuple(name for name in TIERS if name in names)


def build(name: str, options: TierOptions) -> Tier:
    """Make a tier; its models are loaded once for all systems and configs.

    Raises:
        UsageError: options that the tier does not take.
    """
    try:
        return TIERS[name](options)
    except (ValueError, FileNotFoundError, ImportError) as error:
        raise UsageError(f"tier {name}: {error}") from error
