"""MedImageInsight's image tower against what the published architecture's own code gave (`make_reference`)."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

from medgen_metrics.encoders import medimageinsight
from medgen_metrics.encoders.medimageinsight import PUBLISHED
from medgen_metrics.encoders.medimageinsight import Architecture
from medgen_metrics.encoders.medimageinsight import MedImageInsight
from medgen_metrics.encoders.medimageinsight import find
from medgen_metrics.weights import MEDIMAGEINSIGHT_FILE

from .random_checkpoint import PROJECTION
from .random_checkpoint import SIZES
from .random_checkpoint import images
from .random_checkpoint import weights

REFERENCE = json.loads(Path(__file__).with_name("reference.json").read_text("utf-8"))
SMALL = Architecture(
    widths=tuple(SIZES["DIM_EMBED"]),
    heads=tuple(SIZES["NUM_HEADS"]),
    depths=tuple(SIZES["DEPTHS"]),
    dimensions=PROJECTION,
)
CPU = torch.device("cpu")


def state() -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(values) for name, values in weights(REFERENCE["shapes"]).items()}


def older(name: str) -> str:
    """The name that DaViT's first code gave a tensor."""
    name = name.replace("image_encoder.", "visual.").replace("image_projection", "vision_projection")
    name = name.replace(".convs.", ".conv_embeds.").replace(".blocks.", ".main_blocks.")
    for block, number, attention in (("spatial", 0, "window"), ("channel", 1, "channel")):
        name = name.replace(f"{block}_block.conv1.fn.dw", f"{number}.cpe.0.proj")
        name = name.replace(f"{block}_block.conv2.fn.dw", f"{number}.cpe.1.proj")
        name = name.replace(f"{block}_block.{attention}_attn.norm", f"{number}.norm1")
        name = name.replace(f"{block}_block.{attention}_attn.fn", f"{number}.attn")
        name = name.replace(f"{block}_block.ffn.norm", f"{number}.norm2")
        name = name.replace(f"{block}_block.ffn.fn.net", f"{number}.mlp")
    return name


def pickled(path: Path) -> None:
    torch.save({"state_dict": {**state(), "logit_scale": torch.ones([])}}, path)


def tensors(path: Path) -> None:
    save_file({**state(), "lang_projection": torch.zeros(4, 4)}, path)


def renamed(path: Path) -> None:
    names = {name: older(name) for name in state()}
    assert not any("l_block" in name for name in names.values())
    save_file({names[name]: tensor for name, tensor in state().items()}, path)


def embeddings(path: Path) -> np.ndarray:
    encoder = find(path, SMALL).load(CPU, "float32")
    return encoder.encode([encoder.preprocess(image) for image in images()])


