"""What the user chose about the judge; `score`, `plan` and `judge-check` take the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from medgen_metrics.judge import URL_VARIABLE

from ..errors import Failure
from ..errors import UsageError
from ..launcher import share

if TYPE_CHECKING:
    from medgen_metrics.judge.tier import JudgeTier

VIEWS = {
    "both": ("with_reference", "without_reference"),
    "with-reference": ("with_reference",),
    "without-reference": ("without_reference",),
}


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """The command line's options under their own names; see `medgen_metrics.judge.tier.JudgeTier`."""

    judge_url: tuple[str, ...] = ()
    judge_model: str | None = None
    judge_backend: str = "openai"
    jury: str | None = None
    rubric: str = "v2"
    judge_layout: str | None = None
    scale: int | None = None
    view: str = "both"
    samples: int = 1
    temperature: float | None = None
    judge_seed: int = 0
    judge_image_side: int = 1024
    judge_image_format: str = "png"
    judge_max_tokens: int = 2048
    judge_concurrency: int = 16
    judge_deadline: float = 600.0
    judge_revision: str | None = None
    judge_dtype: str | None = None
    judge_batch_size: int = 8
    judge_format: str | None = None
    judge_cache: Path | None = None
    max_requests: int | None = None
    max_cost: float | None = None
    prices: Path | None = None
    sentinel: Path | None = None

    def arguments(self) -> Mapping[str, Any]:
        """Option name -> value, for the command line of another process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def build(
    options: JudgeOptions,
    *,
    protocol: str,
    out: Path,
    device: str | None,
    offline: bool | None,
    processes: int = 1,
    dry_run: bool = False,
) -> "JudgeTier":
    """The tier that these options mean.

    Args:
        options: see `JudgeOptions`.
        protocol: `paper` or `standard`.
        out: folder whose `judge-cache` keeps the replies, unless `judge_cache` names another.
        device: of a judge in process.
        offline: whether a judge in process may be downloaded.
        processes: processes that share the concurrency and the budget.
        dry_run: no server is asked anything.

    Raises:
        UsageError: options that don't go together, no server named, or fewer requests than processes.
    """
    from medgen_metrics.judge.tier import DEFAULT_MODEL
    from medgen_metrics.judge.tier import JudgeTier

    max_requests, max_cost = share(options.max_requests, options.max_cost, processes)
    try:
        tier = JudgeTier(
            protocol=protocol,
            model=options.judge_model or DEFAULT_MODEL,
            url=options.judge_url,
            backend=options.judge_backend,
            jury=tuple(part.strip() for part in options.jury.split(",") if part.strip()) if options.jury else (),
            rubric=options.rubric,
            layout=options.judge_layout,
            scale=options.scale,
            views=VIEWS[options.view],
            samples=options.samples,
            temperature=options.temperature,
            seed=options.judge_seed,
            image_side=options.judge_image_side,
            image_format=options.judge_image_format,
            max_tokens=options.judge_max_tokens,
            concurrency=max(1, options.judge_concurrency // processes),
            reply_format=options.judge_format,
            cache=options.judge_cache or out / "judge-cache",
            max_requests=max_requests,
            max_cost=max_cost,
            prices=options.prices,
            deadline=options.judge_deadline,
            device=device,
            dtype=options.judge_dtype,
            revision=options.judge_revision,
            batch_size=options.judge_batch_size,
            offline=offline,
            dry_run=dry_run,
        )
    except (ValueError, OSError) as error:
        raise UsageError(f"tier judge: {error}") from error
    if any(judge.served and not judge.urls for judge in tier.judges):
        raise UsageError(
            f"tier judge: expected --judge-url URL (or ${URL_VARIABLE}) of an OpenAI-compatible server, or "
            f"--judge-backend transformers, got neither; `medgen-bench judge-serve --print` shows how to serve a judge"
        )
    return tier


def left(options: JudgeOptions, tier: "JudgeTier", processes: int) -> JudgeOptions:
    """The options with what may still be spent, for the processes that go on from here.

    Args:
        options: the user's.
        tier: what has spent so far.
        processes: how many go on.

    Raises:
        Failure: too little is left for them.
    """
    used = tier.usage
    requests = None if options.max_requests is None else options.max_requests - used.requests
    cost = None if options.max_cost is None else max(0.0, options.max_cost - (used.cost or 0.0))
    if requests is not None and requests < processes:
        raise Failure(
            f"judge: --max-requests {options.max_requests}: {used.requests} went into finding out how the server is "
            f"asked, which leaves fewer than one for each of {processes} processes; give more, or fewer --processes"
        )
    return replace(options, max_requests=requests, max_cost=cost)
