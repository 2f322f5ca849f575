"""Small result files with hand-written rows, for the tests of result files and tables."""

from collections.abc import Mapping
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from medgen_metrics.rows import Row
from medgen_metrics.rows import summarise
from medgen_metrics.signature import digest
from medgen_scripts.result_file import ConfigResult
from medgen_scripts.result_file import Figures
from medgen_scripts.result_file import Predictions
from medgen_scripts.result_file import ResultFile
from medgen_scripts.result_file import Subset
from medgen_scripts.result_file import Tier
from medgen_scripts.result_rows import Rows
from medgen_scripts.tables.columns import tier_specs

SIGNATURES = {
    "pixel": "medgen_pixel|v:0.1.0|protocol:paper|ssim:grey|psnr:cap100|lpips:alex|size:lanczos|lib:lpips-0.1.4",
    "judge": "medgen_judge|v:0.1.0|protocol:paper|judge:a-judge(json_schema)|rubric:v2-ab|layout:paper|scale:1-5",
    "text": "medgen_text|v:0.1.0|protocol:paper|bleu:sentence4|bertscore:pubmed|weights:ab|lib:bert-score-0.3|em:own",
}
METRICS = {"pixel": ["ssim", "psnr", "lpips"], "text": ["bleu", "bertscore", "em"]}


def pixels(
    ssim: Sequence[float | None],
    psnr: Sequence[float | None] | None = None,
    lpips: Sequence[float | None] | None = None,
    reason: str = "missing",
) -> list[Row]:
    """Rows of the pixel tier; None is unscored for `reason`, a metric not given has no weights."""
    columns = {"ssim": ssim, "psnr": psnr, "lpips": lpips}
    rows = []
    for index in range(len(ssim)):
        values, reasons = {}, {}
        for name, column in columns.items():
            value = column[index] if column is not None else None
            if value is not None:
                values[name] = value
                if name == "psnr":
                    values["mse"] = 255**2 / 10 ** (value / 10)
            else:
                reasons[name] = reason if column is not None else "weights_missing"
        rows.append(Row(values, reasons))
    return rows


def config_result(
    tiers: Mapping[str, Sequence[Row]],
    *,
    signatures: Mapping[str, str] = SIGNATURES,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    unavailable: Mapping[str, Mapping[str, str]] | None = None,
    warnings: Mapping[str, Sequence[str]] | None = None,
    ids: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    modalities: Sequence[str] | None = None,
    subtasks: Sequence[str | None] | None = None,
    limit: int | None = None,
    groups: Sequence[str] | None = None,
    protocol: str = "paper",
    definition: str = "0011223344556677",
) -> ConfigResult:
    """One config over as many records as there are rows, two tasks in turn unless told."""
    count = len(next(iter(tiers.values())))
    records: dict[str, Sequence[str | None]] = {
        "id": ids or [f"r-{index:012x}" for index in range(count)],
        "task": tasks or [("noise-reconstruction", "style-transfer")[index % 2] for index in range(count)],
        "subtask": subtasks or [None] * count,
        "modality": modalities or ["CT"] * count,
        "group": groups or [f"g{index}" for index in range(count)],
    }
    made = {}
    for name, rows in tiers.items():
        metrics = {"metrics": METRICS[name]} if name in METRICS else {}
        chosen = {"protocol": protocol, **metrics, **(options or {}).get(name, {})}
        specs = tier_specs(Path("result.json"), name, chosen)
        summary = summarise(rows, list(specs.values()))
        made[name] = Tier(
            signature=signatures[name],
            definition=definition,
            options=chosen,
            unavailable=dict((unavailable or {}).get(name, {})),
            metrics={
                metric: Figures(
                    **summary["metrics"][metric], low=spec.low, high=spec.high, higher_is_better=spec.higher_is_better
                )
                for metric, spec in specs.items()
            },
            flags=summary["flags"],
            warnings=list((warnings or {}).get(name, [])),
        )
    return ConfigResult(
        records=count if limit is None else 2 * count,
        selected=count,
        subset=Subset(limit=limit, seed=0, digest=digest(sorted(str(id) for id in records["id"]))),
        predictions=Predictions(path="predictions.jsonl", digest="ffff", layout="medgen-bench", join={"id": count}),
        tiers=made,
        rows=Rows.of(records, tiers),
    )


def result(system: str, configs: Mapping[str, ConfigResult], **fields: Any) -> ResultFile:
    """A result file of edition paper, protocol paper, unless told."""
    content: dict[str, Any] = {
        "format": "medgen-bench/result@1",
        "edition": "paper",
        "protocol": "paper",
        "versions": {"medgen-bench": "0.1.0"},
        "created": "2026-01-01T00:00:00+00:00",
        **fields,
    }
    return ResultFile(**content, system=system, configs=dict(configs))  # type: ignore[arg-type]
