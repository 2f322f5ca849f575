"""A model under training, measured every so many steps: `MedGenCallback` for `transformers.Trainer`.

    from medgen_scripts.callback import MedGenCallback

    trainer.add_callback(MedGenCallback(trainer, every=500, config="vqa", limit=64))

A module to be imported by training scripts: unlike the rest of the command line it loads transformers at once.
"""

import copy
import logging
import time
from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import Trainer
from transformers import TrainerCallback
from transformers import TrainerControl
from transformers import TrainerState
from transformers import TrainingArguments

from medgen_metrics.rows import Row
from medgen_metrics.rows import summarise
from medgen_metrics.serving.local_model import Chat
from medgen_metrics.serving.local_model import LocalModel

from .backends import python_function
from .backends.base import Ask
from .backends.transformers_model import messages
from .callback_measures import asking_of
from .callback_measures import tiers_of
from .errors import UsageError
from .prediction import GIVES
from .prediction import Prediction
from .records import load_records
from .running.options import RunOptions
from .running.selection import selected
from .running.work import Work
from .running.work import seed_of

PREFIX = "eval_medgen"

Respond = Callable[[list[dict[str, Any]]], Sequence[Any]]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Held:
    """An image in memory, as `Prediction` has it."""

    data: bytes
    name: str = ""

    def read_bytes(self) -> bytes:
        return self.data


