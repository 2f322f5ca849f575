"""The verb `medgen-bench run`."""

from pathlib import Path
from typing import Annotated

import typer

from .cli_options import Config
from .cli_options import DataOption
from .cli_options import Edition
from .cli_options import EditionOption
from .cli_options import LimitOption
from .cli_options import OutOption
from .cli_options import SeedOption
from .cli_options import SubsetOption

_WHICH = "Which records"
_MODELS = "Systems of models"


def _models(help: str, *names: str, **more: float) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(*names, help=help, rich_help_panel=_MODELS, **more)  # type: ignore[arg-type]
    return option


def _list(option: str, given: list[str] | None) -> tuple[str, ...]:
    """Values of a repeatable option, each of which may hold several after commas, or name a file with one a line.

    Raises:
        UsageError: a file that can't be read.
    """
    from .errors import UsageError

    values: list[str] = []
    for value in given or ():
        if value.startswith("@"):
            try:
                values += Path(value[1:]).read_text(encoding="utf-8").split()
            except (OSError, UnicodeDecodeError) as error:
                raise UsageError(f"{option}: expected a file of text after @, got {value[1:]!r}: {error}") from error
        else:
            values += [part.strip() for part in value.split(",")]
    return tuple(value for value in values if value)


def run(
    system: Annotated[
        str,
        typer.Argument(
            help="copy-input, classical, shuffled, reference, blank, recipe; a name of `systems list`; a YAML file; or "
            "python:MODULE:FUNCTION, transformers:PATH, diffusers:PATH, openai-chat:MODEL@URL, folder:DIR."
        ),
    ],
    configs: Annotated[
        list[Config], typer.Argument(metavar="CONFIG...", help="vqa, edit, gen; several after each other.")
    ],
    edition: EditionOption = Edition.paper,
    data_dir: DataOption = None,
    out: OutOption = Path("out"),
    limit: LimitOption = None,
    seed: SeedOption = 0,
    subset: SubsetOption = None,
    tasks: Annotated[
        list[str] | None, typer.Option(help="Only these tasks, after commas.", rich_help_panel=_WHICH)
    ] = None,
    modalities: Annotated[
        list[str] | None, typer.Option(help="Only these modalities, after commas.", rich_help_panel=_WHICH)
    ] = None,
    ids: Annotated[
        list[str] | None, typer.Option(help="Only these ids, after commas, or @FILE.", rich_help_panel=_WHICH)
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="The I-th of N shares; shares may run together.", rich_help_panel=_WHICH),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked and what it may cost.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Put earlier rows of the config aside, start anew.")] = False,
    blind: Annotated[bool, _models("Hold the image back: what the instructions give away.", "--blind")] = False,
    retry_failed: Annotated[bool, _models("Try earlier failures again.", "--retry-failed")] = False,
    max_attempts: Annotated[int | None, _models("Send a request at most so often, over all runs.", min=1)] = None,
    concurrency: Annotated[int | None, _models("Most requests under way.", min=1)] = None,
    image_concurrency: Annotated[int | None, _models("The same, of the image model after a VLM.", min=1)] = None,
    max_cost: Annotated[
        float | None, _models("Stop before more dollars than these; with --prices. Shared as --max-requests.", min=0)
    ] = None,
    max_requests: Annotated[
        int | None,
        _models(
            "Stop before more requests than these, of models in this process too. A launcher's processes have equal "
            "shares; each --shard has its own.",
            min=0,
        ),
    ] = None,
    prices: Annotated[
        Path | None, _models("YAML: model -> input, output ($ per million tokens), image ($ each).")
    ] = None,
    log_requests: Annotated[bool, _models("Write prompts and replies, images by digest.", "--log-requests")] = False,
) -> None:
    """Produce a system's outputs: out/predictions/SYSTEM/CONFIG.jsonl and images. Stopped, it continues."""
    from .errors import UsageError
    from .run import execute
    from .running.options import RunOptions
    from .running.options import Shard

    options = RunOptions(
        edition=edition.value,
        data_dir=data_dir,
        out=out,
        limit=limit,
        seed=seed,
        subset=subset.value if subset else None,
        tasks=_list("--tasks", tasks),
        modalities=_list("--modalities", modalities),
        ids=_list("--ids", ids),
        shard=None if shard is None else Shard.read(shard),
        blind=blind,
        retry_failed=retry_failed,
        max_attempts=max_attempts,
        fresh=fresh,
        concurrency=concurrency,
        image_concurrency=image_concurrency,
        max_cost=max_cost,
        max_requests=max_requests,
        prices=prices,
        dry_run=dry_run,
        log_requests=log_requests,
    )
    if len(configs) > 1 and (max_cost is not None or max_requests is not None):
        raise UsageError("--max-cost, --max-requests: expected one config, since each has a budget of its own")
    for config in dict.fromkeys(configs):
        execute(system, config.value, options)
