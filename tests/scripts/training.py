"""A few steps of training a tiny model, alone or as one of several processes.

RANK=0 WORLD_SIZE=2 … python -m tests.scripts.training CHECKPOINT OUT
"""

import json
import sys
from pathlib import Path
from typing import Any

STEPS, EVERY, RECORDS = 4, 2, 5


def trainer(checkpoint: Path, out: Path, **arguments: Any) -> Any:
    """A trainer of a random Qwen3-VL on the sample's questions."""
    import torch
    from transformers import AutoModelForImageTextToText
    from transformers import AutoProcessor
    from transformers import Trainer
    from transformers import TrainingArguments

    from medgen_scripts.records import load_records

    model = AutoModelForImageTextToText.from_pretrained(checkpoint)
    processor = AutoProcessor.from_pretrained(checkpoint)
    processor.tokenizer.padding_side = "right"
    records = load_records("vqa", "sample")

    def collate(positions: list[int]) -> dict[str, torch.Tensor]:
        chats = []
        for position in positions:
            record = records[position]
            shown = [{"type": "image", "image": picture.open().convert("RGB")} for picture in record.input_images]
            user = {"role": "user", "content": [*shown, {"type": "text", "text": record.instruction}]}
            said = {"role": "assistant", "content": [{"type": "text", "text": record.answer}]}
            chats.append([user, said])
        found = processor.apply_chat_template(
            chats, tokenize=True, return_dict=True, return_tensors="pt", processor_kwargs={"padding": True}
        )
        return {**found, "labels": found["input_ids"].masked_fill(found["attention_mask"] == 0, -100)}

    told = {
        "output_dir": str(out),
        "max_steps": STEPS,
        "per_device_train_batch_size": 1,
        "logging_steps": 1,
        "learning_rate": 1e-2,
        "save_strategy": "no",
        "report_to": [],
        "use_cpu": True,
        "remove_unused_columns": False,
        "disable_tqdm": True,
        **arguments,
    }
    return Trainer(
        model=model,
        args=TrainingArguments(**told),
        train_dataset=list(range(6)),  # type: ignore[arg-type]
        eval_dataset=list(range(2)),  # type: ignore[arg-type]
        data_collator=collate,
        processing_class=processor,
    )


def one_of_two(checkpoint: str, out: str) -> None:
    """Train, and write what was logged in this process."""
    from medgen_scripts.callback import MedGenCallback

    made = trainer(Path(checkpoint), Path(out))
    assert made.accelerator.num_processes == 2
    options: dict[str, Any] = {"edition": "sample", "limit": RECORDS, "max_tokens": 8, "batch_size": 2}
    callback = MedGenCallback(made, every=EVERY, **options)
    before = callback.measure(made.model)
    made.add_callback(callback)
    made.train()
    rank = made.accelerator.process_index
    (Path(out) / f"log-{rank}.json").write_text(json.dumps([before, *made.state.log_history]))


def main(checkpoint: str, out: str) -> None:
    """Two processes over gloo, forked from one that has imported everything."""
    import transformers.trainer  # noqa: F401
    from accelerate import debug_launcher

    import medgen_scripts.callback  # noqa: F401

    debug_launcher(one_of_two, args=(checkpoint, out), num_processes=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
