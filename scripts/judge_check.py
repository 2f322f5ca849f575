"""`medgen-bench judge-check`: does a judge order rightly what nobody should misorder, and is it swayed?"""

import json
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from datetime import timezone
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from .atomic import write_text
from .errors import Failure
from .errors import UsageError
from .judge_examine import Check
from .judge_examine import examine
from .records import load_records
from .scoring.judge_options import JudgeOptions
from .scoring.judge_options import build
from .scoring.judging import SENTINEL
from .scoring.judging import judge_failures
from .scoring.judging import judge_sample
from .scoring.judging import look_for_drift
from .scoring.judging import usage_told
from .scoring.results import make_folder
from .subset import choose
from .terminal import say

if TYPE_CHECKING:
    from medgen_metrics.judge.probes import Original
    from medgen_metrics.judge.probes import Probe
    from medgen_metrics.judge.prompt import JudgeSample
    from medgen_metrics.judge.tier import JudgeTier
    from medgen_metrics.rows import Row

CONFIGS = ("vqa", "edit", "gen")
LIMIT = 30
"""Records a config: some 270 pairs, a few minutes of a local server."""


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """What to check a judge on; the command line's options under their own names."""

    edition: str = "paper"
    data_dir: Path | None = None
    configs: tuple[str, ...] = CONFIGS
    limit: int = LIMIT
    seed: int = 0
    mark: float = 0.8
    injections: bool = True
    protocol: str = "paper"
    out: Path = Path("out")
    save: Path | None = None
    device: str | None = None
    offline: bool = False


def judge_check(judge: JudgeOptions, options: CheckOptions) -> Check:
    """Judge the probes, print what came of it, and keep them where that was asked for.

    Args:
        judge: as `score` takes it.
        options: see `CheckOptions`.

    Raises:
        UsageError: bad options, or records of which no probe can be made.
        Failure: the judge's weights are missing, its server can't be reached or refuses, the budget is spent, or a
            file can't be written.
    """
    from .judge_report import report

    if not 0 < options.mark < 1:
        raise UsageError(f"--mark: expected a share between 0 and 1, got {options.mark:g}")
    with build(
        judge,
        protocol=options.protocol,
        out=options.out,
        device=options.device,
        offline=options.offline or None,
    ) as tier:
        if tier.unavailable:
            raise Failure(next(iter(tier.unavailable.values())))
        originals = _originals(options)
        with judge_failures():
            if options.save is not None:
                make_folder(options.save.parent, "--save")  # told before anything is paid for
            if judge.sentinel is not None:
                told = look_for_drift(judge.sentinel, tier)
                for text in told or [f"{judge.sentinel}: the judge gives the scores that it gave"]:
                    say(f"judge: {text}")
            check, rows, pairs = examine(originals, tier, options.seed, options.mark, options.injections)
            print(report(check))
            if options.save is not None:
                _save(options.save, tier, options, pairs, rows, check)
            if (said := usage_told(tier)) is not None:
                say(said)
    return check


def _originals(options: CheckOptions) -> list["Original"]:
    from medgen_metrics.judge.probes import Original

    found = []
    for config in options.configs:
        records = load_records(config, options.edition, options.data_dir)
        selection = choose(
            config,
            records.ids,
            records.column("task"),
            records.column("modality"),
            limit=options.limit,
            seed=options.seed,
        )
        for position in selection.positions:
            record = records[position]
            found.append(Original(judge_sample(record, None), record.group, record.modality))
    return found


def _save(
    path: Path,
    tier: "JudgeTier",
    options: CheckOptions,
    pairs: Sequence["Probe"],
    rows: Mapping[str, "Row"],
    check: Check,
) -> None:
    """Keep the probes' verdicts, and samples to judge again with their repeats (`medgen_metrics.judge.drift`)."""
    from medgen_metrics import __version__
    from medgen_metrics.judge import drift

    samples: dict[str, JudgeSample] = {}
    for pair in pairs:
        samples |= {pair.right.id: pair.right, pair.wrong.id: pair.wrong}
    listed = list(samples.values())
    middle = (tier.rubric.low + tier.rubric.high) / 2
    kept = [listed[place] for place in drift.choose(listed, [rows[sample.id] for sample in listed], tier.views, middle)]
    if not kept:
        raise Failure(f"--save {path}: no output has usable verdicts in every view, so that there is nothing to keep")
    say(f"{len(kept)} outputs are judged {drift.REPEATS} times more, past the cache, to know the noise")
    saved: dict[str, Any] = {
        **drift.keep(kept, tier, tier.rubric.names),
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "version": __version__,
        "edition": options.edition,
        "seed": options.seed,
        "mark": options.mark,
        "verdicts": {
            view: {"verdict": found.verdict.word, "why": found.verdict.why} for view, found in check.views.items()
        },
        "probes": [
            {
                "kind": pair.kind,
                "record": pair.record,
                "group": pair.group,
                "views": list(pair.views),
                "right": dict(rows[pair.right.id].values),
                "wrong": dict(rows[pair.wrong.id].values),
            }
            for pair in pairs
        ],
    }
    write_text(path, json.dumps(saved, ensure_ascii=False, indent=1) + "\n")
    unasked = path.name == SENTINEL and path.parent == options.out
    how = "later runs look for drift by it" if unasked else f"later runs look for drift with `score --sentinel {path}`"
    say(f"kept in {path}; {how}")
