"""`medgen-bench demo`: the main job on the embedded sample, end to end, with the built-in baselines."""

import sys
from pathlib import Path

from .run import run
from .score import score
from .scoring.options import ScoreOptions
from .table import table

SYSTEMS = ("reference", "classical", "copy-input", "shuffled", "blank")
CONFIGS = ("vqa", "edit", "gen")


def demo(*, out: Path = Path("out"), offline: bool = False) -> None:
    """Run the baselines on edition `sample`, score them in both tiers and print the table.

    Args:
        out: folder for predictions, scores and results; a second call continues there.
        offline: don't try to download weights.
    """
    for system in SYSTEMS:
        for config in CONFIGS:
            run(system, config, edition="sample", out=out)
    options = ScoreOptions(edition="sample", out=out, offline=offline)
    written = score([out / "predictions" / system for system in SYSTEMS], options)
    sys.stdout.flush()
    table(written)
