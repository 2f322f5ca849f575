"""A judge in this process: transformers' image-text-to-text models, asked like a server.

Requests that wait at the same time are answered as one batch, in one thread of their own, since a model can do one
batch at a time; the event loop goes on meanwhile. There is no JSON mode here: the prompt alone asks for the form.
"""

import asyncio
import logging
import queue
import re
import secrets
import threading
from collections.abc import Mapping
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import InvalidStateError
from pathlib import Path
from typing import TYPE_CHECKING
from typing import Any

from .. import weights
from ..bertscore import folder_digest
from ..serving.faults import REJECTED
from ..serving.faults import CallFailed
from ..serving.usage import Usage
from ..serving.usage import measure
from .client import Reply
from .local_model import Chat
from .local_model import Said

if TYPE_CHECKING:
    from .local_model import LocalModel

LINGER = 0.05  # seconds that a batch waits for more requests; a reply takes longer by far
HERE = "in process"  # in place of a server's address
# besides the weights: what of a folder moves a reply
_SETTINGS = ("chat_template.jinja", "chat_template.json", "preprocessor_config.json", "processor_config.json")
_FILES = ["*.json", "*.txt", "*.jinja", "*.model", "*.safetensors"]

logger = logging.getLogger(__name__)


def find(model: str, *, revision: str | None = None, offline: bool | None = None) -> Path:
    """Have a judge's weights on this machine, downloaded if need be.

    Args:
        model: a folder, or a Hub id.
        revision: branch, tag or commit on the Hub.
        offline: don't try the network; default as `weights.obtain`.

    Raises:
        weights.WeightsUnavailable: not here and not to be had.
        ValueError: neither a folder nor a Hub id, or a folder with a revision.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if revision is not None:
            raise ValueError(f"judge: expected no revision of a folder, got {revision!r} with {model}")
        if not (folder / "config.json").is_file():
            raise ValueError(f"judge: {model} has no config.json; expected the folder of a transformers model")
        return folder
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model):
        raise ValueError(f"judge: {model!r} is neither a folder here nor a Hub id (owner/name)")
    return weights.obtain(
        weights.hub_model(model, revision, tier="judge", metric="holistic", files=_FILES), offline=offline
    )


def unavailable(model: str, *, revision: str | None = None, offline: bool | None = None) -> str | None:
    """Why a judge's weights can't be had, with what to get; None where they are here now (downloaded if need be).

    Raises:
        ValueError: as `find`.
    """
    try:
        find(model, revision=revision, offline=offline)
    except weights.WeightsUnavailable as error:
        return str(error)
    return None


def identity(model: str, *, revision: str | None = None, offline: bool | None = None) -> dict[str, str]:
    """What tells one judge in process from another, whatever their folders are called. Loads nothing.

    Returns:
        `model`, the Hub id or the folder's name; `weights`, a digest of weights, tokenizer and settings by content;
        and of a model from the Hub `revision`, its commit.

    Raises:
        As `find`; ValueError: a folder without weights.
    """
    folder = find(model, revision=revision, offline=offline)
    found = {"model": folder.name if Path(model).expanduser().is_dir() else model}
    found["weights"] = folder_digest(folder, _SETTINGS)
    if re.fullmatch(r"[0-9a-f]{40}", folder.name) and folder.parent.name == "snapshots":
        found["revision"] = folder.name
    return found


class _Waiting:
    """A request that waits for its reply."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self.future: Future[Said] = Future()


