"""open_clip's encoders, where the extra is installed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file
from torch.nn.functional import normalize

from medgen_metrics.encoders.finding import find
from medgen_metrics.weights import WeightsUnavailable

from .test_medimageinsight import Evil

open_clip = pytest.importorskip("open_clip", reason="needs the extra open-clip")

VISION = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}
TEXT = {"context_length": 8, "vocab_size": 64, "width": 16, "heads": 2, "layers": 1}
GREY = {"mean": [0.5] * 3, "std": [0.5] * 3}


def save(folder: Path, text: dict[str, Any] = TEXT) -> Any:
    """A CLIP of random weights, in a folder as open_clip's Hub repositories are."""
    config = {"embed_dim": 16, "vision_cfg": VISION, "text_cfg": text}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": config, "preprocess_cfg": GREY}))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = open_clip.model.CLIP(16, open_clip.CLIPVisionCfg(**VISION), open_clip.CLIPTextCfg(**TEXT)).eval()
    state = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    save_file(state, folder / "open_clip_model.safetensors")
    return model


def test_gives_the_image_towers_projected_vector(tmp_path: Path) -> None:
    model = save(tmp_path)
    image = Image.fromarray(np.random.RandomState(0).randint(0, 256, (32, 32, 3), np.uint8))
    encoder = find(f"open-clip:{tmp_path}").load(torch.device("cpu"), "float32")
    pixels = torch.from_numpy(np.asarray(image, np.float32)).movedim(-1, 0)[None] / 127.5 - 1
    with torch.inference_mode():
        wanted = normalize(model.encode_image(pixels)).numpy()
    np.testing.assert_allclose(encoder.encode([encoder.preprocess(image)]), wanted, atol=1e-6)


def test_says_what_a_folder_lacks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"expected an open_clip folder with open_clip_config\.json"):
        find(f"open-clip:{tmp_path}")
    save(tmp_path)
    (tmp_path / "open_clip_config.json").write_text("{}")
    with pytest.raises(ValueError, match="can't be loaded"):
        find(f"open-clip:{tmp_path}").load(torch.device("cpu"), "float32")


def test_the_text_tower_is_not_asked_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    model = save(tmp_path, {"hf_model_name": "nobody/none", "hf_tokenizer_name": "nobody/none", "hf_proj_type": "mlp"})
    encoder: Any = find(f"open-clip:{tmp_path}").load(torch.device("cpu"), "float32")
    image = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        wanted = normalize(model.encode_image(image)).numpy()
    np.testing.assert_allclose(encoder.encode(list(image.numpy())), wanted, atol=1e-6)
    assert not caplog.records


def test_missing_weights_and_code_in_a_pickle_are_refused(tmp_path: Path) -> None:
    model = save(tmp_path)
    kept = {name: tensor.contiguous() for name, tensor in model.state_dict().items() if "visual.proj" not in name}
    save_file(kept, tmp_path / "open_clip_model.safetensors")
    with pytest.raises(ValueError, match=r"can't be loaded: .*Missing key.*proj"):
        find(f"open-clip:{tmp_path}").load(torch.device("cpu"), "float32")
    (tmp_path / "open_clip_model.safetensors").unlink()
    torch.save({**kept, "extra": Evil()}, tmp_path / "open_clip_pytorch_model.bin")
    with pytest.raises(ValueError, match="can't be loaded"):
        find(f"open-clip:{tmp_path}").load(torch.device("cpu"), "float32")


def test_a_revision_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(WeightsUnavailable, match="nobody/none@abc"):
        find("open-clip:nobody/none@abc", offline=True)
