"""The command `medgen-bench`: wires the verbs and turns errors into messages and exit codes.

A verb's file is imported only when the verb runs, so that `--help` costs no torch.
"""

import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated
from typing import NoReturn

import typer

from .cli_cache import cache_app
from .cli_check import judge_check
from .cli_options import As
from .cli_options import Bounds
from .cli_options import By
from .cli_options import Config
from .cli_options import DataOption
from .cli_options import Edition
from .cli_options import EditionOption
from .cli_options import OfflineOption
from .cli_options import OutOption
from .cli_options import TableFormat
from .cli_run import run
from .cli_score import PLAN
from .cli_score import REPRODUCE
from .cli_score import SCORE
from .cli_score import score
from .cli_systems import systems_app
from .errors import INTERRUPTED
from .errors import Failure
from .errors import UsageError
from .launcher import tells_end
from .terminal import say

app = typer.Typer(
    help="MedGEN-Bench: run systems that answer questions about medical images and produce them, score, and tabulate.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
weights_app = typer.Typer(
    help="Model weights that the metrics need: what, where from, here or not.", no_args_is_help=True
)
app.add_typer(weights_app, name="weights")
app.add_typer(cache_app, name="cache")
app.add_typer(systems_app, name="systems")


@app.command()
def demo(out: OutOption = Path("out"), offline: OfflineOption = False) -> None:
    """Run the built-in baselines on the embedded sample, score them, print the table."""
    from .demo import demo as verb

    verb(out=out, offline=offline)


app.command()(run)

app.command(help=SCORE)(score)
app.command("plan", help=PLAN)(score)
app.command("reproduce", help=REPRODUCE)(score)
app.command("judge-check")(judge_check)


@app.command()
def table(
    results: Annotated[list[Path], typer.Argument(help="Result files, out/results/*.json.")],
    format: Annotated[TableFormat, typer.Option(help="What to print.")] = TableFormat.text,
    by: Annotated[By | None, typer.Option(help="A row a group, with micro and macro means.")] = None,
    illustrative: Annotated[
        bool, typer.Option("--illustrative", help="Best and second, and intervals, on the sample too.")
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Bootstrap 95 % intervals that resample groups of records.")
    ] = False,
    kind: Annotated[As, typer.Option("--as", help="Means, or shares of outputs that reach a mark.")] = As.means,
    thresholds: Annotated[
        Path | None, typer.Option(help="YAML with other marks for --as pass-rates (tables/thresholds.yaml shows how).")
    ] = None,
    anchors: Annotated[
        bool, typer.Option("--anchors", help="Where figures lie between shuffled (0 %) and reference (100 %).")
    ] = False,
    bounds: Annotated[
        Bounds, typer.Option(help="Unscored records as bad as the range allows, or (an assumption) as shuffled.")
    ] = Bounds.declared,
    diagnostics: Annotated[
        bool, typer.Option("--diagnostics", help="Errors in the changed and in the kept region, gains over the input.")
    ] = False,
) -> None:
    """Print the paper's table from result files."""
    from .table import table as verb
    from .tables.passes import load_marks
    from .tables.show import Show

    if thresholds is not None and kind is not As.pass_rates:
        raise UsageError("--thresholds: expected only with --as pass-rates, got --as means; add --as pass-rates")
    show = Show(
        by=by.value if by else None,
        illustrative=illustrative,
        intervals=intervals,
        marks=load_marks(thresholds) if kind is As.pass_rates else None,
        anchors=anchors,
        practical=bounds is Bounds.practical,
        diagnostics=diagnostics,
    )
    verb(results, format=format.value, show=show)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="The folder to write; an earlier export is replaced.")] = Path(
        "medgen-bench"
    ),
    edition: EditionOption = Edition.paper,
    data_dir: DataOption = None,
    config: Annotated[list[Config] | None, typer.Option(help="Only this config; repeatable. Default: all.")] = None,
) -> None:
    """Write the data set as Parquet, images embedded, with a card: load_dataset("medgen-bench") reads it alone."""
    from .export import export as verb

    verb(out, edition=edition.value, data_dir=data_dir, configs=[name.value for name in config or ()])


