"""A vision-language model in this process: chats in, replies out, a batch at a time.

What a reply depends on: greedy decoding takes the likeliest token; sampling takes the likeliest after Gumbel noise,
which is the same as drawing from the softmax, with noise from a generator of the request's own seed. So neither depends
on which other requests share the batch, but for the last bits of the logits: a batch is padded and multiplied in
another order than one request alone, and where two tokens are that close the reply may differ. The model's own
generation settings (top_p, top_k, penalties) are not used.
"""

import inspect
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from ..signature import digest
from .conversation import Messages
from .conversation import conversation
from .conversation import without_control

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Chat:
    """One request.

    Attributes:
        messages: OpenAI chat messages, images as data URLs.
        temperature: 0 is greedy.
        seed: of the draws.
        max_tokens: limit of the reply.
    """

    messages: Messages
    temperature: float
    seed: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Said:
    """One reply: its text, whether it came to its end within the limit, and both sides' lengths in tokens."""

    text: str
    ended: bool
    prompt_tokens: int
    completion_tokens: int


def load(
    folder: Path, device: str | None = None, dtype: str | None = None, more: Mapping[str, Any] | None = None
) -> "LocalModel":
    """Load a model with its processor.

    Args:
        folder: config, weights, tokenizer, image processor, chat template.
        device: torch's name of one device; None spreads the model over the accelerators that are there (by
            accelerate), or takes the CPU.
        dtype: torch's name of one; None takes the weights' own.
        more: further arguments of `from_pretrained`; those under `processor` are the processor's.

    Raises:
        ValueError: the folder holds no model that answers about images, or no chat template.
    """
    import torch
    import transformers
    from transformers import AutoModelForImageTextToText
    from transformers import AutoProcessor

    options = dict(more or {})
    of_processor = options.pop("processor", {})
    spread = "auto" if torch.cuda.is_available() else "cpu"
    options = {"device_map": {"": device} if device is not None else spread, **options, "local_files_only": True}
    kind = "auto" if dtype is None else getattr(torch, dtype)
    # transformers renamed the keyword
    options["torch_dtype" if int(transformers.__version__.split(".")[0]) < 5 else "dtype"] = kind
    if "trust_remote_code" in options:
        of_processor = {"trust_remote_code": options["trust_remote_code"], **of_processor}
    try:
        model = AutoModelForImageTextToText.from_pretrained(folder, **options).eval()
        processor = AutoProcessor.from_pretrained(folder, local_files_only=True, **of_processor)
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(
            f"expected a model for images and text with its processor in {folder.name}, got: {error}"
        ) from error
    return LocalModel(model, processor, folder.name)


