"""The `--limit N` selection: seeded, stratified by task and modality, nested."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from itertools import groupby

from medgen_metrics.signature import digest

from .errors import UsageError


@dataclass(frozen=True, slots=True)
class Subset:
    """A selection of records.

    Attributes:
        positions: the selected records' positions, ascending.
        limit: what was asked for; None for all.
        seed: the selection's seed; it does not matter where `limit` is None.
        digest: of the selected ids, whatever their order: two results are over the same records iff it is equal.
        name: of a fixed subset, `lite`; None of a selection of one's own.
    """

    positions: tuple[int, ...]
    limit: int | None
    seed: int
    digest: str
    name: str | None = None

    def notice(self, config: str) -> str | None:
        """That it is no selection at all, where fewer records are there than were asked for; else None."""
        if self.limit is None or len(self.positions) >= self.limit:
            return None
        asked = f"--limit {self.limit:,}" if self.name is None else f"--subset {self.name} ({self.limit:,} records)"
        return f"{asked} takes all {len(self.positions):,} {config} records: this edition has no more"


LITE = {"vqa": 100, "edit": 200, "gen": 100}  # records a config
LITE_SEED = 2511
NAMED = ("lite",)


def choose(
    config: str,
    ids: Sequence[str],
    tasks: Sequence[str],
    modalities: Sequence[str],
    *,
    limit: int | None = None,
    seed: int = 0,
    name: str | None = None,
) -> Subset:
    """The records that `--limit` and `--seed`, or `--subset`, mean.

    `lite` is fixed by a rule, not by a list: `select` with a limit and a seed of its own a config, so that it is the
    same wherever the edition's ids are, and changes with neither the command's seed nor the records' order. An edition
    with fewer records is taken whole.

    Args:
        config: vqa, edit or gen.
        ids: as `select`.
        tasks: as `select`.
        modalities: as `select`.
        limit: as `select`.
        seed: as `select`.
        name: one of `NAMED`, or None.

    Raises:
        UsageError: an unknown name; a name and a limit; a limit below 1.
    """
    if name is None:
        return select(ids, tasks, modalities, limit, seed)
    if name not in NAMED:
        raise UsageError(f"--subset: expected one of {', '.join(NAMED)}, got {name!r}")
    if limit is not None:
        raise UsageError(f"--subset {name} is a fixed selection: expected no --limit beside it, got {limit}")
    return replace(select(ids, tasks, modalities, LITE[config], LITE_SEED), name=name)


def select(
    ids: Sequence[str], tasks: Sequence[str], modalities: Sequence[str], limit: int | None = None, seed: int = 0
) -> Subset:
    """Select `limit` records so that tasks, and modalities within a task, keep their shares.

    Two-level systematic sampling: records of a task are ordered so that each prefix holds its modalities in
    proportion, then tasks are interleaved the same way; the first `limit` of that one order are taken. So a smaller
    limit is always a subset of a larger one, a task's count keeps close to its proportional share, and nothing depends
    on the order of the arguments, only on ids and seed.

    Args:
        ids: unique record ids.
        tasks: each record's task.
        modalities: each record's modality.
        limit: how many; None or more than there are: all.
        seed: seed of the selection.

    Raises:
        UsageError: `limit` below 1.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"--limit expects a whole number of 1 or more, got {limit}")
    positions: Sequence[int] = range(len(ids))
    if limit is not None and limit < len(ids):
        order = sorted(positions, key=lambda i: (tasks[i], modalities[i], _draw(seed, "record", ids[i]), ids[i]))
        by_task: dict[str, list[list[int]]] = defaultdict(list)
        for (task, _), stratum in groupby(order, key=lambda i: (tasks[i], modalities[i])):
            by_task[task].append(list(stratum))
        whole = [
            _interleave(strata, seed, [modalities[s[0]] for s in strata], task) for task, strata in by_task.items()
        ]
        positions = sorted(_interleave(whole, seed, list(by_task), "")[:limit])
    return Subset(tuple(positions), limit, seed, digest(sorted(ids[i] for i in positions)))


def _interleave(strata: list[list[int]], seed: int, names: list[str], within: str) -> list[int]:
    """Merge ordered strata so that each prefix of the result holds each in proportion to its size.

    A stratum of n takes the places (k + u) / n, with one random offset u in [0, 1): every member is equally likely to
    be in a short prefix, which fixed offsets would deny to small strata.
    """
    placed = [
        ((k + _draw(seed, "stratum", within, name)) / len(stratum), name, k, position)
        for stratum, name in zip(strata, names, strict=True)
        for k, position in enumerate(stratum)
    ]
    return [position for *_, position in sorted(placed)]


def _draw(seed: int, *key: str) -> float:
    """A number in [0, 1) that depends on seed and key alone."""
    text = "\0".join([str(seed), *key])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:6], "big") / 2**48