@app.command()
def validate(
    target: Annotated[
        Path | None,
        typer.Argument(help="Folder of a data set in any layout, or predictions (as of `score`). Default: data."),
    ] = None,
    edition: EditionOption = Edition.paper,
    data_dir: DataOption = None,
    config: Annotated[Config | None, typer.Option(help="Of a predictions file whose name doesn't say it.")] = None,
    image_root: Annotated[
        list[Path] | None, typer.Option(help="A folder that prediction images may lie in; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Say all that is wrong with a data set or with predictions, in one run; exit 2 if there are errors."""
    from .validate import validate as verb

    verb(
        target,
        edition=edition.value,
        data_dir=data_dir,
        config=config.value if config else None,
        image_roots=image_root or (),
        as_json=as_json,
    )


@app.command()
def show(
    record_id: Annotated[str, typer.Argument(metavar="ID", help="A record's id, or its name in the release.")],
    edition: EditionOption = Edition.paper,
    data_dir: DataOption = None,
    predictions: Annotated[
        list[Path] | None, typer.Option(help="Predictions, as of `score`; repeatable. Default: all in OUT.")
    ] = None,
    out: OutOption = Path("out"),
    image_root: Annotated[
        list[Path] | None, typer.Option(help="A folder that prediction images may lie in; repeatable.")
    ] = None,
    to: Annotated[Path | None, typer.Option(help="The PNG to write; default OUT/show/ID.png.")] = None,
) -> None:
    """Print a record, and write its images and the systems' outputs side by side to a PNG."""
    from .show import show as verb

    verb(
        record_id,
        edition=edition.value,
        data_dir=data_dir,
        predictions=predictions or (),
        out=out,
        image_roots=image_root or (),
        to=to,
    )


@app.command("judge-serve")
def judge_serve(
    model: Annotated[str | None, typer.Option(help="Hub id or folder; default the default judge.")] = None,
    port: Annotated[int, typer.Option(help="Of the server.")] = 8000,
    printed: Annotated[bool, typer.Option("--print", help="Print the command lines.")] = False,
) -> None:
    """Print the command line that serves the default judge (vLLM) with the right limits."""
    from .judge_serve import judge_serve as verb

    verb(model=model, port=port, printed=printed)


@weights_app.command("list")
def weights_list() -> None:
    """What each metric needs, where it comes from and whether it is here."""
    from .weights import list_weights

    list_weights()


@weights_app.command("fetch")
def weights_fetch(
    names: Annotated[list[str] | None, typer.Argument(help="Names from `weights list`; default: the paper's.")] = None,
) -> None:
    """Download weights."""
    from .weights import fetch_weights

    fetch_weights(names or [])


@weights_app.command("path")
def weights_path(name: Annotated[str, typer.Argument(help="A name from `weights list`.")]) -> None:
    """Print where weights are on this machine; exit 1 where they are not."""
    from .weights import weights_path as verb

    verb(name)


def version(value: bool) -> None:
    """Print the version and end."""
    if value:
        from medgen_metrics import __version__

        typer.echo(f"medgen-bench {__version__}")
        raise typer.Exit


@app.callback()
def options(
    show: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """MedGEN-Bench: run systems that answer questions about medical images and produce them, score, and tabulate."""


class _Teller(logging.Handler):
    """Says what our modules warn of as all else is said; looks `sys.stderr` up anew, which may have been replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


_TELLER = _Teller(logging.WARNING)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line.

    Exit codes: 0 done; 1 a failure; 2 bad usage or input; 130 interrupted by Ctrl-C, as shells have it.
    """
    # A warning is for the person at the terminal; the line of code that raised it isn't.
    warnings.formatwarning = lambda message, *_, **__: f"medgen-bench: {message}\n"
    # Pillow's of a decompression bomb names no file; ours follows. By its words, since Pillow isn't imported yet.
    warnings.filterwarnings("ignore", message=r"Image size \(\d+ pixels\) exceeds limit")
    for name in ("medgen_metrics", "medgen_scripts"):
        logging.getLogger(name).addHandler(_TELLER)
    try:
        # Not standalone, an Exit comes back as the value.
        status = app(arguments, prog_name="medgen-bench", standalone_mode=False)
        if status == INTERRUPTED and tells_end():  # what typer turns a KeyboardInterrupt into
            say("interrupted; what is done is kept, the same command continues")
        sys.exit(status if isinstance(status, int) else 0)
    except UsageError as error:
        say(str(error))
        sys.exit(2)
    except Failure as error:
        say(str(error))
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output has left (`| head`); the interpreter must not write the rest to it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        # What the machine refuses (no room, no rights, too many files) is no fault of the program's.
        say(str(error))
        sys.exit(1)
    except Exception as error:
        # Click's own complaints (unknown option, missing argument) carry how they want to be shown.
        if not hasattr(error, "show"):
            raise
        error.show()
        sys.exit(getattr(error, "exit_code", 2))


if __name__ == "__main__":
    main()
