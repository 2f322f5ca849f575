"""A back end in this process whose requests count in the budget, as those to a server do in `serving.pool`."""

from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

from ..serving.budget import Budget
from ..serving.usage import Usage
from ..serving.usage import estimate
from .backend import Backend
from .backend import Reply


class Counted:
    """See `backend.Backend`.

    Args:
        backend: that answers.
        budget: what may be spent.
        name: the model's in the table of prices.
    """

    def __init__(self, backend: Backend, budget: Budget, name: str) -> None:
        self.name = name
        self.mode = backend.mode
        self._backend = backend
        self._budget = budget

    def fingerprint(self) -> dict[str, Any]:
        """What is known of the model."""
        return self._backend.fingerprint()

    async def probe(self) -> str:
        """How the form is asked for."""
        return await self._backend.probe()

    async def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        schema: Mapping[str, Any],
        *,
        temperature: float,
        seed: int | None,
        max_tokens: int,
    ) -> Reply:
        """One reply.

        Raises:
            serving.budget.BudgetExhausted: it could exceed the budget.
            Exception: as the back end's.
        """
        most = Usage(requests=1) if self._budget.max_cost is None else estimate(messages, max_tokens)
        reservation = await self._budget.reserve(most, self.name)
        used: Usage | None = None
        try:
            reply = await self._backend.ask(messages, schema, temperature=temperature, seed=seed, max_tokens=max_tokens)
            used = reply.usage
        finally:
            self._budget.settle(reservation, used)
        return reply

    async def aclose(self) -> None:
        """Free the model."""
        await self._backend.aclose()
