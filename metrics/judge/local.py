"""A judge in this process: transformers' image-text-to-text models, asked like a server.

Requests that wait at the same time are answered as one batch, in one thread of their own, since a model can do one
batch at a time; the event loop goes on meanwhile. There is no JSON mode here: the prompt alone asks for the form.
"""

import asyncio
import secrets
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

from .. import weights
from ..serving import local_model
from ..serving.batches import Batches
from ..serving.batches import Unready
from ..serving.local_model import Chat
from ..serving.local_model import Said
from ..serving.local_weights import find
from ..serving.local_weights import identity
from ..serving.usage import Usage
from ..serving.usage import measure
from .backend import Reply

if TYPE_CHECKING:
    from ..serving.local_model import LocalModel

HERE = "in process"  # in place of a server's address


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


class TransformersBackend:
    """A judge in this process; see `backend.Backend`.

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
        self.name = model
        self._device, self._dtype, self._revision, self._offline = device, dtype, revision, offline
        self._identity: dict[str, str] | None = None
        self._model: LocalModel | None = None
        self._batches: Batches[Chat, Said] = Batches(self._reply, size=batch_size, name="medgen-judge-model")

    @property
    def batches(self) -> list[int]:
        """Sizes of the batches so far."""
        return self._batches.sizes

    def fingerprint(self) -> dict[str, Any]:
        """See `backend.Backend`: `identity`, and once it is loaded where and in what type the model computes."""
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
        said = await self._batches.ask(Chat(messages, temperature, drawn, max_tokens))
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
        await self._batches.aclose()
        self._model = None

    def _reply(self, chats: Sequence[Chat], unwanted: Callable[[int], bool]) -> list[Said]:
        if self._model is None:
            try:
                folder = find(self.name, revision=self._revision, offline=self._offline)
                self._model = local_model.load(folder, self._device, self._dtype)
            except Exception as error:
                raise Unready(error) from error
        return self._model.reply(chats, unwanted)
