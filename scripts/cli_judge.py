"""The judge's options of the command line, one list for every verb that asks a judge."""

import functools
import inspect
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated
from typing import Any

import typer

from medgen_metrics.judge import URL_VARIABLE

from .cli_options import Protocol
from .scoring.judge_options import JudgeOptions

PANEL = "Judge"


class Backend(str, Enum):
    """Where the judge runs."""

    openai = "openai"
    transformers = "transformers"


class Rubric(str, Enum):
    """What the judge is asked."""

    v1 = "v1"
    v2 = "v2"


class View(str, Enum):
    """What the judge is shown."""

    both = "both"
    with_reference = "with-reference"
    without_reference = "without-reference"


class ImageFormat(str, Enum):
    """How images are sent."""

    png = "png"
    jpeg = "jpeg"


class ReplyFormat(str, Enum):
    """How a server is asked for JSON."""

    json_schema = "json_schema"
    json_object = "json_object"
    text = "text"


def _option(help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=PANEL, **more)


_PARAMETERS: dict[str, tuple[Any, Any]] = {
    "judge_url": (
        Annotated[
            list[str] | None,
            _option(f"Base URL of an OpenAI-compatible server; repeatable. Default ${URL_VARIABLE} (comma-separated)."),
        ],
        None,
    ),
    "judge_model": (
        Annotated[str | None, _option("The judge's name at its server, Hub id or folder; default Qwen3-VL-8B.")],
        None,
    ),
    "judge_backend": (Annotated[Backend, _option("A server, or this process.")], Backend.openai),
    "jury": (Annotated[str | None, _option("Several judges instead: model@URL,model@URL,…")], None),
    "rubric": (Annotated[Rubric, _option("v2, or v1, the first paper's.")], Rubric.v2),
    "judge_layout": (
        Annotated[
            Protocol | None,
            _option("paper: images and dimensions as the public judge; standard: all images. Default: the protocol's."),
        ],
        None,
    ),
    "scale": (Annotated[int | None, _option("1-5 (default) or 1-10, of rubric v2.")], None),
    "view": (Annotated[View, _option("With the reference, without it, or both.")], View.both),
    "samples": (Annotated[int, _option("Verdicts drawn a record and view.", min=1)], 1),
    "temperature": (
        Annotated[float | None, _option("Default 0, or 0.7 with several samples.", min=0.0)],
        None,
    ),
    "judge_seed": (Annotated[int, _option("Seed of the first verdict.")], 0),
    "judge_image_side": (Annotated[int, _option("Longest side in pixels of what is sent.", min=128)], 1024),
    "judge_image_format": (Annotated[ImageFormat, _option("Without loss, or smaller.")], ImageFormat.png),
    "judge_max_tokens": (Annotated[int, _option("Limit of a reply.", min=1)], 2048),
    "judge_concurrency": (Annotated[int, _option("Most requests in flight.", min=1)], 16),
    "judge_deadline": (Annotated[float, _option("Seconds for a request with all its retries.", min=1.0)], 600.0),
    "judge_revision": (
        Annotated[str | None, _option("Of a judge in this process: branch, tag or commit on the Hub.")],
        None,
    ),
    "judge_dtype": (
        Annotated[str | None, _option("Of a judge in this process, e.g. bfloat16; default: its weights' own.")],
        None,
    ),
    "judge_batch_size": (Annotated[int, _option("Most requests a judge in this process answers at once.", min=1)], 8),
    "judge_format": (
        Annotated[ReplyFormat | None, _option("How JSON is asked for; default: the best that the server can.")],
        None,
    ),
    "judge_cache": (Annotated[Path | None, _option("Folder of kept replies; default OUT/judge-cache.")], None),
    "max_requests": (
        Annotated[
            int | None,
            _option(
                "Stop before more requests than these, of a judge in process too. Several processes have equal shares.",
                min=0,
            ),
        ],
        None,
    ),
    "max_cost": (
        Annotated[
            float | None,
            _option("Stop before more dollars than these; with --prices. Shared as --max-requests.", min=0.0),
        ],
        None,
    ),
    "prices": (
        Annotated[Path | None, _option("YAML: model -> input and output, dollars per million tokens.")],
        None,
    ),
    "sentinel": (
        Annotated[
            Path | None,
            _option(
                "A file of `judge-check --save`: says when the judge has changed since. Default OUT/judge-check.json."
            ),
        ],
        None,
    ),
}


def takes_judge(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the judge's options; it gets them as its parameter `judge`, a `JudgeOptions`."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        given = {name: _plain(kwargs.pop(name)) for name in _PARAMETERS}
        return command(*args, judge=JudgeOptions(**{**given, "judge_url": tuple(given["judge_url"] or ())}), **kwargs)

    own = inspect.signature(command)
    kept = [parameter for parameter in own.parameters.values() if parameter.name != "judge"]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _PARAMETERS.items()
    ]
    # Typer reads both.
    wrapped.__signature__ = own.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in (*kept, *added)}
    return wrapped


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value
