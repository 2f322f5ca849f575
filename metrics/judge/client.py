"""A judge behind OpenAI-compatible servers. What is asked of any back end is in `backend`, one verdict in `once`."""

import json
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import anyio

from ..serving.addresses import key_from
from ..serving.budget import Budget
from ..serving.chat import ChatClient
from ..serving.completion import Completion
from ..serving.faults import REJECTED
from ..serving.faults import CallFailed
from ..serving.faults import RunStopped
from .backend import MODES
from .backend import Reply

KEY_VARIABLE = "MEDGEN_JUDGE_API_KEY"
# Room for a model that thinks before it answers.
_PROBE_TOKENS = 256
_SERVING = "`medgen-bench judge-serve --print` gives a command that serves one"
_PROBE_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string"}},
    "required": ["colour"],
    "additionalProperties": False,
}
# Without a schema that is enforced nobody would answer these so; OpenAI takes json_object only with the word JSON.
_PROBES = {
    "json_schema": "What colour is the sky? Answer with one word.",
    "json_object": "What colour is the sky? Answer in JSON.",
    "text": "What colour is the sky? Answer with one word.",
}


class OpenAIBackend:
    """A judge behind one or several OpenAI-compatible servers.

    The first request is preceded by tiny ones that find out how the servers can be asked for a form: by JSON schema,
    else for any JSON object, else by the prompt alone.

    Args:
        model: as the servers know it.
        endpoints: their base URLs (`http://host:8000/v1`).
        api_key: default `$MEDGEN_JUDGE_API_KEY`; servers without authentication need none.
        limit: requests under way at most, over all endpoints.
        attempts: how often a request is sent at most.
        deadline: seconds for a request with all its retries; None for no end.
        timeout: seconds that one attempt may be silent.
        budget: what may be spent.
        known_mode: one of `MODES`, which then isn't asked for.
        pool: further arguments of `serving.pool.Pool`.

    Raises:
        ValueError: endpoints that are no URLs, a key that can't be sent, an unknown mode, a budget of cost without this
            model's price.
    """

    def __init__(
        self,
        model: str,
        endpoints: Sequence[str],
        api_key: str | None = None,
        *,
        limit: int = 16,
        attempts: int = 6,
        deadline: float | None = 600.0,
        timeout: float = 300.0,
        budget: Budget | None = None,
        known_mode: str | None = None,
        pool: Mapping[str, Any] | None = None,
    ) -> None:
        if known_mode not in (None, *MODES):
            raise ValueError(f"reply format: expected one of {', '.join(MODES)}, got {known_mode!r}")
        self.name = model
        self.mode = known_mode
        self.chat = ChatClient(
            model,
            endpoints,
            key=key_from(api_key, KEY_VARIABLE),
            limit=limit,
            attempts=attempts,
            deadline=deadline,
            timeout=timeout,
            budget=budget,
            pool={"serving": _SERVING, **(pool or {})},
        )
        self._met = False
        self._models: set[str] = set()
        self._fingerprints: set[str] = set()
        self._probing: anyio.Lock | None = None
        self._failed: RunStopped | None = None

    def __repr__(self) -> str:
        return f"OpenAIBackend({self.name!r}, {self.chat.names!r}, mode={self.mode!r})"

    def fingerprint(self) -> dict[str, Any]:
        """What the servers say of themselves.

        Returns:
            `model` and `fingerprint` as they say in replies (several joined by `+`; None if never), `mode`,
            `endpoints` without credentials, `changes`: parameters that they refused -> what is sent instead.
        """
        return {
            "model": "+".join(sorted(self._models)) or None,
            "fingerprint": "+".join(sorted(self._fingerprints)) or None,
            "mode": self.mode,
            "endpoints": self.chat.names,
            "changes": dict(self.chat.changes),
        }

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        *,
        temperature: float,
        seed: int | None,
        max_tokens: int,
    ) -> Reply:
        """One reply; see `backend.Backend.ask`."""
        mode = self.mode or await self.probe()
        completion = await self._complete(mode, messages, schema, temperature, seed, max_tokens)
        return Reply(
            text=completion.text,
            finish_reason=completion.finish_reason,
            usage=self.chat.budget.price(completion.usage, self.name),
            model=completion.model,
            fingerprint=completion.fingerprint,
            mode=mode,
            endpoint=completion.endpoint,
        )

    async def probe(self) -> str:
        """Find out once how the servers can be asked for a form; of a mode that is given, whether they answer at all.

        Returns:
            The mode, which `mode` then holds too.

        Raises:
            RunStopped: they answer not even a tiny request.
        """
        self._probing = self._probing or anyio.Lock()
        failed_before = self._failed
        async with self._probing:
            if self.mode is None or not self._met:
                if self._failed is not failed_before and self._failed is not None:
                    # it failed for those who were first: asking again would fail as long for each who waited
                    raise RunStopped(self._failed.kind, self._failed.message)
                try:
                    self.mode = await self._best_mode()
                except RunStopped as error:
                    self._failed = error
                    raise
        return self.mode

    async def _best_mode(self) -> str:
        if self.mode is not None:
            try:
                await self._obeys(self.mode)
            except CallFailed as error:
                raise self._unanswered(error) from error
            return self.mode
        for mode in MODES:
            try:
                # One reply may be spoilt by accident; two that ignore the form say that it isn't enforced.
                if await self._obeys(mode) or await self._obeys(mode):
                    return mode
                continue
            except CallFailed as error:
                failed = error
            # A server that can't do a form says so, or breaks down over it.
            if failed.kind not in (REJECTED, "server") or mode == MODES[-1]:
                break
        raise self._unanswered(failed)

    def _unanswered(self, failed: CallFailed) -> RunStopped:
        return RunStopped(failed.kind, f"a tiny request to judge {self.name} failed: {failed.message}")

    async def _obeys(self, mode: str) -> bool:
        messages = [{"role": "user", "content": _PROBES[mode]}]
        completion = await self._complete(mode, messages, _PROBE_SCHEMA, 0.0, 0, _PROBE_TOKENS)
        if mode == "text":
            return True
        if completion.finish_reason == "length":
            # it was taken, and the model didn't come to its answer
            return True
        try:
            value = json.loads(completion.text)
        except ValueError:
            return False
        return isinstance(value, dict) and (mode == "json_object" or list(value) == ["colour"])

    async def _complete(
        self,
        mode: str,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        temperature: float,
        seed: int | None,
        max_tokens: int,
    ) -> Completion:
        forms: dict[str, Any] = {
            "json_schema": {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": schema},
            },
            "json_object": {"type": "json_object"},
            "text": None,
        }
        completion = await self.chat.complete(
            messages, max_tokens=max_tokens, temperature=temperature, seed=seed, response_format=forms[mode]
        )
        if completion.model:
            self._models.add(completion.model)
        self._met = True
        if completion.fingerprint:
            self._fingerprints.add(completion.fingerprint)
        return completion

    async def aclose(self) -> None:
        """End the connections; the next request opens others."""
        self._probing = None
        await self.chat.aclose()
