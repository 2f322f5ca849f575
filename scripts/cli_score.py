"""The verbs `medgen-bench score`, `plan` and `reproduce`, which take the same options."""

from pathlib import Path
from typing import Annotated

import typer

from .cli_judge import takes_judge
from .cli_options import Config
from .cli_options import DataOption
from .cli_options import Edition
from .cli_options import EditionOption
from .cli_options import EncoderDtype
from .cli_options import LimitOption
from .cli_options import OfflineOption
from .cli_options import OutOption
from .cli_options import Protocol
from .cli_options import SeedOption
from .cli_options import SubsetOption
from .scoring.judge_options import JudgeOptions

SCORE = "Score predictions: rows in out/scores, out/results/SYSTEM.json. Killed at any moment, it continues."
PLAN = "Say what `score` with the same options will do: records, what is done, weights, time. Writes nothing."

REPRODUCE = (
    "Score published result files again and set each figure beside the published one, with the repairs that part them."
)


@takes_judge
def score(
    context: typer.Context,
    predictions: Annotated[
        # Of an address a Path would fold "//".
        list[str],
        typer.Argument(
            help="Folders out/predictions/SYSTEM, JSONL or Parquet files (ours or the public evaluator's), or such on "
            "the Hub: hf://datasets/OWNER/NAME\\[@REVISION]\\[/PATH]; or a file's https:// address.",
        ),
    ],
    config: Annotated[Config | None, typer.Option(help="The config, where the file's name doesn't say it.")] = None,
    system: Annotated[
        str | None, typer.Option(help="The system's name, where the file's place doesn't say it.")
    ] = None,
    edition: EditionOption = Edition.paper,
    data_dir: DataOption = None,
    tiers: Annotated[
        str, typer.Option(help="Which tiers, separated by commas: pixel, text, embedding, judge.")
    ] = "pixel,text",
    out: OutOption = Path("out"),
    limit: LimitOption = None,
    seed: SeedOption = 0,
    subset: SubsetOption = None,
    protocol: Annotated[
        Protocol, typer.Option(help="paper: the published definitions; standard: the field's.")
    ] = Protocol.paper,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Start this many processes; where one dies the others go on.")
    ] = None,
    expect_processes: Annotated[
        int | None, typer.Option(min=1, help="Under one's own launcher: refuse to run with another number.")
    ] = None,
    device: Annotated[
        str | None, typer.Option(help="torch device, e.g. cuda:1; default: a GPU where there is one.")
    ] = None,
    lpips_net: Annotated[str, typer.Option(help="alex (the paper's), squeeze or vgg.")] = "alex",
    lpips_weights: Annotated[Path | None, typer.Option(help="A file with the net's ImageNet backbone weights.")] = None,
    text_model: Annotated[
        str | None, typer.Option(help="BERTScore encoder (Hub id or folder); default PubMedBERT, the paper's.")
    ] = None,
    text_layers: Annotated[int | None, typer.Option(help="Layer of --text-model that is compared.")] = None,
    text_baseline: Annotated[
        Path | None, typer.Option(help="bert-score's baseline file of the encoder: standard adds rescaled values.")
    ] = None,
    text_extras: Annotated[
        str,
        typer.Option(
            help="Beside the other text metrics, separated by commas: radgraph, sentence, negation, sections."
        ),
    ] = "",
    sentence_model: Annotated[
        str | None, typer.Option(help="Text encoder of the extra `sentence` (Hub id or folder); it has no default.")
    ] = None,
    embedding_model: Annotated[
        str | None,
        typer.Option(help="Vision encoder (Hub id or folder, open-clip:ID); default MedImageInsight, the paper's."),
    ] = None,
    embedding_weights: Annotated[
        Path | None, typer.Option(help="MedImageInsight's checkpoint, or the folder that holds it.")
    ] = None,
    embedding_dtype: Annotated[
        EncoderDtype, typer.Option(help="The vision encoder's; half precision is for GPUs, and another definition.")
    ] = EncoderDtype.float32,
    embedding_cache: Annotated[
        Path | None, typer.Option(help="Folder of kept embeddings of references; default OUT/feature-cache.")
    ] = None,
    image_root: Annotated[
        list[Path] | None, typer.Option(help="A folder that prediction images may lie in; repeatable.")
    ] = None,
    offline: OfflineOption = False,
    download: Annotated[
        bool,
        typer.Option("--download", help="Fetch predictions on the Hub into its cache, and score them from there."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Score nothing; say what would be done, as `plan`.")
    ] = False,
    *,
    judge: JudgeOptions,
) -> None:
    """`score`, `plan` and `reproduce` take the same options: what is scored, and with what."""
    from .scoring.options import ScoreOptions

    options = ScoreOptions(
        edition=edition.value,
        data_dir=data_dir,
        tiers=tuple(name.strip() for name in tiers.split(",") if name.strip()),
        out=out,
        limit=limit,
        seed=seed,
        subset=subset.value if subset else None,
        protocol=protocol.value,
        processes=processes,
        expect_processes=expect_processes,
        device=device,
        lpips_net=lpips_net,
        lpips_weights=lpips_weights,
        text_model=text_model,
        text_layers=text_layers,
        text_baseline=text_baseline,
        text_extras=tuple(name.strip() for name in text_extras.split(",") if name.strip()),
        sentence_model=sentence_model,
        embedding_model=embedding_model,
        embedding_weights=embedding_weights,
        embedding_dtype=embedding_dtype.value,
        embedding_cache=embedding_cache,
        image_roots=tuple(image_root or ()),
        offline=offline,
        download=download,
        judge=judge,
    )
    if context.info_name == "plan" or dry_run:
        from .plan import plan as verb
    elif context.info_name == "reproduce":
        from .reproduce import reproduce as verb
    else:
        from .score import score as verb
    verb(predictions, options, config=config.value if config else None, system=system)
