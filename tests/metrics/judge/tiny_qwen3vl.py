"""A Qwen3-VL checkpoint of some 1 MB with random weights, for tests and for trying the in-process judge offline.

    python -m tests.metrics.judge.tiny_qwen3vl OUT
    medgen-bench score … --tiers judge --judge-backend transformers --judge-model OUT

Every part is the real architecture's: model, image processor, byte-level tokenizer, chat template. It says gibberish.
"""

import json
import sys
from pathlib import Path
from typing import Any

from medgen_metrics.judge.rubric import VIEWS
from medgen_metrics.judge.rubric import rubric

CONTROL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)

# As the released models have it, for system, user and assistant turns of text and images.
TEMPLATE = """\
{%- set image_count = namespace(value=0) %}
{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' }}
    {%- if message.content is string %}
        {{- message.content }}
    {%- else %}
        {%- for part in message.content %}
            {%- if part.type == 'image' or 'image' in part or 'image_url' in part %}
                {%- set image_count.value = image_count.value + 1 %}
                {%- if add_vision_id %}Picture {{ image_count.value }}: {% endif -%}
                <|vision_start|><|image_pad|><|vision_end|>
            {%- elif 'text' in part %}
                {{- part.text }}
            {%- endif %}
        {%- endfor %}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def write(folder: Path, *, seed: int = 0) -> Path:
    """Write the checkpoint.

    Args:
        folder: made if need be.
        seed: of the random weights.

    Returns:
        `folder`.
    """
    import torch
    from transformers import Qwen3VLConfig
    from transformers import Qwen3VLForConditionalGeneration

    processor = _processor(folder)
    tokenizer = processor.tokenizer
    ids = {token: tokenizer.convert_tokens_to_ids(token) for token in CONTROL}
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 32_768,
            # wide enough that what is said depends on what is shown
            "initializer_range": 0.3,
            # as the released models' files have it; read by transformers 4 and 5
            "rope_theta": 5_000_000.0,
            "rope_scaling": {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 4,
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
            "initializer_range": 0.3,
        },
        image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"],
        vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"],
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3VLForConditionalGeneration(config).eval()
    generation: Any = model.generation_config
    generation.eos_token_id = [ids["<|im_end|>"], ids["<|endoftext|>"]]
    generation.pad_token_id = ids["<|endoftext|>"]
    # the released models ask for sampling; whoever loads them for judging must not inherit it
    generation.do_sample, generation.temperature, generation.top_p, generation.top_k = True, 0.7, 0.8, 20
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _processor(folder: Path) -> Any:
    from transformers import Qwen2VLImageProcessor
    from transformers import Qwen3VLProcessor
    from transformers import Qwen3VLVideoProcessor

    tokenizer = byte_level(folder)
    images = Qwen2VLImageProcessor(
        patch_size=16,
        size={"shortest_edge": 32 * 32, "longest_edge": 128 * 128},
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return Qwen3VLProcessor(
        image_processor=images, tokenizer=tokenizer, video_processor=Qwen3VLVideoProcessor(), chat_template=TEMPLATE
    )


def byte_level(folder: Path) -> Any:
    """A tokenizer of Qwen's kind with the control tokens, written to `folder`."""
    from transformers import AutoTokenizer

    _write_vocabulary(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"additional_special_tokens": list(CONTROL)})
    return tokenizer


def _write_vocabulary(folder: Path) -> None:
    """A byte-level BPE of 1,200 tokens, learned from the rubric's words: any text can be said, prompts are short."""
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer

    learned = Tokenizer(BPE())
    learned.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=1200,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(ByteLevel.alphabet()),
        show_progress=False,
    )
    words = "\n".join(
        rubric().describe(config, task, view)
        for config, task in (
            ("vqa", "question-answering"),
            ("edit", "noise-reconstruction"),
            ("gen", "organic-removal"),
        )
        for view in VIEWS
    )
    learned.train_from_iterator([words], trainer)
    folder.mkdir(parents=True, exist_ok=True)
    learned.model.save(str(folder))
    settings = {"tokenizer_class": "Qwen2Tokenizer", "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
