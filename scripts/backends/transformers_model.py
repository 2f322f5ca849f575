"""Models of transformers for images and text, in this process."""

import asyncio
import base64
from collections.abc import Callable
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Any

from medgen_metrics.serving import local_model
from medgen_metrics.serving import local_weights
from medgen_metrics.serving.batches import Batches
from medgen_metrics.serving.batches import Unready
from medgen_metrics.serving.faults import CallFailed
from medgen_metrics.serving.faults import RunStopped
from medgen_metrics.serving.local_model import Chat
from medgen_metrics.serving.local_model import Said
from medgen_metrics.weights import WeightsUnavailable

from ..errors import Failure
from ..errors import UsageError
from . import pictures
from .base import Ask
from .base import Gave
from .base import Options
from .in_process import InProcess
from .in_process import complete
from .in_process import device_of
from .in_process import known_parameters
from .in_process import shown
from .in_process import unready
from .messages import messages

if TYPE_CHECKING:
    from ..systems.file import Component

BATCH = 8


def make(component: "Component", options: Options) -> "TransformersModel":
    """See `base.make`."""
    return TransformersModel(component, options)


class TransformersModel(InProcess):
    """A folder or a Hub id that `AutoModelForImageTextToText` loads, with a chat template.

    `parameters`: `temperature` (0, the default, is greedy). `load`: arguments of `from_pretrained` (`dtype`,
    `attn_implementation`, …), the processor's under `processor`. An answer depends on the record and its seed alone,
    but for the last bits of the logits (`medgen_metrics.serving.local_model`).
    """

    def __init__(self, component: "Component", options: Options) -> None:
        super().__init__(component, options, batch=BATCH)
        known_parameters(self.component, {"temperature": "0 is greedy"})
        self._temperature = float(self.component.parameters.get("temperature", 0.0))
        self._identity: dict[str, str] | None = None
        self._model: local_model.LocalModel | None = None
        self._batches: Batches[Chat, Said] = Batches(self._reply, size=self.batch, name="medgen-system-model")

    def describe(self) -> dict[str, Any]:
        """See `base.Backend`: the weights by content, and a model's commit; has them downloaded if need be.

        Raises:
            UsageError: neither a folder of a model nor a Hub id.
            Failure: the weights are not to be had.
        """
        try:
            return shown(self.component, **self._known())
        except ValueError as error:
            raise UsageError(f"{self.component.label}: {error}") from error
        except WeightsUnavailable as error:
            raise Failure(str(error)) from error

    def _known(self) -> dict[str, str]:
        if self._identity is None:
            named, revision = self.component.model, self.component.revision
            self._identity = local_weights.identity(named, revision=revision, role="system")
        return self._identity

    async def _ask(self, ask: Ask) -> Gave:
        asked = await asyncio.to_thread(messages, ask, _url)
        chat = Chat(asked, self._temperature, ask.seed, ask.max_tokens)
        try:
            said = await self._batches.ask(chat)
        except (RunStopped, CallFailed):
            raise
        except Exception as error:
            raise unready(self.component.label, error) from error
        known = self._known()
        usage = self.usage(ask, prompt_tokens=said.prompt_tokens, completion_tokens=said.completion_tokens)
        gave = Gave(
            text=said.text,
            finish_reason="stop" if said.ended else "length",
            usage=usage,
            model=known["model"],
            fingerprint=known["weights"],
        )
        return complete(gave, ask)

    def _reply(self, chats: Sequence[Chat], unwanted: Callable[[int], bool]) -> list[Said]:
        if self._model is None:
            load = dict(self.component.load)
            try:
                folder = local_weights.find(self.component.model, revision=self.component.revision, role="system")
                self._model = local_model.load(folder, device_of(self.component), load.pop("dtype", None), load)
            except Exception as error:
                raise Unready(error) from error
        return self._model.reply(chats, unwanted)

    async def check(self, ping: bool = False) -> list[str]:
        """See `base.Backend`; downloads nothing."""
        try:
            await asyncio.to_thread(
                local_weights.find,
                self.component.model,
                revision=self.component.revision,
                offline=True,
                role="system",
            )
            if ping:
                await self.ask(Ask("ping", "Answer with the word OK.", max_tokens=8))
        except (WeightsUnavailable, ValueError, RunStopped) as error:
            return [f"model: {error}"]
        except CallFailed:
            pass  # whether a tiny request is answered well says nothing of the system
        finally:
            await self.aclose()
        return []

    async def aclose(self) -> None:
        """See `base.Backend`."""
        await self._batches.aclose()
        self._model = None


def _url(data: bytes) -> str:
    # 16-bit and turned images too become what metrics see
    return f"data:image/png;base64,{base64.b64encode(pictures.png(pictures.rgb(data))).decode('ascii')}"
