"""The verbs `medgen-bench cache …`."""

from pathlib import Path
from typing import Annotated

import typer

from .cli_options import OutOption

cache_app = typer.Typer(
    help="Replies that judges gave, kept so that none is paid for twice: what is there, thin out, hand on.",
    no_args_is_help=True,
)
CacheOption = Annotated[Path | None, typer.Option("--cache", help="The cache's folder; default OUT/judge-cache.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="Only this judge's, as its server names it.")]


def _folder(out: Path, cache: Path | None) -> Path:
    from .cache import KINDS

    return cache or out / KINDS["judge"]


@cache_app.command("list")
def cache_list(out: OutOption = Path("out"), cache: CacheOption = None) -> None:
    """How many replies of which judge, how large, of when."""
    from .cache import list_entries

    list_entries(_folder(out, cache))


@cache_app.command("prune")
def cache_prune(
    out: OutOption = Path("out"),
    cache: CacheOption = None,
    model: ModelOption = None,
    older_than: Annotated[float | None, typer.Option(min=0, metavar="DAYS", help="Only what is older.")] = None,
    unusable: Annotated[bool, typer.Option("--unusable", help="Only replies that gave no verdict.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
) -> None:
    """Remove what meets all criteria given; it is asked for again where it is needed. Running scorers go on."""
    from .cache import prune

    prune(_folder(out, cache), model=model, older_than=older_than, unusable=unusable, dry_run=dry_run)


@cache_app.command("export")
def cache_export(
    file: Annotated[Path, typer.Argument(help="The file to write: NAME.jsonl, or NAME.jsonl.gz.")],
    out: OutOption = Path("out"),
    cache: CacheOption = None,
    model: ModelOption = None,
) -> None:
    """Write one file that others can import, e.g. beside a paper's results."""
    from .cache import export

    export(_folder(out, cache), file, model=model)


@cache_app.command("import")
def cache_import(
    files: Annotated[list[Path], typer.Argument(help="What `cache export` wrote.")],
    out: OutOption = Path("out"),
    cache: CacheOption = None,
) -> None:
    """Add others' replies to the cache, each checked against its digests; what is here already stays."""
    from .cache import import_files

    import_files(_folder(out, cache), files)
