"""What a model under training is measured by (`callback`): tiers without weights to fetch, and the prompts of a run."""

import re
from collections.abc import Mapping
from collections.abc import Sequence

from pydantic import ValidationError

from medgen_metrics import schema_faults

from .errors import UsageError
from .running import prompts
from .running.stages import Asking
from .scoring import tiers
from .scoring.options import ScoreOptions
from .systems.file import ROLES
from .systems.file import SystemFile
from .systems.short import SHAPES

_METRICS = {"vqa": ("em", "bleu"), "edit": ("ssim", "psnr"), "gen": ("bleu", "ssim", "psnr")}
_TIER_OF = {"em": "text", "bleu": "text", "bertscore": "text", "ssim": "pixel", "psnr": "pixel", "lpips": "pixel"}


def tiers_of(
    config: str, metrics: Sequence[str] | None, protocol: str, text_model: str | None
) -> Mapping[str, tiers.TextWork | tiers.PixelWork]:
    """Tier -> what scores by it.

    Args:
        config: vqa, edit or gen.
        metrics: names; None for the config's that need no weights.
        protocol: paper or standard.
        text_model: BERTScore's encoder.

    Raises:
        UsageError: a metric that the config doesn't have, or one whose weights aren't on this machine.
    """
    from medgen_metrics.pixel import PixelTier
    from medgen_metrics.text import TextTier

    fitting = {"vqa": ("text",), "edit": ("pixel",), "gen": ("text", "pixel")}[config]
    known = [name for name, tier in _TIER_OF.items() if tier in fitting]
    wanted = _METRICS[config] if metrics is None else tuple(metrics)
    if odd := [name for name in wanted if name not in known] or ([] if wanted else ["none"]):
        raise UsageError(f"metrics: config {config} has {', '.join(known)}; got {', '.join(odd)}")
    options = tiers.TierOptions(ScoreOptions(protocol=protocol, offline=True, text_model=text_model))
    found: dict[str, tiers.TextWork | tiers.PixelWork] = {}
    for tier in dict.fromkeys(_TIER_OF[name] for name in wanted):
        chosen = [name for name in wanted if _TIER_OF[name] == tier]
        if tier == "text":
            text = tiers.TextWork(options)
            text.scorer = TextTier(protocol=protocol, metrics=chosen, model=text_model, offline=True)
            found[tier] = text
        else:
            pixel = tiers.PixelWork(options)
            pixel.scorer = PixelTier(protocol=protocol, metrics=chosen, offline=True)
            found[tier] = pixel
        if missing := found[tier].scorer.unavailable:
            raise UsageError("; ".join(f"metrics: {name}: {why}" for name, why in missing.items()))
    return found


def asking_of(config: str, templates: str, max_tokens: int, image_side: int | None, max_images: int | None) -> Asking:
    """The prompts that `medgen-bench run` would send to a model of this config.

    Raises:
        UsageError: a limit out of range, or no such templates.
    """
    shape = SHAPES[config]
    component = {
        "backend": "python",
        "function": "callback:respond",
        "max_tokens": max_tokens,
        "image_side": image_side,
        "max_images": max_images,
    }
    components = dict.fromkeys(ROLES[shape], component)
    try:
        system = SystemFile.model_validate(
            {"name": "training", "shape": shape, "configs": [config], "components": components}
        )
    except ValidationError as error:
        # of each component the same, which are the callback's own arguments
        faults = (re.sub(r"^components\.\w+\.", "", fault) for fault in schema_faults.faults(error, "system"))
        raise UsageError("; ".join(dict.fromkeys(faults))) from None
    return Asking(system, config, prompts.load(templates), {})
