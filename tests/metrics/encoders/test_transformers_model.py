from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from safetensors.torch import save_file
from torch.nn.functional import normalize
from transformers import BertConfig
from transformers import BertModel

from medgen_metrics.encoders.finding import find
from medgen_metrics.encoders.finding import metric_name
from medgen_metrics.weights import WeightsUnavailable

from ..tiny_vision import save_clip
from ..tiny_vision import save_dinov2
from ..tiny_vision import save_ijepa
from ..tiny_vision import save_mae
from ..tiny_vision import save_resnet
from ..tiny_vision import save_vit
from .test_medimageinsight import Evil

CPU = torch.device("cpu")
IMAGES = [Image.fromarray(np.random.RandomState(seed).randint(0, 256, (40, 50, 3), np.uint8)) for seed in range(3)]


def pixels() -> torch.Tensor:
    """What ViT's preprocessor is documented to do, by torchvision: resize (bilinear), scale, mean and deviation 0.5."""
    from torchvision import transforms

    steps = [transforms.Resize((32, 32)), transforms.ToTensor(), transforms.Normalize([0.5] * 3, [0.5] * 3)]
    return torch.stack([transforms.Compose(steps)(image) for image in IMAGES])


def embed(folder: Path) -> np.ndarray:
    encoder = find(str(folder)).load(CPU, "float32")
    return encoder.encode([encoder.preprocess(image) for image in IMAGES])


def expected(folder: Path, take: Callable[[Any], torch.Tensor]) -> np.ndarray:
    from transformers import AutoModel

    with torch.inference_mode():
        return normalize(take(AutoModel.from_pretrained(folder))).numpy()


def test_pooler(tmp_path: Path) -> None:
    wanted = expected(save_vit(tmp_path), lambda model: model(pixels()).pooler_output)
    got = embed(tmp_path)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-6)


def test_a_pooler_that_the_checkpoint_lacks_is_not_drawn_but_left(tmp_path: Path) -> None:
    file = save_vit(tmp_path) / "model.safetensors"
    save_file(
        {name: tensor for name, tensor in load_file(file).items() if "pooler" not in name}, file, {"format": "pt"}
    )
    np.testing.assert_allclose(
        embed(tmp_path), expected(tmp_path, lambda model: model(pixels()).last_hidden_state[:, 0]), atol=1e-6
    )
    assert embed(tmp_path).tobytes() == embed(tmp_path).tobytes()


def test_dinov2s_pooler_is_its_cls_token(tmp_path: Path) -> None:
    wanted = expected(save_dinov2(tmp_path), lambda model: model(pixels()).last_hidden_state[:, 0])
    np.testing.assert_allclose(embed(tmp_path), wanted, atol=1e-6)


def test_clip_gives_its_projected_vector(tmp_path: Path) -> None:
    save_clip(tmp_path)
    got = embed(tmp_path)
    assert got.shape == (3, 8)
    wanted = expected(
        tmp_path, lambda model: model.visual_projection(model.vision_model(pixel_values=pixels()).pooler_output)
    )
    np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_without_pooler_and_cls_it_is_the_mean_over_positions(tmp_path: Path) -> None:
    wanted = expected(save_ijepa(tmp_path), lambda model: model(pixels()).last_hidden_state.mean(1))
    got = embed(tmp_path)
    assert got.shape == (3, 16)
    np.testing.assert_allclose(got, wanted, atol=1e-6)


def test_a_convnets_pooled_output_is_one_vector(tmp_path: Path) -> None:
    wanted = expected(save_resnet(tmp_path), lambda model: model(pixels()).last_hidden_state.mean((2, 3)))
    np.testing.assert_allclose(embed(tmp_path), wanted, atol=1e-6)


def test_a_model_that_draws_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="gives one image another embedding each time"):
        embed(save_mae(tmp_path))


