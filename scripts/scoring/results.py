"""From rows to `out/results/<system>.json`."""

import errno
import os
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from datetime import datetime
from datetime import timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from filelock import FileLock
from filelock import Timeout

from medgen_metrics.bootstrap import interval
from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row
from medgen_metrics.rows import summarise
from medgen_metrics.signature import digest

from ..errors import Failure
from ..errors import UsageError
from ..records import Records
from ..result_file import ConfigResult
from ..result_file import Figures
from ..result_file import Predictions
from ..result_file import ResultFile
from ..result_file import Subset
from ..result_file import Tier as TierResult
from ..result_file import load
from ..result_rows import Rows
from ..subset import Subset as Selection
from .judging import JudgeWork
from .tiers import Tier

_NOTES = {
    "paper": "paper (inferred): the release without the 201 records of disease-prediction, by which the two differ",
    "sample": "illustrative sample made by this project; not part of MedGEN-Bench",
}
_PATIENCE = 60  # seconds to wait for another run's writing of a result file, which takes less than one

_PACKAGES = (
    "medgen-bench",
    "torch",
    "torchvision",
    "transformers",
    "lpips",
    "bert-score",
    "sacrebleu",
    "scikit-image",
    "scipy",
    "numpy",
    "pillow",
    "datasets",
    "evaluate",
)


def config_result(
    system: str,
    records: Records,
    selection: Selection,
    predictions: Predictions,
    tiers: Mapping[str, tuple[Tier, Sequence[Row]]],
) -> ConfigResult:
    """One config's figures and rows.

    Args:
        system: whose predictions they are.
        records: all records of the edition's config.
        selection: those that were scored; each tier's rows are in its order.
        predictions: what was scored.
        tiers: tier name -> the tier and its rows.
    """
    columns = {
        name: [records.column(name)[position] for position in selection.positions]
        for name in ("id", "task", "subtask", "modality", "group")
    }
    return ConfigResult(
        records=len(records),
        selected=len(selection.positions),
        subset=Subset(**{name: getattr(selection, name) for name in Subset.model_fields}),
        predictions=predictions,
        tiers={
            # The sample is too small and too chosen to say anything of a population.
            name: _tier_result(
                system,
                (predictions.about_system.get("components") or {}).values(),
                tier,
                rows,
                None if records.edition == "sample" else columns["group"],
            )
            for name, (tier, rows) in tiers.items()
        },
        rows=Rows.of(columns, {name: rows for name, (_, rows) in tiers.items()}),
    )


def _tier_result(
    system: str, models: Iterable[str], tier: Tier, rows: Sequence[Row], groups: Sequence[str] | None
) -> TierResult:
    scorer = tier.scorer
    summary = summarise(rows, scorer.specs)
    return TierResult(
        signature=scorer.signature,
        definition=digest(scorer.definition),
        options=tier.options,
        unavailable=dict(scorer.unavailable),
        metrics={
            spec.name: Figures(
                **summary["metrics"][spec.name],
                **({} if groups is None else _interval(rows, groups, spec)),
                low=spec.low,
                high=spec.high,
                higher_is_better=spec.higher_is_better,
            )
            for spec in scorer.specs
        },
        flags=summary["flags"],
        warnings=tier.warnings(rows, system, list(models)) if isinstance(tier, JudgeWork) else [],
    )


def _interval(rows: Sequence[Row], groups: Sequence[str], spec: MetricSpec) -> dict[str, Any]:
    made = interval(rows, groups, spec)
    ends = None if made.low is None or made.high is None else (made.low, made.high)
    return {"interval": ends, "groups": made.groups, "largest_group": made.largest}


def make_folder(folder: Path, option: str = "--out") -> None:
    """Make the results' folder before anything is scored.

    Args:
        folder: where results will be.
        option: that names it.

    Raises:
        UsageError: it can't be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise UsageError(
            f"{folder}: expected a folder that can be written, got: {error.strerror}; give another {option}"
        ) from error


def merge(path: Path, system: str, edition: str, protocol: str, configs: Mapping[str, ConfigResult]) -> list[str]:
    """Write a system's result file, keeping what an earlier run found out about other configs and tiers.

    An earlier tier of the same config is kept where it speaks of the same records and predictions. An earlier file of
    another edition or protocol is replaced.

    Returns:
        Notices of what was replaced.

    Raises:
        Failure: it can't be written.
    """
    try:
        # Another config of the system may end at this moment: what both found out stays.
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=_PATIENCE):
            return _merge(path, system, edition, protocol, configs)
    except Timeout as error:
        raise Failure(
            f"{path}: another run holds it for {_PATIENCE} s now; what is scored is kept, run again"
        ) from error
    except OSError as error:
        raise Failure(f"{path}: can't be written: {error.strerror}; what is scored is kept, run again") from error


def _merge(path: Path, system: str, edition: str, protocol: str, configs: Mapping[str, ConfigResult]) -> list[str]:
    notices: list[str] = []
    kept: dict[str, ConfigResult] = {}
    if path.exists():
        try:
            earlier = load(path)
        except UsageError as error:
            notices.append(f"{error} It is replaced.")
        else:
            if (earlier.edition, earlier.protocol) == (edition, protocol):
                kept = {str(name): result for name, result in earlier.configs.items()}
            else:
                notices.append(f"{path}: replaced a result of edition {earlier.edition}, protocol {earlier.protocol}")
    for name, result in configs.items():
        before = kept.get(name)
        if before is not None and before.subset.digest != result.subset.digest:
            notices.append(
                f"{path}: replaced the {name} result over {before.selected} records by one over {result.selected}; the "
                f"scores are kept, and scoring the former selection again gives it back at once"
            )
        kept[name] = _with_earlier_tiers(result, kept.get(name))
    ResultFile(
        format="medgen-bench/result@1",
        system=system,
        edition=edition,  # type: ignore[arg-type]  # pydantic checks it
        edition_note=_NOTES.get(edition),
        protocol=protocol,  # type: ignore[arg-type]
        versions=versions(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        configs=kept,  # type: ignore[arg-type]
    ).save(path)
    return notices


def _with_earlier_tiers(result: ConfigResult, earlier: ConfigResult | None) -> ConfigResult:
    if earlier is None or earlier.rows.id != result.rows.id or earlier.predictions.digest != result.predictions.digest:
        return result
    rows = result.rows.with_tiers({**earlier.rows.tiers, **result.rows.tiers})
    return result.model_copy(update={"tiers": {**earlier.tiers, **result.tiers}, "rows": rows})


def versions() -> dict[str, str]:
    """Versions of the packages that take part in a score."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:  # noqa: PERF203
            continue
    return found
