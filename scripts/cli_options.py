"""What the command line's options may be, and the options that several verbs take."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Config(str, Enum):
    """A config of the data set."""

    vqa = "vqa"
    edit = "edit"
    gen = "gen"


class Edition(str, Enum):
    """An edition of the data set."""

    paper = "paper"
    release = "release"
    sample = "sample"


class SubsetName(str, Enum):
    """A fixed selection of records."""

    lite = "lite"


class Protocol(str, Enum):
    """Whose metric definitions."""

    paper = "paper"
    standard = "standard"


class EncoderDtype(str, Enum):
    """Precision of a vision encoder."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


class TableFormat(str, Enum):
    """What a table is printed as."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    csv = "csv"
    json = "json"


class As(str, Enum):
    """What a table's cells hold."""

    means = "means"
    pass_rates = "pass-rates"


class Bounds(str, Enum):
    """How bad an unscored record may be."""

    declared = "declared"
    practical = "practical"


class By(str, Enum):
    """What a table's rows are grouped by."""

    task = "task"
    modality = "modality"
    subtask = "subtask"
    track = "track"


EditionOption = Annotated[
    Edition, typer.Option(help="paper: 6,422 records; release: 6,623; sample: embedded, offline.")
]
DataOption = Annotated[
    Path | None, typer.Option(help="Folder of the downloaded release; else $MEDGEN_BENCH_DIR, else the Hub.")
]
OutOption = Annotated[Path, typer.Option(help="Folder for predictions/, scores/ and results/.")]
LimitOption = Annotated[
    int | None, typer.Option(min=1, help="Only N records a config: seeded, stratified by task and modality, nested.")
]
SubsetOption = Annotated[
    SubsetName | None, typer.Option(help="lite: a fixed selection of 100 to 200 records a config, instead of --limit.")
]
SeedOption = Annotated[int, typer.Option(help="Seed of --limit and of random systems.")]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Download nothing: no weights, no predictions on the Hub.")
]