@pytest.mark.parametrize("write", [tensors, pickled, renamed])
def test_embeds_as_the_published_architecture_does(write: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    write(path)
    got = embeddings(path)
    assert got.dtype == np.float32
    assert got.shape == (5, PROJECTION)
    np.testing.assert_allclose(got, REFERENCE["embeddings"], rtol=0, atol=1e-5)


def test_the_reference_can_tell_networks_apart(tmp_path: Path) -> None:
    # A block left out, a window of another size, unscaled channel attention: each is far beyond the tolerance.
    path = tmp_path / "weights.pt"
    tensors(path)
    encoder: Any = MedImageInsight(path, CPU, SMALL)
    pixels = [encoder.preprocess(image) for image in images()]
    spatial = encoder._tower.stages[0].blocks[0].spatial_block
    for owner, name, value in (
        (spatial, "window_size", (10, 10)),
        (encoder._tower.stages[2].blocks[0].channel_block.attn, "dynamic_scale", False),
        (encoder, "_mean", encoder._mean + 0.02),
    ):
        kept = getattr(owner, name)
        setattr(owner, name, value)
        assert np.abs(encoder.encode(pixels) - REFERENCE["embeddings"]).max() > 1e-4, name
        setattr(owner, name, kept)
    np.testing.assert_allclose(encoder.encode(pixels), REFERENCE["embeddings"], rtol=0, atol=1e-5)


def test_published_sizes_are_those_of_the_published_config() -> None:
    published, spec = REFERENCE["config"], REFERENCE["config"]["SPEC"]
    assert published["IMAGE_SIZE"] == [PUBLISHED.side] * 2
    assert tuple(spec["DIM_EMBED"]) == PUBLISHED.widths
    assert tuple(spec["NUM_HEADS"]) == tuple(spec["NUM_GROUPS"]) == PUBLISHED.heads
    assert tuple(spec["DEPTHS"]) == PUBLISHED.depths
    assert spec["WINDOW_SIZE"] == PUBLISHED.window
    assert tuple(published["IMAGE_MEAN"]) == medimageinsight.MEAN
    assert tuple(published["IMAGE_STD"]) == medimageinsight.STD
    # what the tower is built with beside its sizes
    assert (spec["PATCH_SIZE"], spec["PATCH_STRIDE"]) == ([7, 3, 3, 3], [4, 2, 2, 2])
    assert spec["PATCH_PRENORM"] == [False, True, True, True]
    assert not {"STANDPARAM", "DYNAMIC_SCALE", "CONV_AT_ATTN", "CONV_AT_FFN"} & spec.keys()


def test_an_image_is_squashed_not_cropped() -> None:
    encoder: Any = object.__new__(MedImageInsight)
    encoder._side = 8
    wide = Image.fromarray(np.tile(np.repeat(np.uint8([0, 255]), 40)[None, :, None], (10, 1, 3)))
    pixels = encoder.preprocess(wide)
    assert pixels.shape == (8, 8, 3)
    assert (pixels[:, 0].max(), pixels[:, -1].min()) == (0, 255)


def test_says_what_is_wrong_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.pt"
    whole = state()
    del whole["image_projection"]
    whole["image_encoder.norms.bias"] = torch.zeros(3)
    save_file(whole, path)
    with pytest.raises(ValueError, match=r"head\.norm\.bias is \(3,\), expected \(128,\); projection is absent"):
        find(path, SMALL).load(CPU, "float32")
    with pytest.raises(ValueError, match=r"expected \(256, 3, 7, 7\).*and \d+ more"):
        find(path).load(CPU, "float32")
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(ValueError, match="can't be read"):
        find(path, SMALL).load(CPU, "float32")
    save_file({**state(), "image_encoder.norms.bias": torch.full((128,), torch.nan)}, path)
    with pytest.raises(ValueError, match="not finite"):
        find(path, SMALL).load(CPU, "float32")


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return open, ("owned", "w")


def test_runs_no_code_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    buffer = io.BytesIO()
    torch.save({**state(), "extra": Evil()}, buffer)
    Path("weights.pt").write_bytes(buffer.getvalue())
    with pytest.raises(ValueError, match="can't be read"):
        find(Path("weights.pt"), SMALL).load(CPU, "float32")
    assert not Path("owned").exists()


def test_finds_the_file_in_a_folder_of_the_published_layout(tmp_path: Path) -> None:
    file = tmp_path / MEDIMAGEINSIGHT_FILE
    file.parent.mkdir(parents=True)
    tensors(file)
    for given in (tmp_path, tmp_path / "2024.09.27", file.parent, file):
        assert medimageinsight.checkpoint(given) == file
    with pytest.raises(FileNotFoundError, match=r"medimageinsigt-v1\.0\.0\.pt"):
        medimageinsight.checkpoint(tmp_path / "elsewhere")


def test_definition_changes_with_the_weights_only(tmp_path: Path) -> None:
    first, second = tmp_path / "a.pt", tmp_path / "b.pt"
    tensors(first)
    second.write_bytes(first.read_bytes())
    assert find(first).definition == find(second).definition
    save_file({**state(), "image_encoder.norms.bias": torch.zeros(128)}, second)
    assert find(first).definition != find(second).definition
    json.dumps(find(first).definition)
