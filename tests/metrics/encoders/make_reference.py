"""Makes `reference.json`: what the package `medimageinsights` gives for random weights and the images of this folder.

That package holds the published architecture, transforms and `config.yaml`, and shares no model code with ours, which
runs on timm. It is not a dependency of the tests, so what it gave is kept. To make it again, from the root, in an
environment in a folder of your choice:

    python -m venv FOLDER && . FOLDER/bin/activate
    pip install torch torchvision timm transformers pyyaml requests tenacity safetensors
    pip install --no-deps medimageinsights==0.1.1 mup yacs einops fvcore iopath portalocker termcolor tabulate ftfy
    python -m tests.metrics.encoders.make_reference
"""

import copy
import json
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
import yaml

from .random_checkpoint import PROJECTION
from .random_checkpoint import SIZES
from .random_checkpoint import images
from .random_checkpoint import weights


def main() -> None:
    """Write the file."""
    from MedImageInsights.ImageDataLoader.transforms import build_transforms
    from MedImageInsights.Models.UniCLModel import UniCLModel

    config = yaml.safe_load(files("MedImageInsights").joinpath("v20240927/config.yaml").read_text("utf-8"))
    published = copy.deepcopy(config["IMAGE_ENCODER"])
    config["IMAGE_ENCODER"]["SPEC"].update(SIZES, NUM_GROUPS=SIZES["NUM_HEADS"])
    config["UNICL_MODEL"]["DIM_PROJECTION"] = PROJECTION
    config["LANG_ENCODER"].update(WIDTH=16, HEADS=2, LAYERS=1)
    config["LANG_ENCODER"]["PRETRAINED_TOKENIZER"] = "v20240927/language_model/clip_tokenizer_v4162"
    torch.manual_seed(0)
    model = UniCLModel(config).eval()
    shapes = {
        name: list(tensor.shape)
        for name, tensor in model.state_dict().items()
        if name.startswith("image_encoder.") or name == "image_projection"
    }
    state = {name: torch.from_numpy(values) for name, values in weights(shapes).items()}
    left = model.load_state_dict(state, strict=False)
    assert not left.unexpected_keys
    assert not [name for name in left.missing_keys if name.startswith("image")]
    transform = build_transforms(config, is_train=False)
    with torch.no_grad():
        # checkpointing, which `config.yaml` asks for, is for training
        model.image_encoder.enable_checkpoint = False
        embeddings = model.encode_image(torch.stack([transform(image) for image in images()])).numpy()
    told = {
        "made_by": {name: version(name) for name in ("medimageinsights", "torch", "timm", "numpy", "pillow")},
        "config": published,
        "shapes": shapes,
        "embeddings": [[float(np.float32(value)) for value in row] for row in embeddings],
    }
    path = Path(__file__).with_name("reference.json")
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {embeddings.shape}, cosines\n{np.round(embeddings @ embeddings.T, 3)}")


if __name__ == "__main__":
    main()