class LocalModel:
    """A loaded model and its processor; neither the model nor its own settings are changed.

    Args:
        model: of transformers, for images and text.
        processor: with a tokenizer and a chat template; its tokenizer pads on the left from here on.
        name: for messages.

    Raises:
        ValueError: the processor has no tokenizer or no chat template.

    Attributes:
        device, dtype: where and how it computes, for the record.
    """

    def __init__(self, model: Any, processor: Any, name: str = "the model") -> None:
        from transformers import GenerationConfig

        self.model = model
        self.processor = processor
        self.tokenizer: Any = getattr(processor, "tokenizer", None)
        if self.tokenizer is None or not getattr(processor, "chat_template", None):
            raise ValueError(f"expected a processor with a tokenizer and a chat template in {name}, got none")
        self.tokenizer.padding_side = "left"  # replies continue their prompts
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        self.device, self.dtype = model.device, str(model.dtype).removeprefix("torch.")
        self._ends = _ends(model.generation_config.eos_token_id, self.tokenizer.eos_token_id)
        self._settings = GenerationConfig(
            eos_token_id=self._ends, pad_token_id=self.tokenizer.pad_token_id, bos_token_id=self.tokenizer.bos_token_id
        )
        names = inspect.signature(self.processor.apply_chat_template).parameters
        # What a response says must not become a turn of its own, or a place for an image.
        self._guards = "sanitize_control_tokens" in names
        self._nested = "processor_kwargs" in names

    def _limit(self, chat: Chat, prompt: int) -> int:
        """How many tokens a reply may have beside a prompt of so many."""
        config = getattr(self.model.config, "text_config", self.model.config)
        context = getattr(config, "max_position_embeddings", None)
        if context is None:
            return chat.max_tokens
        if prompt >= context:
            raise ValueError(
                f"expected a prompt of fewer than {context:,} tokens, which the model takes, got {prompt:,}"
            )
        return min(chat.max_tokens, context - prompt)

    def encode(self, chats: Sequence[Chat]) -> Any:
        """The model's inputs, padded on the left."""
        made = [conversation(chat.messages) for chat in chats]
        options: dict[str, Any] = {"sanitize_control_tokens": True} if self._guards else {}
        if not self._guards:
            made = [without_control(chat, _control(self.tokenizer)) for chat in made]
        options |= {"processor_kwargs": {"padding": True}} if self._nested else {"padding": True}
        return self.processor.apply_chat_template(
            made, tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt", **options
        )

    def reply(self, chats: Sequence[Chat], unwanted: Callable[[int], bool] = lambda row: False) -> list[Said]:
        """Reply to a batch.

        Args:
            chats: any number; all of them fit into the memory at once, or `torch.OutOfMemoryError` is raised.
            unwanted: asked after each token of each row: whether nobody waits for it any more.

        Returns:
            One a chat; of an unwanted one whatever was there.

        Raises:
            ValueError: a message that can't be shown, or a prompt that is longer than the model takes.
        """
        import torch
        from transformers import LogitsProcessorList
        from transformers import StoppingCriteriaList

        # pixels come as float32, whatever the model computes in
        inputs = self.encode(chats).to(self.device, dtype=self.model.dtype)
        width = inputs["input_ids"].shape[1]
        lengths = inputs["attention_mask"].sum(dim=1).tolist()
        limits = [self._limit(chat, length) for chat, length in zip(chats, lengths, strict=True)]

        def over(ids: "torch.Tensor", scores: Any, **_: Any) -> "torch.Tensor":
            done = [ids.shape[1] - width >= limits[row] or unwanted(row) for row in range(len(chats))]
            return torch.tensor(done, device=ids.device)

        # what a model caches on its way is of use to a training that goes on afterwards
        with torch.no_grad(), self._own_settings():
            made = self.model.generate(
                **inputs,
                do_sample=False,
                max_new_tokens=max(limits),
                logits_processor=LogitsProcessorList([Noise(chats)]),
                stopping_criteria=StoppingCriteriaList([over]),
            )
        return [
            self._said(row[width:].tolist(), limit, length)
            for row, limit, length in zip(made, limits, lengths, strict=True)
        ]

    @contextmanager
    def _own_settings(self) -> Iterator[None]:
        """`generate` would fill what a call leaves open from the model's settings, a penalty for instance."""
        theirs = self.model.generation_config
        self.model.generation_config = self._settings
        try:
            yield
        finally:
            self.model.generation_config = theirs

    def _said(self, tokens: list[int], limit: int, prompt: int) -> Said:
        tokens = tokens[:limit]
        end = next((place for place, token in enumerate(tokens) if token in self._ends), None)
        kept = tokens if end is None else tokens[:end]
        text = self.tokenizer.decode(kept, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Said(text, end is not None, prompt, len(kept) + (end is not None))


class Noise:
    """Adds Gumbel noise to the logits of the rows that sample, so that the likeliest token is a draw.

    Each row draws from a generator of its own, seeded by the request's seed and its messages (else all records would
    share their luck), on the CPU, whose numbers don't depend on the accelerator.
    """

    def __init__(self, chats: Sequence[Chat]) -> None:
        import torch

        self._rows = [
            (row, chat.temperature, torch.Generator().manual_seed(_seed(chat)))
            for row, chat in enumerate(chats)
            if chat.temperature > 0
        ]

    def __call__(self, ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Noisy scores [B, V] of scores [B, V]."""
        import torch

        if not self._rows:
            return scores
        # float64: in float32 the rare large draws, which decide, would lie on a coarse grid
        noisy = scores.double()
        for row, temperature, generator in self._rows:
            drawn = torch.empty(scores.shape[1], dtype=torch.float64).exponential_(generator=generator)
            noisy[row] = noisy[row] / temperature - drawn.log().to(scores.device)
        return noisy


def _seed(chat: Chat) -> int:
    return int(digest([chat.seed, [dict(message) for message in chat.messages]]), 16) >> 1


def _ends(*found: int | Sequence[int] | None) -> list[int]:
    """The tokens that end a reply."""
    ends: set[int] = set()
    for item in found:
        ends.update([item] if isinstance(item, int) else item or ())
    return sorted(ends)


def _control(tokenizer: Any) -> list[str]:
    return [token.content for token in tokenizer.added_tokens_decoder.values() if token.content.strip()]
