"""Which family a model belongs to, by its name, and whether one family judges its own work.

A judge prefers outputs of its own family (A. Panickssery et al., "LLM Evaluators Recognize and Favor Their Own
Generations", NeurIPS 2024), and a benchmark's constructors have shaped its references. A model that was trained from
another's weights, or that reads prompts through it, counts to both families.
"""

import re
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import NamedTuple

CONSTRUCTORS = ("Qwen3-VL", "GPT-4o")
"""Models that are known to have taken part in the benchmark's construction."""


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    families: tuple[str, ...]


def _rule(pattern: str, *families: str) -> _Rule:
    # Names are written with and without dashes, dots, spaces: one separator, or none.
    return _Rule(re.compile(rf"(?<![a-z])(?:{pattern.replace('-', '[-_. ]?')})", re.IGNORECASE), families)


# The first that matches counts, so derived models stand before what their names are made of.
_RULES = (
    # fine-tuned from Qwen2-VL or Qwen2.5-VL
    _rule("lingshu", "Lingshu", "Qwen-VL"),
    _rule("medvlm-r1", "MedVLM-R1", "Qwen-VL"),
    # image models whose prompts are read by Qwen2.5-VL
    _rule("qwen-image", "Qwen-Image", "Qwen-VL"),
    _rule("omnigen-?2", "OmniGen2", "Qwen-VL"),
    _rule("uniworld", "UniWorld", "Qwen-VL"),
    _rule("step1x-edit", "Step1X-Edit", "Qwen-VL"),
    _rule(r"qwen-?\d*(?:[._]\d)?-(?:vl|omni)|qvq", "Qwen-VL"),
    # GPT-image is GPT-4o's own image generation, served as a model of its own
    _rule(r"gpt-image|chatgpt-image|chatgpt-4o|gpt-4o|4o-image", "GPT-4o"),
    _rule(r"gpt-?\d|(?<![\w\x2d])o[1345](?![a-z0-9])", "GPT"),
    _rule("dall-?e", "DALL-E"),
    _rule("gemini|nano-banana", "Gemini"),
    _rule("imagen(?![a-z])", "Imagen"),
    _rule("medgemma", "MedGemma", "Gemma"),
    _rule("gemma|paligemma", "Gemma"),
    _rule("llava", "LLaVA"),
    _rule("huatuogpt", "HuatuoGPT-Vision"),
    _rule("intern-?vl", "InternVL"),
    _rule("minicpm", "MiniCPM-V"),
    _rule("claude", "Claude"),
    _rule("radfm", "RadFM"),
    _rule("ming-(?:uni|lite|flash|omni)", "Ming"),
    _rule("show-?o", "Show-o"),
    _rule("bagel", "BAGEL"),
    _rule("janus", "Janus"),
    _rule("seedream|seededit|doubao|bytedance-seed", "Doubao"),
    _rule("flux", "FLUX"),
    _rule("ideogram", "Ideogram"),
    _rule(r"glm-?\d|cogv", "GLM-V"),
    _rule("llama-?(?:3|4)", "Llama"),
    _rule("grok", "Grok"),
    _rule("pixtral|mistral", "Mistral"),
)


def families(model: str) -> tuple[str, ...]:
    """The families of a model; none where its name is not known.

    Args:
        model: a name as servers and the Hub have it, e.g. `Qwen/Qwen3-VL-8B-Instruct`; a jury's `@endpoint` is cut off.
    """
    name = re.split(r"@https?:", model, maxsplit=1)[0]
    return next((rule.families for rule in _RULES if rule.pattern.search(name)), ())


def components(system: str) -> tuple[str, ...]:
    """The models that a system's name is made of: `qwen3-vl+gpt-image-1` has two."""
    return tuple(part.strip() for part in system.split("+") if part.strip())


def repeated(
    judges: Iterable[str], systems: Mapping[str, Sequence[str]], constructors: Sequence[str] = CONSTRUCTORS
) -> list[str]:
    """Warnings where a family occurs twice among the judges, a system's components and the benchmark's constructors.

    Args:
        judges: the judges' models.
        systems: system -> its components beyond those that its name tells (`components`), a rewriter too.
        constructors: models that took part in the benchmark's construction.

    Returns:
        One text a pair of judge and system, of judge and constructors, of system and constructors, and of two judges.
    """
    jury = list(dict.fromkeys(judges))
    warnings = []
    built = {family: model for model in constructors for family in families(model)}
    parts = {
        system: list(dict.fromkeys([*components(system), *(c for name in more for c in components(name))]))
        for system, more in systems.items()
    }
    for position, judge in enumerate(jury):
        own = families(judge)
        for family in own:
            if family in built:
                warnings.append(
                    f"judge {judge} is of the family {family}, as is {built[family]}, which took part in the "
                    f"benchmark's construction; its scores may favour the references' manner"
                )
            warnings += [
                f"judges {judge} and {other} are both of the family {family}; their agreement is no second opinion"
                for other in jury[position + 1 :]
                if family in families(other)
            ]
            for system, models in parts.items():
                same = [model for model in models if family in families(model)]
                if same:
                    warnings.append(
                        f"judge {judge} is of the family {family}, as is {', '.join(same)} in system {system}; "
                        f"judges favour their own family's outputs"
                    )
    for system, models in parts.items():
        for family in dict.fromkeys(family for model in models for family in families(model) if family in built):
            same = [model for model in models if family in families(model)]
            warnings.append(
                f"system {system} holds {', '.join(same)} of the family {family}, as is {built[family]}, which took "
                f"part in the benchmark's construction"
            )
    return warnings
