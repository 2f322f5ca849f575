"""Pipelines of diffusers with random weights, a megabyte or two each, built from configs."""

import json
from pathlib import Path
from typing import Any


def stable_diffusion(folder: Path, kind: str = "StableDiffusionPipeline", *, in_channels: int = 4) -> Path:
    """Stable Diffusion's parts, tiny.

    Args:
        folder: made if need be.
        kind: class of diffusers that the checkpoint is of.
        in_channels: of the denoiser: 4; 8 for InstructPix2Pix; 9 for inpainting.
    """
    import diffusers
    import torch
    from transformers import CLIPTextConfig
    from transformers import CLIPTextModel

    torch.manual_seed(0)
    parts: dict[str, Any] = {
        "unet": diffusers.UNet2DConditionModel(
            block_out_channels=(8, 16),
            layers_per_block=1,
            sample_size=8,
            in_channels=in_channels,
            out_channels=4,
            down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
            up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
            cross_attention_dim=16,
            attention_head_dim=4,
            norm_num_groups=4,
        ),
        "vae": diffusers.AutoencoderKL(
            block_out_channels=[8, 8, 8, 8],
            in_channels=3,
            out_channels=3,
            down_block_types=["DownEncoderBlock2D"] * 4,
            up_block_types=["UpDecoderBlock2D"] * 4,
            latent_channels=4,
            norm_num_groups=4,
            layers_per_block=1,
        ),
        "text_encoder": CLIPTextModel(
            CLIPTextConfig(
                hidden_size=16,
                intermediate_size=16,
                num_attention_heads=4,
                num_hidden_layers=1,
                vocab_size=300,
                max_position_embeddings=77,
                bos_token_id=298,
                eos_token_id=299,
                pad_token_id=299,
            )
        ),
        "tokenizer": _clip_tokenizer(folder / "vocabulary"),
        "scheduler": diffusers.EulerAncestralDiscreteScheduler(steps_offset=1),
    }
    none = {"safety_checker": None, "feature_extractor": None}
    pipeline = getattr(diffusers, kind)(**parts, **none, requires_safety_checker=False)
    pipeline.save_pretrained(folder)
    return folder


def _clip_tokenizer(folder: Path) -> Any:
    """Single letters, with and without a word's end."""
    from transformers import CLIPTokenizer

    letters = "abcdefghijklmnopqrstuvwxyz0123456789.,?!-:;()'/"
    words = [*letters, *(f"{letter}</w>" for letter in letters)]
    words += [f"unused-{number}" for number in range(298 - len(words))]
    vocabulary = {word: number for number, word in enumerate([*words, "<|startoftext|>", "<|endoftext|>"])}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vocab.json").write_text(json.dumps(vocabulary))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    return CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"), model_max_length=77)


def qwen_image_edit(folder: Path) -> Path:
    """Qwen-Image-Edit's parts, tiny, with a language model of the real architecture."""
    import diffusers
    import torch
    from transformers import Qwen2_5_VLConfig
    from transformers import Qwen2_5_VLForConditionalGeneration
    from transformers import Qwen2VLImageProcessor
    from transformers import Qwen2VLProcessor
    from transformers import Qwen2VLVideoProcessor

    from tests.metrics.judge.tiny_qwen3vl import CONTROL
    from tests.metrics.judge.tiny_qwen3vl import TEMPLATE
    from tests.metrics.judge.tiny_qwen3vl import byte_level

    tokenizer = byte_level(folder / "vocabulary")
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in CONTROL}
    torch.manual_seed(0)
    text = Qwen2_5_VLForConditionalGeneration(
        Qwen2_5_VLConfig(
            text_config={
                "hidden_size": 16,
                "intermediate_size": 16,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "num_key_value_heads": 2,
                "rope_scaling": {"mrope_section": [1, 1, 2], "rope_type": "default", "type": "default"},
                "rope_theta": 1_000_000.0,
                "vocab_size": len(tokenizer),
            },
            vision_config={
                "depth": 2,
                "hidden_size": 16,
                "intermediate_size": 16,
                "num_heads": 2,
                "out_hidden_size": 16,
            },
            image_token_id=ids["<|image_pad|>"],
            video_token_id=ids["<|video_pad|>"],
            vision_start_token_id=ids["<|vision_start|>"],
            vision_end_token_id=ids["<|vision_end|>"],
        )
    )
    pipeline = diffusers.QwenImageEditPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=diffusers.AutoencoderKLQwenImage(
            base_dim=24,
            z_dim=4,
            dim_mult=[1, 2, 4],
            num_res_blocks=1,
            temperal_downsample=[False, True],
            latents_mean=[0.0] * 4,
            latents_std=[1.0] * 4,
        ),
        text_encoder=text,
        tokenizer=tokenizer,
        processor=Qwen2VLProcessor(
            image_processor=Qwen2VLImageProcessor(),
            tokenizer=tokenizer,
            video_processor=Qwen2VLVideoProcessor(),
            chat_template=TEMPLATE,
        ),
        transformer=diffusers.QwenImageTransformer2DModel(
            patch_size=2,
            in_channels=16,
            out_channels=4,
            num_layers=2,
            attention_head_dim=16,
            num_attention_heads=2,
            joint_attention_dim=16,
            guidance_embeds=False,
            axes_dims_rope=(8, 4, 4),
        ),
    )
    pipeline.save_pretrained(folder)
    return folder
