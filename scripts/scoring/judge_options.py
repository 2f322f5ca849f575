"""What the user chose about the judge; `score`, `plan` and `judge-check` take the same."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from ..errors import UsageError

if TYPE_CHECKING:
    from medgen_metrics.judge.tier import JudgeTier

URL_VARIABLE = "MEDGEN_JUDGE_URL"
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
    judge_max_tokens: int = 2048
    judge_concurrency: int = 16
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
        UsageError: options that don't go together, or no server named.
    """
    from medgen_metrics.judge.tier import DEFAULT_MODEL
    from medgen_metrics.judge.tier import JudgeTier

    urls = options.judge_url or tuple(filter(None, os.environ.get(URL_VARIABLE, "").split(",")))
    if options.judge_backend == "openai" and not urls and not options.jury:
        raise UsageError(
            f"tier judge: expected --judge-url URL (or ${URL_VARIABLE}) of an OpenAI-compatible server, or "
            f"--judge-backend transformers, got neither; `medgen-bench judge-serve --print` shows how to serve a judge"
        )
    try:
        return JudgeTier(
            protocol=protocol,
            model=options.judge_model or DEFAULT_MODEL,
            url=urls,
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
            max_tokens=options.judge_max_tokens,
            concurrency=max(1, options.judge_concurrency // processes),
            reply_format=options.judge_format,
            cache=options.judge_cache or out / "judge-cache",
            # each process has its share of what may be spent
            max_requests=None if options.max_requests is None else max(1, options.max_requests // processes),
            max_cost=None if options.max_cost is None else options.max_cost / processes,
            prices=options.prices,
            device=device,
            offline=offline,
            dry_run=dry_run,
        )
    except (ValueError, OSError) as error:
        raise UsageError(f"tier judge: {error}") from error
