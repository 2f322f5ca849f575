"""`medgen-bench plan`: what `score` with the same options will do, and about how long it will take. Writes nothing."""

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from medgen_metrics.scorer import by_reason
from medgen_metrics.serving.usage import Usage
from medgen_metrics.signature import digest
from medgen_metrics.weights import UNTRIED
from medgen_metrics.weights import is_offline

from . import score as scoring_verb
from .scoring import journal
from .scoring import tiers
from .scoring.drive import is_open
from .scoring.jobs import jobs
from .scoring.judging import JudgeWork
from .scoring.judging import judge_sample
from .scoring.options import ScoreOptions
from .scoring.task import Task
from .scoring.task import read_tasks

JUDGED = 32  # records whose prompts are made to estimate what a judge would be sent
PROBE = 8  # records; after as many that are not timed, in which models load and caches fill


def plan(
    paths: Sequence[str | Path], options: ScoreOptions, *, config: str | None = None, system: str | None = None
) -> list[Path]:
    """Print a row a system, config and tier: records, done, to score, estimated time on one process; then weights.

    Args:
        paths: as `score`.
        options: as `score`; nothing is downloaded but predictions on the Hub.
        config: as `score`.
        system: as `score`.

    Returns:
        No file: it writes none.

    Raises:
        UsageError: the bad input that `score` would refuse.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    names = tiers.chosen(options.tiers)
    todo = jobs(paths, config, system, offline=options.offline, download=options.download)
    selection = (options.limit, options.seed)
    tasks = read_tasks(todo, options.edition, options.data_dir, *selection, options.image_roots, options.subset)
    built = scoring_verb.build_tiers(tasks, names, replace(options, offline=True), options.device, dry_run=True)
    table = Table("system", "config", "tier", box=None, pad_edge=False)
    for heading in ("records", "done", "to score", "time"):
        table.add_column(heading, justify="right")
    total = 0.0
    asked = Usage()
    seconds: dict[str, float] = {}
    for task in tasks:
        for notice in task.notices:
            print(notice)
        lines = journal.read(options.out / "scores" / task.job.system, task.job.config, notice=print)
        done = {key for key, line in lines.items() if not is_open(line.row)}
        for name in (name for name in built if name in tiers.CONFIG_TIERS[task.job.config]):
            positions = task.selection.positions
            definition = digest(built[name].scorer.definition)
            left = [place for place in positions if task.key(name, definition, place) not in done]
            if isinstance(tier := built[name], JudgeWork):
                counts = (str(len(positions)), str(len(positions) - len(left)), str(len(left)))
                table.add_row(escape(task.job.system), task.job.config, name, *counts, "-")
                asked = asked + _requests(task, tier, left)
                continue
            if left and name not in seconds:
                seconds[name] = _seconds_a_record(task, built[name], left)
            needed = len(left) * seconds.get(name, 0.0)
            total += needed
            counts = (str(len(positions)), str(len(positions) - len(left)), str(len(left)))
            table.add_row(escape(task.job.system), task.job.config, name, *counts, _duration(needed))
    Console().print(table)
    processes = options.processes or 1
    if set(built) != {"judge"}:
        print(f"\nAbout {_duration(total / processes)} on {processes} process{'es' * (processes > 1)}, start-up apart.")
    if "judge" in built:
        cost = "" if asked.cost is None else f", ${asked.cost:,.2f} at most"
        print(
            f"judge: about {asked.requests:,} requests with {asked.images:,} images, {asked.bytes / 1e6:,.1f} MB, "
            f"{asked.prompt_tokens:,} prompt tokens and at most {asked.completion_tokens:,} completion tokens{cost} "
            f"(estimated from up to {JUDGED} records a config; replies that the cache holds are not asked for, "
            f"and a server that is new is asked once or twice how it wants to be asked)"
        )
    stays = options.offline or is_offline()
    outlook = "would be left unscored" if stays else "would be downloaded first, or left unscored"
    for name, tier in built.items():
        for why, metrics in by_reason(tier.scorer.unavailable).items():
            if UNTRIED in why:
                for metric in metrics:
                    print(f"{name}: the weights of {metric} are not here and {outlook} (`medgen-bench weights list`)")
            else:  # a package, which no download of weights brings
                print(f"{name}: {', '.join(metrics)} would be left unscored: {why}")
    return []


def _requests(task: Task, tier: JudgeWork, positions: Sequence[int]) -> Usage:
    """What judging records would take, from records spread over them."""
    step = max(1, len(positions) // JUDGED)
    probed = positions[::step][:JUDGED]
    found = tier.scorer.estimate([judge_sample(*task.sample(position)) for position in probed])
    share = len(positions) / max(1, len(probed))
    counts = {name: round(value * share) for name, value in found.as_dict().items() if name != "cost"}
    return Usage(**counts, cost=None if found.cost is None else found.cost * share)


def _seconds_a_record(task: Task, tier: tiers.Tier, positions: Sequence[int]) -> float:
    """Seconds to score a record, from a probe of records spread over those that are left."""
    step = max(1, len(positions) // PROBE)
    samples = [task.sample(position) for position in positions[::step][:PROBE]]
    tier.score(samples)
    start = time.perf_counter()
    tier.score(samples)
    return (time.perf_counter() - start) / len(samples)


def _duration(seconds: float) -> str:
    """Hours, minutes and seconds; what takes any time takes a second at least."""
    return str(timedelta(seconds=math.ceil(seconds)))