class TransformersBackend:
    """A judge in this process; see `client.Backend`.

    Args:
        model: a folder, or a Hub id.
        device: torch's name of one device; None spreads the model over the accelerators that are there, or takes the
            CPU.
        dtype: torch's name of one (`bfloat16`); None takes the weights' own.
        revision: branch, tag or commit on the Hub.
        batch_size: most requests of a batch; halved where the memory is too small.
        offline: don't try the network; default as `weights.obtain`.

    Attributes:
        name: the model as asked for.
        mode: `text`.
        batches: sizes of the batches so far.
    """

    mode: str | None = "text"

    def __init__(
        self,
        model: str,
        *,
        device: str | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        batch_size: int = 8,
        offline: bool | None = None,
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size: expected 1 or more, got {batch_size}")
        self.name = model
        self.batches: list[int] = []
        self._device, self._dtype, self._revision, self._offline = device, dtype, revision, offline
        self._batch_size = batch_size
        self._identity: dict[str, str] | None = None
        self._model: LocalModel | None = None
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._worker: threading.Thread | None = None
        self._lock = threading.Lock()

    def fingerprint(self) -> dict[str, Any]:
        """See `client.Backend`: `identity`, and once it is loaded where and in what type the model computes."""
        found: dict[str, Any] = {"fingerprint": self._fingerprint(), **self._known(), "backend": "transformers"}
        if self._model is not None:
            found |= {"dtype": self._model.dtype, "device": self._model.device.type}
        return found

    def _known(self) -> dict[str, str]:
        if self._identity is None:
            self._identity = identity(self.name, revision=self._revision, offline=self._offline)
        return self._identity

    def _fingerprint(self) -> str:
        return self._known()["weights"]

    async def probe(self) -> str:
        """How replies are asked for: always `text`. Makes sure that the weights are here.

        Raises:
            weights.WeightsUnavailable: they are not to be had.
        """
        await asyncio.to_thread(self._known)
        return "text"

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        *,
        temperature: float,
        seed: int | None,
        max_tokens: int,
    ) -> Reply:
        """One reply; `schema` is in the prompt's words only.

        Raises:
            CallFailed: the request doesn't fit the model or the memory.
            weights.WeightsUnavailable: the weights are not to be had.
            ValueError: the folder holds no such model.
        """
        drawn = secrets.randbits(62) if seed is None else seed
        waiting = _Waiting(Chat(messages, temperature, drawn, max_tokens))
        self._start()
        self._queue.put(waiting)
        said = await asyncio.wrap_future(waiting.future)
        images, size = measure(messages)
        return Reply(
            text=said.text,
            finish_reason="stop" if said.ended else "length",
            usage=Usage(
                requests=1,
                prompt_tokens=said.prompt_tokens,
                completion_tokens=said.completion_tokens,
                images=images,
                bytes=size,
            ),
            model=self._known()["model"],
            fingerprint=self._fingerprint(),
            mode="text",
            endpoint=HERE,
        )

    async def aclose(self) -> None:
        """End the thread and free the model; the back end may be used again afterwards."""
        with self._lock:
            worker, self._worker = self._worker, None
            if worker is not None:
                self._queue.put(None)
        if worker is not None:
            await asyncio.to_thread(worker.join)
        self._model = None

    # --- the thread -------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        with self._lock:
            if self._worker is None:
                # A daemon: a caller that never closes must not keep the interpreter from ending.
                self._worker = threading.Thread(target=self._work, name="medgen-judge-model", daemon=True)
                self._worker.start()

    def _work(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._collect()
            batch = [item for item in batch if not item.future.cancelled()]
            if batch:
                self._try(batch)

    def _collect(self) -> tuple[list[_Waiting], bool]:
        """The next batch, and whether the back end is closed after it."""
        batch: list[_Waiting] = []
        while len(batch) < self._batch_size:
            try:
                item = self._queue.get(timeout=LINGER if batch else None)
            except queue.Empty:
                break
            if item is None:
                return batch, True
            batch.append(item)
        return batch, False

    def _answer(self, batch: list[_Waiting]) -> None:
        import torch

        if self._model is None:
            from .local_model import LocalModel

            folder = find(self.name, revision=self._revision, offline=self._offline)
            self._model = LocalModel(folder, self._device, self._dtype)
        try:
            said = self._model.reply([item.chat for item in batch], lambda row: batch[row].future.cancelled())
        except torch.OutOfMemoryError as error:
            self._halve(batch, error)
            return
        except Exception as error:
            if len(batch) == 1:
                raise CallFailed(REJECTED, f"{type(error).__name__}: {error}") from error
            # One request that the model can't take must not fail its company.
            for item in batch:
                self._try([item])
            return
        self.batches.append(len(batch))
        for item, reply in zip(batch, said, strict=True):
            _settle(item, reply)

    def _try(self, batch: list[_Waiting]) -> None:
        """`_answer`; what goes wrong is told to those of this batch alone."""
        try:
            self._answer(batch)
        except BaseException as error:  # whoever waits must hear of it, and the thread serves the next
            for item in batch:
                _settle(item, error)

    def _halve(self, batch: list[_Waiting], error: Exception) -> None:
        import torch

        torch.cuda.empty_cache()
        if len(batch) == 1:
            raise CallFailed(REJECTED, f"the memory of the device is too small for one request: {error}") from error
        self._batch_size = (len(batch) + 1) // 2
        logger.warning(
            "%s: too little memory for %d requests at once; %d from here on", self.name, len(batch), self._batch_size
        )
        for half in (batch[: self._batch_size], batch[self._batch_size :]):
            self._try(half)


def _settle(item: _Waiting, outcome: Said | BaseException) -> None:
    try:
        if isinstance(outcome, BaseException):
            item.future.set_exception(outcome)
        else:
            item.future.set_result(outcome)
    except InvalidStateError:  # cancelled meanwhile, or answered before its company failed
        pass