def test_loading_leaves_random_states_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all devices: it may be in the middle of a training."""
    folder = save_vit(tmp_path)
    seeded: list[int] = []
    monkeypatch.setattr(torch.cuda, "manual_seed_all", seeded.append)
    before = torch.get_rng_state()
    embed(folder)
    assert torch.equal(torch.get_rng_state(), before)
    assert seeded == []


def test_a_model_of_something_else_is_told_as_it_is_loaded(tmp_path: Path) -> None:
    save_vit(tmp_path)
    BertModel(
        BertConfig(vocab_size=8, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    ).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds no transformers vision model"):
        find(str(tmp_path)).load(CPU, "float32")


def test_a_folder_of_pickled_weights_runs_no_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = embed(save_vit(tmp_path))
    state = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    torch.save(state, tmp_path / "pytorch_model.bin")
    np.testing.assert_allclose(embed(tmp_path), wanted, atol=1e-6)
    monkeypatch.chdir(tmp_path)
    torch.save({**state, "extra": Evil()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(ValueError, match="holds no transformers vision model"):
        find(str(tmp_path)).load(CPU, "float32")
    assert not Path("owned").exists()


@pytest.mark.parametrize("save", [save_vit, save_dinov2, save_clip, save_ijepa, save_resnet])
def test_an_embedding_does_not_depend_on_its_batch(save: Callable[[Path], Path], tmp_path: Path) -> None:
    encoder = find(str(save(tmp_path))).load(CPU, "float32")
    arrays = [encoder.preprocess(image) for image in IMAGES]
    together = encoder.encode(arrays * 5)
    alone = np.concatenate([encoder.encode([array]) for array in arrays] * 5)
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-6)


def test_weights_that_are_missing_are_an_error(tmp_path: Path) -> None:
    file = save_vit(tmp_path) / "model.safetensors"
    lost = "encoder.layer"
    kept = {name: tensor for name, tensor in load_file(file).items() if "mlp" not in name and lost + ".0.o" not in name}
    assert len(kept) < len(load_file(file))
    save_file(kept, file, {"format": "pt"})
    with pytest.raises(ValueError, match="lacks weights of its ViTModel"):
        embed(tmp_path)


def test_says_what_a_folder_lacks(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no config\.json"):
        find(str(tmp_path))
    save_vit(tmp_path)
    (tmp_path / "preprocessor_config.json").unlink()
    with pytest.raises(ValueError, match=r"has no preprocessor_config\.json"):
        find(str(tmp_path))
    with pytest.raises(ValueError, match="no folder"):
        find("/no/such/folder")
    with pytest.raises(WeightsUnavailable, match="nobody/none"):
        find("nobody/none", offline=True)
    with pytest.raises(ValueError, match="no folder"):
        find("open-clip:/no/such/folder")
    with pytest.raises(WeightsUnavailable, match="lion-ai/MedImageInsights@abc"):
        find("lion-ai/MedImageInsights@abc", offline=True)
    with pytest.raises(ValueError, match="expected a revision behind the @, got 'lion-ai/MedImageInsights@'"):
        find("lion-ai/MedImageInsights@", offline=True)
    with pytest.raises(ValueError, match="expected no revision beside a checkpoint"):
        find("lion-ai/MedImageInsights@abc", tmp_path)
    with pytest.raises(ValueError, match="only with MedImageInsight"):
        find("nobody/none", tmp_path / "weights.pt")


def test_a_preprocessor_is_part_of_the_definition(tmp_path: Path) -> None:
    first = find(str(save_vit(tmp_path))).definition
    path = tmp_path / "preprocessor_config.json"
    path.write_text(path.read_text("utf-8").replace('"height": 32', '"height": 48'), encoding="utf-8")
    assert find(str(tmp_path)).definition != first


def test_names() -> None:
    assert metric_name("lion-ai/MedImageInsights") == "mii"
    assert metric_name("facebook/dinov2-base@abc") == "cosine[dinov2-base@abc]"
    assert metric_name("mii=/opt/other") == "cosine[mii]"


def test_open_clip_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "open_clip", None)
    with pytest.raises(ImportError, match=r"pip install 'medgen-bench\[open-clip\]'"):
        find(f"open-clip:{tmp_path}")
