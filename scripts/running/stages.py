"""What a system's models are asked for a record, by its shape."""

from collections.abc import Awaitable
from collections.abc import Callable
from collections.abc import Mapping
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

import anyio.to_thread

from medgen_metrics.replies import Unusable
from medgen_metrics.replies import read_fields
from medgen_metrics.serving.redact import Redactor

from ..backends.base import Ask
from ..backends.base import Backend
from ..backends.base import Gave
from ..prediction import GIVES
from ..systems.file import Component
from ..systems.file import SystemFile
from . import images
from .log import RequestLog
from .prompts import PROMPT
from .prompts import TEXT
from .prompts import Templates
from .prompts import schema
from .work import Work

_REPAIRS = 1  # requests after a reply that can't be read
# Scaling pictures down, or drawing a sheet of them, takes a tenth of a second each, which no other request should wait.
_in_thread = anyio.to_thread.run_sync


@dataclass(frozen=True)
class Stage:
    """One model's turn.

    Attributes:
        role: of the component.
        run: asks, and notes what came; raises what the back end raises, and `Unusable`.
    """

    role: str
    run: Callable[[Work], Awaitable[None]]


class Asking:
    """Asks a system's models in one config.

    Args:
        system: the system.
        config: vqa, edit or gen.
        templates: what its models are told.
        backends: role -> what is asked; none where nothing will be.
        blind: whether images are held back.
        log: takes what was asked and given; None for nothing.
        redact: masks the run's secrets in what models give.
    """

    def __init__(
        self,
        system: SystemFile,
        config: str,
        templates: Templates,
        backends: Mapping[str, Backend],
        *,
        blind: bool = False,
        log: RequestLog | None = None,
        redact: Redactor | None = None,
    ) -> None:
        self._config = config
        self._templates = templates
        self._components = {role: system.components[role].resolved() for role in system.roles(config)}
        self._backends = backends
        self._blind = blind
        self._log = log
        self._redact = redact or Redactor()
        self._wants = frozenset(GIVES[config])
        if system.shape == "compositional":
            self.stages: Sequence[Stage] = (
                Stage("vlm", self._direct),
                Stage("image", self._draw),
            )
        else:
            self.stages = (Stage(system.roles(config)[0], self._answer),)

    def asks(self, work: Work) -> list[tuple[Component, Ask]]:
        """What a record asks for at most, repairs apart; a prompt that is still to be written is taken as empty."""
        if len(self.stages) == 1:
            return [(self._components[self.stages[0].role], self._answer_ask(work))]
        asks = [] if work.prompt is not None else [(self._components["vlm"], ask) for ask in self._drafts(work)]
        return [*asks, (self._components["image"], self._draw_ask(work))]

    async def _answer(self, work: Work) -> None:
        gave = await self._ask(self.stages[0].role, await _in_thread(self._answer_ask, work), work)
        if "text" in self._wants:
            # an empty answer is the system's answer, and scored as one
            work.text = gave.text or ""
        work.image = gave.image

    def _answer_ask(self, work: Work) -> Ask:
        role = "both" if len(self._wants) == 2 else "edit" if "image" in self._wants else "answer"
        prompt = self._templates.ask(role, work.record, blind=self._blind)
        return self._made(self.stages[0].role, work, prompt, self._wants)

    async def _direct(self, work: Work) -> None:
        """A text, where one is wanted, and the image model's prompt."""
        if work.prompt is not None:
            return
        keys = self._keys
        drafts = await _in_thread(self._drafts, work)
        if self._components["vlm"].gives_json:
            given = await self._fields(drafts[0], keys, work)
            work.text = given.get(TEXT)
            work.prompt = given[PROMPT]
            return
        for ask, key in zip(drafts, keys, strict=True):
            gave = await self._ask("vlm", ask, work)
            if key == TEXT:
                work.text = gave.text or ""
            elif gave.text and gave.text.strip():
                work.prompt = gave.text.strip()
            else:
                raise Unusable("empty", "the reply is empty; expected a prompt for the image model")

    @property
    def _keys(self) -> tuple[str, ...]:
        return (TEXT, PROMPT) if "text" in self._wants else (PROMPT,)

    def _drafts(self, work: Work) -> list[Ask]:
        """Without JSON one text can't be told from the other, so each is asked for alone."""
        sees, wants = self._components["image"].takes_image, frozenset({"text"})
        if self._components["vlm"].gives_json:
            prompt = self._templates.direct(work.record, sees=sees, keys=self._keys)
            return [self._made("vlm", work, prompt, wants, schema(self._keys))]
        prompts = [
            self._templates.ask("answer", work.record)
            if key == TEXT
            else self._templates.direct(work.record, sees=sees, keys=())
            for key in self._keys
        ]
        return [self._made("vlm", work, prompt, wants) for prompt in prompts]

    async def _fields(self, ask: Ask, keys: Sequence[str], work: Work) -> dict[str, str]:
        asked = ask
        for again in range(_REPAIRS + 1):
            gave = await self._ask("vlm", asked, work)
            try:
                read = read_fields(gave.text, keys, finish_reason=gave.finish_reason)
                wrong = [key for key in keys if not isinstance(read[key], str)]
                wrong += [key for key in keys if key == PROMPT and not wrong and not read[key].strip()]
                if wrong:
                    raise Unusable("invalid", f"{', '.join(wrong)}: expected a text, got {read[wrong[0]]!r:.80}")
                return {key: read[key] for key in keys}
            except Unusable as error:
                if again == _REPAIRS or error.kind == "refusal":
                    raise
                asked = replace(ask, prompt=self._templates.again(ask.prompt, str(error)))
        raise AssertionError("the last turn returns or raises")

    async def _draw(self, work: Work) -> None:
        gave = await self._ask("image", await _in_thread(self._draw_ask, work), work)
        work.image = gave.image

    def _draw_ask(self, work: Work) -> Ask:
        return self._made("image", work, work.prompt or "", frozenset({"image"}))

    def _made(
        self,
        role: str,
        work: Work,
        prompt: str,
        wants: frozenset[str],
        form: dict[str, Any] | None = None,
    ) -> Ask:
        record, component = work.record, self._components[role]
        pictures: tuple[bytes, ...] = ()
        if component.takes_image and not self._blind:
            pictures, is_sheet = images.sent(record.input_images, component.image_side, component.max_images)
            if len(record.input_images) > 1:
                work.meta["saw_sheet"] = is_sheet
        size = None
        if "image" in wants and record.input_images:
            size = images.size_for(record.input_images[0], component.sizes)
        return Ask(
            id=record.id,
            prompt=prompt,
            images=pictures,
            wants=wants,
            size=size,
            seed=work.seed,
            schema=form,
            max_tokens=component.max_tokens,
        )

    async def _ask(self, role: str, ask: Ask, work: Work) -> Gave:
        component = self._components[role]
        try:
            gave = await self._backends[role].ask(ask)
        except Exception as error:
            if self._log is not None:
                self._log.failed(component.label, ask, error)
            raise
        if self._log is not None:
            self._log.gave(component.label, ask, gave)
        work.usage = work.usage + gave.usage
        if gave.meta:
            work.meta.update(gave.meta)
        if gave.finish_reason not in (None, "stop", "STOP"):
            work.meta["finish_reason"] = gave.finish_reason
        if gave.model and gave.model != component.model:
            work.meta.setdefault("served", {})[component.label] = gave.model
        return gave
