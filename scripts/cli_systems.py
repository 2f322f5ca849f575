"""The verbs `medgen-bench systems …`."""

from typing import Annotated

import typer

from .cli_options import Config

systems_app = typer.Typer(
    help="Systems that can be run: the paper's, the built-in baselines, and files of one's own.", no_args_is_help=True
)
SystemArgument = Annotated[
    str, typer.Argument(metavar="SYSTEM", help="A name of `systems list`, a YAML file, or a short form of `run`.")
]


@systems_app.command("list")
def systems_list(
    config: Annotated[Config | None, typer.Option(help="Only those that serve it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Name, shape, track, configs, models, and whether anybody has run it against the real ones."""
    from .systems_verb import list_systems

    list_systems(config.value if config else None, as_json=as_json)


@systems_app.command("show")
def systems_show(system: SystemArgument) -> None:
    """Print a system's file, what it means, and what it needs."""
    from .systems_verb import show_system

    show_system(system)


@systems_app.command("check")
def systems_check(
    system: SystemArgument,
    ping: Annotated[bool, typer.Option("--ping", help="Send one tiny request a model, which may cost.")] = False,
) -> None:
    """Is the key set, the endpoint alive, the model known? Exit 1 where not."""
    from .systems_verb import check_system

    check_system(system, ping=ping)
