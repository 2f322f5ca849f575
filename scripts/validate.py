"""`medgen-bench validate`: a data set or predictions, everything that is wrong with them in one run."""

import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import UsageError
from .predictions_parquet import holds_predictions
from .predictions_parquet import shards
from .records import check_names
from .records import load_records
from .scoring.jobs import CONFIGS
from .scoring.jobs import jobs
from .scoring.jobs import sources
from .validate_data import validate_data
from .validate_predictions import validate_predictions
from .validate_report import Report
from .validate_report import to_json


def validate(
    target: Path | None = None,
    *,
    edition: str = "paper",
    data_dir: Path | None = None,
    config: str | None = None,
    image_roots: Sequence[Path] = (),
    as_json: bool = False,
) -> list[Report]:
    """Look at a data set, or at predictions.

    Args:
        target: folder of a data set in any layout, a folder of predictions (`out/predictions/<system>`), one
            predictions file or predictions on the Hub (as `score`); None: the data set that `edition` and `data_dir`
            mean.
        edition: paper, release or sample.
        data_dir: folder of the data set that predictions are joined to.
        config: of a predictions file whose name doesn't say it.
        image_roots: folders that prediction images may lie in.
        as_json: print JSON.

    Returns:
        One report a file of predictions, or one for the data set.

    Raises:
        UsageError: errors were found (the report is printed before), or there is nothing that could be looked at.
    """
    check_names("vqa", edition)
    if target is not None and is_predictions(target):
        reports = [
            validate_predictions(job.path, load_records(job.config, edition, data_dir), image_roots, job.system)
            for job in jobs([target], config)
        ]
    else:
        if target is not None and data_dir is not None:
            raise UsageError(f"{target}: expected predictions beside --data-dir, got a data set; give one of both")
        reports = [validate_data(edition, data_dir if target is None else target)]
    print(to_json(reports) if as_json else "\n".join(line for report in reports for line in report.lines()))
    sys.stdout.flush()
    errors, warnings = sum(report.errors for report in reports), sum(report.warnings for report in reports)
    if errors:
        raise UsageError(f"{errors:,} errors, {warnings:,} warnings")
    print(f"medgen-bench: no errors, {warnings:,} warnings", file=sys.stderr)
    return reports


def is_predictions(target: Path) -> bool:
    """Whether a path means predictions: a file, one on the Hub, or a folder of JSONL or Parquet that is no data set."""
    from medgen_metrics.sources import prepared

    if not target.is_dir():
        return True
    files = [target / name for name in prepared.FILES if (target / name).is_file()]
    if files:
        return not any(prepared.is_data(path) for path in files)
    found = [place for name in CONFIGS for place in sources(target, name)] or [target]
    return any(holds_predictions(path) for place in found for path in (shards(place) if place.is_dir() else [place]))
