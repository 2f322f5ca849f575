"""`medgen-bench score`: predictions to journalled rows to result files, on one process or several.

Also `python -m medgen_scripts.score …`, for `accelerate launch -m` and torchrun.
"""

import os
import sys
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from medgen_metrics.failures import REASONS
from medgen_metrics.rows import Row
from medgen_metrics.scorer import by_reason
from medgen_metrics.signature import digest

from .errors import Failure
from .errors import UsageError
from .launcher import heed_sigterm
from .launcher import is_launched
from .lock import hold
from .remote_file import RemoteFile
from .remote_path import RemotePath
from .result_file import Predictions as PredictionsResult
from .running.manifest import read_header
from .scoring import journal
from .scoring import launch
from .scoring import results
from .scoring import supervise
from .scoring import tiers
from .scoring.drive import score_tasks
from .scoring.jobs import given
from .scoring.jobs import jobs
from .scoring.judge_options import left
from .scoring.judging import SENTINEL
from .scoring.judging import JudgeWork
from .scoring.judging import judge_failures
from .scoring.judging import look_for_drift
from .scoring.judging import usage_told
from .scoring.options import ScoreOptions
from .scoring.task import Task
from .scoring.task import exchange_digests
from .scoring.task import read_tasks
from .terminal import say

if TYPE_CHECKING:
    from filelock import BaseFileLock


# What a run itself tells; `weights_missing` is told before it, and texts that don't parse are the metrics' own finding.
_INTAKE = frozenset(REASONS) - {"weights_missing", "unparsable", "empty"}


def score(
    paths: Sequence[str | Path], options: ScoreOptions, *, config: str | None = None, system: str | None = None
) -> list[Path]:
    """Score predictions and write one result file a system.

    Args:
        paths: folders `out/predictions/<system>`, JSONL or Parquet files, or any of these on the Hub (`scoring.jobs`).
        options: see `ScoreOptions`.
        config: where a file's name doesn't say it; of folders, only this one.
        system: where the path doesn't say it.

    Returns:
        The result files written; empty on processes that are not the main one.

    Raises:
        UsageError: bad input, all of it in one message where it is rows.
        Failure: the scores can't be written.
    """
    names = tiers.chosen(options.tiers)
    todo = jobs(paths, config, system, offline=options.offline, download=options.download)
    spawn = (options.processes or 1) > 1 and not is_launched()
    # Several processes: input is checked here first, so that a fault is told once and not by every process.
    here = launch.ranks(None if spawn else options.expect_processes or options.processes, options.device)
    selection = (options.limit, options.seed)
    tasks = read_tasks(todo, options.edition, options.data_dir, *selection, options.image_roots, options.subset)
    for notice in (*options.unused(), *(said for task in tasks for said in task.notices)) if here.is_main else ():
        say(notice)
    locks = [
        hold(options.out / "scores" / task.job.system, task.job.config, f"scoring {task.job.config}")
        for task in tasks
        if here.is_main
    ]
    try:
        _check_device(options.device)
        if here.is_main:
            results.make_folder(options.out / "results")
        if spawn:
            _release(locks)
            # options that a tier refuses are told once, too
            checked = build_tiers(tasks, names, options, options.device, options.processes or 1)
            _prepare(checked, None)
            if isinstance(judge := checked.get("judge"), JudgeWork):
                options = replace(options, judge=left(options.judge, judge.scorer, options.processes or 1))
            _fetch_weights(names, options)
            supervise.relaunch(options.processes or 1, _arguments(given(todo), options, config, system))
        return _score(tasks, names, options, here)
    finally:
        here.leave()
        _release(locks)


def _check_device(device: str | None) -> None:
    if device is None:
        return
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:  # AssertionError: torch was built without that kind
        got = str(error).partition("\n")[0]
        raise UsageError(f"--device: expected a torch device of this machine, got {device!r}: {got}") from error


