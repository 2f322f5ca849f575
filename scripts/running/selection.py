"""Which records a run is over."""

import difflib
from collections.abc import Collection
from collections.abc import Sequence
from dataclasses import replace

from medgen_metrics.signature import digest

from ..errors import UsageError
from ..jsonl import SHOWN
from ..records import Records
from ..subset import Subset
from ..subset import choose
from .options import RunOptions


def selected(records: Records, options: RunOptions) -> Subset:
    """The records that the options mean, a shard's share of them apart (`share`).

    Filters come before `limit`; a fixed subset is filtered.

    Raises:
        UsageError: names that no record of the config has; all are named.
    """
    tasks, modalities = records.column("task"), records.column("modality")
    faults = [
        *_unknown("--tasks", options.tasks, set(tasks)),
        *_unknown("--modalities", options.modalities, set(modalities)),
        *_unknown("--ids", options.ids, records.index),
    ]
    if faults:
        raise UsageError("\n".join([f"config {records.config}, edition {records.edition}:", *faults]))
    wanted = set(options.ids)
    kept = [
        position
        for position, record_id in enumerate(records.ids)
        if (not options.tasks or tasks[position] in options.tasks)
        and (not options.modalities or modalities[position] in options.modalities)
        and (not wanted or record_id in wanted)
    ]
    if not kept:
        raise UsageError("--tasks, --modalities and --ids: no record meets them all")
    # a fixed subset doesn't change with the filters
    among: Sequence[int] = range(len(records)) if options.subset else kept
    chosen = choose(
        records.config,
        [records.ids[position] for position in among],
        [tasks[position] for position in among],
        [modalities[position] for position in among],
        limit=options.limit,
        seed=options.seed,
        name=options.subset,
    )
    allowed = set(kept)
    positions = tuple(among[place] for place in chosen.positions if among[place] in allowed)
    return replace(chosen, positions=positions, digest=digest(sorted(records.ids[position] for position in positions)))


def share(positions: Sequence[int], options: RunOptions) -> Sequence[int]:
    """A shard's share of them."""
    shard = options.shard
    return positions if shard is None else positions[shard.number - 1 :: shard.count]


def _unknown(option: str, given: Sequence[str], known: Collection[str]) -> list[str]:
    said = []
    for name in dict.fromkeys(given):
        if name not in known:
            near = difflib.get_close_matches(name, known, 3) or (sorted(known) if len(known) < SHOWN else [])
            said.append(f"{option}: unknown {name!r}" + (f"; near: {', '.join(near)}" if near else ""))
    return said if len(said) <= SHOWN else [*said[:SHOWN], f"{option}: … and {len(said) - SHOWN} more"]
