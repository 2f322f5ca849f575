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

    def unused(self) -> list[str]:
        """What is said of options whose tier isn't chosen, and so of no effect."""
        default = ScoreOptions()
        given = {
            tier: [name for name in names if getattr(self, name) != getattr(default, name)]
            for tier, names in _OF_TIER.items()
        }
        # An address may come from the environment, which speaks of no single run.
        judge = [name for name, value in self.judge.arguments().items() if value != getattr(default.judge, name)]
        given["judge"] = [name for name in judge if name != "judge_url"]
        return [
            f"{', '.join(map(_option, names))}: not used, since --tiers has no {tier}"
            for tier, names in given.items()
            if names and tier not in self.tiers
        ]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


_OF_TIER = {
    "pixel": ("lpips_net", "lpips_weights"),
    "text": ("text_model", "text_layers", "text_baseline", "text_extras", "sentence_model"),
    "embedding": ("embedding_model", "embedding_weights", "embedding_dtype", "embedding_cache"),
}
