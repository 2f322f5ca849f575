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


def save_ijepa(folder: Path, seed: int = 0) -> Path:
    """An I-JEPA: neither pooler nor CLS token."""
    from transformers import IJepaConfig
    from transformers import IJepaModel

    return _save(lambda: IJepaModel(IJepaConfig(**_VIT), add_pooling_layer=False), folder, seed)


def save_resnet(folder: Path, seed: int = 0) -> Path:
    """A ResNet, whose pooled output is a map of one place."""
    from transformers import ResNetConfig
    from transformers import ResNetModel

    sizes: dict[str, Any] = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
    return _save(lambda: ResNetModel(ResNetConfig(**sizes)), folder, seed)


def save_mae(folder: Path, seed: int = 0) -> Path:
    """A masked autoencoder, which draws what it masks."""
    from transformers import ViTMAEConfig
    from transformers import ViTMAEModel

    return _save(lambda: ViTMAEModel(ViTMAEConfig(**_VIT, mask_ratio=0.5)), folder, seed)


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