def _release(locks: Sequence["BaseFileLock"]) -> None:
    for lock in locks:
        lock.release()


def _score(tasks: Sequence[Task], names: Sequence[str], options: ScoreOptions, here: launch.Ranks) -> list[Path]:
    built = build_tiers(tasks, names, options, here.device, here.size)
    _prepare(built, _sentinel(options) if here.is_main else None)
    for name, tier in built.items():
        for why, metrics in by_reason(tier.scorer.unavailable).items() if here.is_main else ():
            say(f"{name}: {', '.join(metrics)} {'are' if metrics[1:] else 'is'} left unscored: {why}")
    try:
        score_tasks(tasks, built, options.out, here)
        gone = exchange_digests(tasks, here)
        if gone:
            missing = score_tasks(tasks, built, options.out, here.alone())
            rest = f"{missing} scores that were missing are computed" if missing else "it left nothing to score"
            say(f"process {', '.join(map(str, gone))} ended early; {rest}")
    finally:
        _tell_usage(built)
    if not here.is_main:
        return []
    return _aggregate(tasks, built, options)


def _prepare(built: Mapping[str, tiers.Tier], sentinel: Path | None) -> None:
    """Ask the judge's server how it wants to be asked, before hours are spent on other tiers; look for drift."""
    for tier in built.values():
        if isinstance(tier, JudgeWork):
            with judge_failures():
                _ = tier.scorer.definition
                tier.drift = look_for_drift(sentinel, tier.scorer)
            for said in tier.drift or ([f"{sentinel}: no drift found"] if sentinel is not None else []):
                say(f"judge: {said}")


def _sentinel(options: ScoreOptions) -> Path | None:
    """The file that tells drift: the one named, else the one that `judge-check --save` leaves with the scores."""
    found = options.judge.sentinel or options.out / SENTINEL
    return found if options.judge.sentinel is not None or found.is_file() else None


def _tell_usage(built: Mapping[str, tiers.Tier]) -> None:
    for tier in built.values():
        if isinstance(tier, JudgeWork) and (said := usage_told(tier.scorer)) is not None:
            say(said)


def build_tiers(
    tasks: Sequence[Task],
    names: Sequence[str],
    options: ScoreOptions,
    device: str | None,
    processes: int = 1,
    dry_run: bool = False,
) -> dict[str, tiers.Tier]:
    """The tiers named that any task has use for; each is made once and serves them all."""
    chosen = tiers.TierOptions(options, device=device, processes=processes, dry_run=dry_run)
    used = {name for task in tasks for name in tiers.CONFIG_TIERS[task.job.config]}
    return {name: tiers.build(name, chosen) for name in names if name in used}


def _aggregate(tasks: Sequence[Task], built: Mapping[str, tiers.Tier], options: ScoreOptions) -> list[Path]:
    by_system: dict[str, dict[str, results.ConfigResult]] = {}
    for task in tasks:
        lines = journal.read(options.out / "scores" / task.job.system, task.job.config, notice=journal.unsaid)
        rows: dict[str, tuple[tiers.Tier, list[Row]]] = {}
        for name in (name for name in built if name in tiers.CONFIG_TIERS[task.job.config]):
            definition = digest(built[name].scorer.definition)
            keys = [task.key(name, definition, position) for position in task.selection.positions]
            lost = sum(key not in lines for key in keys)
            if lost:
                raise Failure(
                    f"{task.job.place}: {lost} of {len(keys)} records have no {name} score: predictions changed "
                    f"while they were scored, or a process died. Run the same command again to continue."
                )
            rows[name] = (built[name], [lines[key].row for key in keys])
            _tell_failures(task, name, rows[name][1])
        if not rows:
            say(f"{task.job.place}: none of the chosen tiers applies to config {task.job.config}; nothing is scored")
            continue
        content = [
            [task.content(name, position)[0] for name in tiers.CONTENT_TIERS[task.job.config]]
            for position in task.selection.positions
        ]
        predictions = PredictionsResult.model_validate(
            {
                "path": task.job.place,
                **_revision(task),
                "digest": digest(content),
                "layout": task.predictions.layout,
                "join": dict(task.predictions.join),
                "superseded": task.predictions.superseded,
                "outside": task.predictions.outside,
                **_about_system(task),
            }
        )
        by_system.setdefault(task.job.system, {})[task.job.config] = results.config_result(
            task.job.system, task.records, task.selection, predictions, rows
        )
    written = []
    for system, configs in by_system.items():
        suffix = "" if options.protocol == "paper" else f".{options.protocol}"
        path = options.out / "results" / f"{system}{suffix}.json"
        for notice in results.merge(path, system, options.edition, options.protocol, configs):
            say(notice)
        written.append(path)
    return written


def _revision(task: Task) -> dict[str, str | None]:
    """Which state of predictions elsewhere was scored: the Hub's commit, or the server's tag and the size."""
    if task.job.origin is not None:
        return {"revision": task.job.origin.revision}
    file = task.job.path.file if isinstance(task.job.path, RemotePath) else None
    return {"revision": file.identity} if isinstance(file, RemoteFile) else {}


def _about_system(task: Task) -> dict[str, Any]:
    """Track and components of a system that `run` ran, as the manifest beside its predictions says."""
    folder = task.job.path.parent
    told = read_header(folder, task.job.config) if task.job.origin is None and isinstance(folder, Path) else None
    wanted = ("track", "components", "verified", "blind")
    return {} if told is None else {"system": {name: told[name] for name in wanted if told.get(name)}}


def _tell_failures(task: Task, tier: str, rows: Sequence[Row]) -> None:
    """Say how many records could not be taken in, by reason, each with its first record."""
    found: dict[str, list[str]] = {}
    for position, row in zip(task.selection.positions, rows, strict=True):
        for reason in sorted(_INTAKE & set(row.reasons.values())):
            found.setdefault(reason, []).append(task.records.ids[position])
    if found:
        counts = ", ".join(f"{reason} {len(ids)} (first {ids[0]})" for reason, ids in sorted(found.items()))
        say(f"{task.job.system} {task.job.config}: of {len(rows)} records {tier} leaves unscored: {counts}")


def _fetch_weights(names: Sequence[str], options: ScoreOptions) -> None:
    # Once, before there are several processes that would all download the same file.
    from medgen_metrics import weights

    wanted = []
    if "pixel" in names and options.lpips_weights is None:
        wanted.append(f"lpips-{options.lpips_net}")
    if "text" in names and options.text_model is None:
        wanted.append("pubmedbert")
    if "embedding" in names and options.embedding_model is None and options.embedding_weights is None:
        wanted.append("medimageinsight")
    for name in wanted:
        try:
            weights.obtain(name, offline=options.offline or None)
        except weights.WeightsUnavailable:  # noqa: PERF203 - the processes find out for themselves, and say so
            os.environ["MEDGEN_OFFLINE"] = "1"


def _arguments(paths: Sequence[str], options: ScoreOptions, config: str | None, system: str | None) -> list[str]:
    """The command line that means these options."""
    arguments: list[str] = []
    named = {name: getattr(options, name) for name in options.__dataclass_fields__}
    named |= {
        **named.pop("judge").arguments(),
        "config": config,
        "system": system,
        "tiers": ",".join(options.tiers),
        "text_extras": ",".join(options.text_extras) or None,
        "image_root": named.pop("image_roots"),
    }
    for name, value in named.items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            arguments += [flag] if value else []
        elif isinstance(value, tuple):
            arguments += [part for item in value for part in (flag, str(item))]
        elif value is not None:
            arguments += [flag, str(value)]
    # Behind the marker a name may begin with a dash.
    return [*arguments, "--", *paths]


if __name__ == "__main__":
    from .cli import main

    heed_sigterm()
    main(["score", *sys.argv[1:]])
