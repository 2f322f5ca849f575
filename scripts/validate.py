"""`medgen-bench validate`: a data set or predictions, everything that is wrong with them in one run."""

import sys
from collections.abc import Sequence
from pathlib import Path

from .errors import UsageError
from .predictions_parquet import holds_predictions
from .predictions_parquet import holds_records
from .predictions_parquet import is_parquet
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
    if target is not None and target.is_file() and is_parquet(target) and holds_records(target):
        raise UsageError(f"{target}: expected predictions or the folder of a data set, got a file of records")
    if target is not None and is_predictions(target, config):
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
        raise UsageError(f"{errors:,} error{'s' * (errors != 1)}, {warnings:,} warning{'s' * (warnings != 1)}")
    print(f"medgen-bench: no errors, {warnings:,} warning{'s' * (warnings != 1)}", file=sys.stderr)
    return reports


def is_predictions(target: Path, config: str | None = None) -> bool:
    """Whether a path means predictions: a file, one on the Hub, or a folder of JSONL or Parquet that is no data set.

    Args:
        target: the path.
        config: whose Parquet files are meant where their names and the folder's don't say it.
    """
    from medgen_metrics.sources import folder
    from medgen_metrics.sources import prepared

    if not target.is_dir():
        return True
    files = [target / name for name in prepared.FILES if (target / name).is_file()]
    if files:
        return not any(prepared.is_data(path) for path in files)
    named = [place for name in CONFIGS for place in sources(target, name)]
    parquet = [path for place in named or [target] for path in (shards(place) if place.is_dir() else [place])]
    if any(map(holds_predictions, parquet)):
        return True
    # Predictions with columns of other names: where predictions lie, and no data set in sight.
    is_place = bool(parquet) and (bool(named) or config is not None or target.name in CONFIGS)
    return is_place and not any(target.rglob(folder.FILE)) and not any(map(holds_records, target.rglob("*.parquet")))
