"""The command line's `judge-check`."""

from pathlib import Path
from typing import Annotated

import typer

from .cli_judge import takes_judge
from .cli_options import Config
from .cli_options import DataOption
from .cli_options import Edition
from .cli_options import EditionOption
from .cli_options import OfflineOption
from .cli_options import OutOption
from .cli_options import Protocol
from .scoring.judge_options import JudgeOptions


@takes_judge
def judge_check(
    config: Annotated[list[Config] | None, typer.Option(help="Only this config; repeatable. Default: all.")] = None,
    edition: EditionOption = Edition.paper,
    data_dir: DataOption = None,
    out: OutOption = Path("out"),
    limit: Annotated[
        int, typer.Option(min=1, help="Records a config to make pairs of: seeded, stratified by task and modality.")
    ] = 30,
    seed: Annotated[int, typer.Option(help="Seed of --limit, of donors and of injections.")] = 0,
    mark: Annotated[float, typer.Option(help="Pairwise accuracy that a fit judge exceeds.")] = 0.8,
    injections: Annotated[
        bool, typer.Option("--injections/--no-injections", help="Measure how far injected texts sway the judge.")
    ] = True,
    protocol: Annotated[
        Protocol, typer.Option(help="paper: the published definitions; standard: the field's.")
    ] = Protocol.paper,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Keep the verdicts in this JSON file. Later runs tell drift by OUT/judge-check.json unasked."
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="torch device of a judge in this process.")] = None,
    offline: OfflineOption = False,
    *,
    judge: JudgeOptions,
) -> None:
    """Is a judge worth paying for? Judge pairs whose order is known, and outputs with injected texts; minutes."""
    from .judge_check import CONFIGS
    from .judge_check import CheckOptions
    from .judge_check import judge_check as verb

    options = CheckOptions(
        edition=edition.value,
        data_dir=data_dir,
        configs=tuple(name.value for name in config) if config else CONFIGS,
        limit=limit,
        seed=seed,
        mark=mark,
        injections=injections,
        protocol=protocol.value,
        out=out,
        save=save,
        device=device,
        offline=offline,
    )
    check = verb(judge, options)
    if any(view.verdict.word == "not fit" for view in check.views.values()):
        # so that `judge-check && score` pays no judge that is not
        raise typer.Exit(1)
