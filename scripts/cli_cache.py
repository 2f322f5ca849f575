"""The verbs `medgen-bench cache …`."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from .cli_options import OutOption

cache_app = typer.Typer(
    help="What is kept so that nothing is paid for or computed twice, judges' replies and references' embeddings: "
    "what is there, thin out, hand on.",
    no_args_is_help=True,
)


class Kind(str, Enum):
    """What a cache holds."""

    judge = "judge"
    embedding = "embedding"


CacheOption = Annotated[
    Path | None, typer.Option("--cache", help="The cache's folder; default OUT/judge-cache, OUT/feature-cache.")
]
KindOption = Annotated[Kind, typer.Option("--kind", help="judge: replies; embedding: references' embeddings.")]
ModelOption = Annotated[
    str | None, typer.Option("--model", help="Only this judge's, as its server names it, or this encoder's.")
]


def _folder(out: Path, cache: Path | None, kind: Kind = Kind.judge) -> Path:
    from .cache import KINDS

    return cache or out / KINDS[kind.value]


@cache_app.command("list")
def cache_list(
    out: OutOption = Path("out"),
    cache: CacheOption = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Only this kind; of --cache judge, if not said.")] = None,
) -> None:
    """How many replies of which judge and embeddings of which encoder, how large, of when."""
    from .cache import list_entries

    kinds = [kind] if kind is not None else [Kind.judge] if cache is not None else list(Kind)
    list_entries({one.value: _folder(out, cache, one) for one in kinds})


@cache_app.command("prune")
def cache_prune(
    out: OutOption = Path("out"),
    cache: CacheOption = None,
    kind: KindOption = Kind.judge,
    model: ModelOption = None,
    older_than: Annotated[float | None, typer.Option(min=0, metavar="DAYS", help="Only what is older.")] = None,
    unusable: Annotated[bool, typer.Option("--unusable", help="Only replies that gave no verdict.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go; change nothing.")] = False,
) -> None:
    """Remove what meets all criteria; where it is needed it is asked for or computed again. Running scorers go on."""
    from .cache import prune

    prune(
        _folder(out, cache, kind),
        kind=kind.value,
        model=model,
        older_than=older_than,
        unusable=unusable,
        dry_run=dry_run,
    )


@cache_app.command("export")
def cache_export(
    file: Annotated[Path, typer.Argument(help="The file to write: NAME.jsonl, or NAME.jsonl.gz.")],
    out: OutOption = Path("out"),
    cache: CacheOption = None,
    kind: KindOption = Kind.judge,
    model: ModelOption = None,
) -> None:
    """Write one file that others can import, e.g. beside a paper's results."""
    from .cache_exchange import export

    export(_folder(out, cache, kind), file, kind=kind.value, model=model)


@cache_app.command("import")
def cache_import(
    files: Annotated[list[Path], typer.Argument(help="What `cache export` wrote, of either kind.")],
    out: OutOption = Path("out"),
    cache: CacheOption = None,
) -> None:
    """Add others' entries to the cache of their kind, each checked against its digests; what is here already stays."""
    from .cache_exchange import import_files

    import_files(files, lambda kind: _folder(out, cache, Kind(kind)))
