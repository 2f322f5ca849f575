"""What the user chose for `score`, `plan` and `reproduce`."""

from dataclasses import dataclass
from dataclasses import field
from pathlib import Path

from .judge_options import JudgeOptions


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """What to score against, with what, and where to put it; the command line's options under their own names."""

    edition: str = "paper"
    data_dir: Path | None = None
    tiers: tuple[str, ...] = ("pixel", "text")
    out: Path = Path("out")
    limit: int | None = None
    seed: int = 0
    subset: str | None = None
    protocol: str = "paper"
    processes: int | None = None
    expect_processes: int | None = None
    device: str | None = None
    lpips_net: str = "alex"
    lpips_weights: Path | None = None
    text_model: str | None = None
    text_layers: int | None = None
    text_baseline: Path | None = None
    text_extras: tuple[str, ...] = ()
    sentence_model: str | None = None
    embedding_model: str | None = None
    embedding_weights: Path | None = None
    embedding_dtype: str = "float32"
    embedding_cache: Path | None = None
    image_roots: tuple[Path, ...] = ()
    offline: bool = False
    download: bool = False
    judge: JudgeOptions = field(default_factory=JudgeOptions)