class MedGenCallback(TrainerCallback):
    """Runs a fixed subset of a config through the model under training, and logs how it scored.

    Logged, and kept in `trainer.state.log_history`, as `eval_medgen_<config>_<metric>` in natural units, with
    `_failed`, the share of records without an answer, `_records` and `_seconds`. A metric that no record could be
    scored by is left out. Where the trainer evaluates at the same step, `metric_for_best_model="medgen_vqa_em"` finds
    them.

    Under several processes (DDP) each answers its share, and all log the same. The model's and the training's state
    stay as they were: generation is greedy, draws no random number and leaves the model's own settings alone.

    Args:
        trainer: whose model is measured.
        every: steps between two measurements.
        config: vqa, edit or gen; a model of transformers gives text, so that edit and gen need `respond`.
        edition, data_dir: of the data.
        limit: records, chosen by `seed` evenly over tasks and modalities; None for all.
        tasks, modalities: only these.
        seed: of the selection.
        metrics: of em, bleu, bertscore, ssim, psnr, lpips; the default are those that need no weights.
        text_model: BERTScore's encoder, as `medgen-bench score --text-model`.
        protocol: paper or standard.
        prompts: templates, as a system's file names them.
        batch_size: records of a batch.
        max_tokens: limit of an answer.
        image_side, max_images: as in a system's file.
        processor: with the chat template; default the trainer's `processing_class`. A copy is used.
        respond: answers a batch in place of the model's `generate`: a list of dicts as
            `medgen_scripts.backends.python_function` gives a batch function, to a list of texts, images or dicts of
            both. It is called in evaluation mode without gradients.

    Raises:
        UsageError: something of these that can't be; weights of a metric that aren't on this machine.
    """

    def __init__(
        self,
        trainer: Trainer,
        *,
        every: int,
        config: str = "vqa",
        edition: str = "paper",
        data_dir: Path | None = None,
        limit: int | None = 64,
        tasks: Sequence[str] = (),
        modalities: Sequence[str] = (),
        seed: int = 0,
        metrics: Sequence[str] | None = None,
        text_model: str | None = None,
        protocol: str = "paper",
        prompts: str = "v1",
        batch_size: int = 8,
        max_tokens: int = 256,
        image_side: int | None = None,
        max_images: int | None = None,
        processor: Any = None,
        respond: Respond | None = None,
    ) -> None:
        if every < 1 or batch_size < 1:
            raise UsageError(f"expected every and batch_size of 1 or more, got {every} and {batch_size}")
        options = RunOptions(
            edition=edition, data_dir=data_dir, limit=limit, seed=seed, tasks=tuple(tasks), modalities=tuple(modalities)
        )
        with trainer.args.main_process_first(desc="reading the benchmark's records"):
            self._records = load_records(config, edition, data_dir)
        self._positions = selected(self._records, options).positions
        if "image" in GIVES[config] and respond is None:
            raise UsageError(f"config {config} asks for an image, which `generate` doesn't give; pass respond=")
        self._trainer = trainer
        self._every = every
        self._seed = seed
        self._batch_size = batch_size
        self._max_tokens = max_tokens
        self._respond = respond
        # it pads on the other side than in training
        self._processor = copy.deepcopy(processor or getattr(trainer, "processing_class", None))
        if respond is None:
            self._generating(trainer.model)
        self._tiers = tiers_of(config, metrics, protocol, text_model)
        self._asking = asking_of(config, prompts, max_tokens, image_side, max_images)
        self._latest: dict[str, float] = {}
        self._step = -1

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Measure, where it is time."""
        if state.global_step % self._every == 0:
            self._latest, self._step = self.measure(kwargs["model"]), state.global_step
            # to log is to say that all has been logged, and the step's loss has not
            wanted = control.should_log
            self._trainer.log(dict(self._latest))
            control.should_log = wanted
        return control

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Lend the trainer's evaluation of the same step what was measured."""
        if self._step == state.global_step:
            kwargs["metrics"].update(self._latest)
        return control

    def measure(self, model: Any) -> dict[str, float]:
        """Run the subset through a model; all processes have to call it.

        Returns:
            What is logged, the same in all processes.
        """
        started = time.monotonic()
        accelerator = self._trainer.accelerator
        rank, size = accelerator.process_index, accelerator.num_processes
        found = self._scored(accelerator.unwrap_model(model), self._positions[rank::size])
        if size > 1:
            from accelerate.utils import gather_object

            found = sorted(gather_object(found), key=lambda entry: entry[0])
        name = f"{PREFIX}_{self._records.config}"
        logged: dict[str, float] = {}
        for tier, work in self._tiers.items():
            told = summarise([rows[tier] for _, rows, _ in found], work.scorer.specs)["metrics"]
            logged |= {f"{name}_{metric}": about["mean"] for metric, about in told.items() if about["mean"] is not None}
        logged[f"{name}_failed"] = sum(failed for *_, failed in found) / len(found)
        logged[f"{name}_records"] = len(found)
        logged[f"{name}_seconds"] = round(time.monotonic() - started, 3)
        return logged

    def _scored(self, model: Any, positions: Sequence[int]) -> list[tuple[int, dict[str, Row], bool]]:
        """Position, rows of the tiers, and whether there was no answer, a record."""
        found = []
        with _evaluating(model), self._trainer.accelerator.autocast():
            respond = self._respond or self._generating(model)
            for start in range(0, len(positions), self._batch_size):
                batch = positions[start : start + self._batch_size]
                records = [self._records[position] for position in batch]
                works = [Work(record, seed_of(self._seed, record.id)) for record in records]
                predictions = self._predictions([self._asking.asks(work)[0][1] for work in works], respond)
                rows = {
                    tier: work.score(list(zip(records, predictions, strict=True))) for tier, work in self._tiers.items()
                }
                for place, position in enumerate(batch):
                    failed = predictions[place].error is not None
                    found.append((position, {tier: rows[tier][place] for tier in rows}, failed))
        return found

    def _predictions(self, asks: Sequence[Ask], respond: "Respond | _Generating") -> list[Prediction]:
        try:
            if isinstance(respond, _Generating):
                answers: Sequence[Any] = respond(asks)
            else:
                answers = python_function.answers(respond, asks, {})
            read = [python_function.parts(answer) for answer in answers]
            files = [python_function.as_file(image) for _, image, _ in read]
        except Exception as error:
            # A measurement that fails is logged as one; it must not end the training.
            logger.warning("%s: %s: %s", ", ".join(ask.id for ask in asks), type(error).__name__, error)
            said = f"{type(error).__name__}: {error}"
            return [_prediction(ask, None, None, said) for ask in asks]
        return [
            _prediction(ask, text, image, _lacking(ask, text, image))
            for ask, (text, _, _), image in zip(asks, read, files, strict=True)
        ]

    def _generating(self, model: Any) -> "_Generating":
        from transformers.integrations import is_deepspeed_zero3_enabled

        if self._trainer.is_fsdp_enabled or is_deepspeed_zero3_enabled():
            raise UsageError("the model's weights are spread over processes (FSDP, ZeRO-3); pass respond=")
        # an adapter's wrapper generates through the model that it was put into
        whole = model.get_base_model() if hasattr(model, "get_base_model") else model
        try:
            return _Generating(LocalModel(whole, self._processor, "the trainer's processing_class"), self._max_tokens)
        except ValueError as error:
            raise UsageError(f"{error}; pass processor= or respond=") from error


@dataclass(frozen=True)
class _Generating:
    """The model's own answers."""

    model: LocalModel
    max_tokens: int

    def __call__(self, asks: Sequence[Ask]) -> list[str]:
        chats = [Chat(messages(ask), 0.0, ask.seed, self.max_tokens) for ask in asks]
        return [said.text for said in self.model.reply(chats)]


def _lacking(ask: Ask, text: str | None, image: bytes | None) -> str | None:
    absent = [kind for kind, value in (("text", text), ("image", image)) if kind in ask.wants and not value]
    return f"no {' and no '.join(absent)}" if absent else None


def _prediction(ask: Ask, text: str | None, image: bytes | None, error: str | None) -> Prediction:
    return Prediction(
        ask.id,
        text=text,
        image=None if image is None else _Held(image),
        text_reason="missing" if text is None else None,
        image_reason="missing" if image is None else None,
        error=error,
    )


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Without gradients, dropout and the like; afterwards each module is in its own mode again."""
    import torch

    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode
