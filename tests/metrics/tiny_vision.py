"""Vision models of random weights, each with its preprocessor, in a folder as the Hub has them."""

from pathlib import Path
from typing import Any

import torch

_VIT: dict[str, Any] = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "image_size": 32,
    "patch_size": 16,
}


def save_vit(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """A ViT with a pooler."""
    from transformers import ViTConfig
    from transformers import ViTModel

    return _save(lambda: ViTModel(ViTConfig(**_VIT, **changes)), folder, seed)


def save_dinov2(folder: Path, seed: int = 0) -> Path:
    """A DINOv2, the family of Rad-DINO."""
    from transformers import Dinov2Config
    from transformers import Dinov2Model

    return _save(lambda: Dinov2Model(Dinov2Config(**_VIT)), folder, seed)


def save_clip(folder: Path, seed: int = 0) -> Path:
    """A CLIP of both towers."""
    from transformers import CLIPConfig
    from transformers import CLIPModel

    text = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    config = CLIPConfig(text_config={**text, "vocab_size": 64}, vision_config=_VIT, projection_dim=8)
    return _save(lambda: CLIPModel(config), folder, seed)


def _save(make: Any, folder: Path, seed: int) -> Path:
    from transformers import ViTImageProcessor

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        make().save_pretrained(folder)
    ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder
