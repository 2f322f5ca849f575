"""What may be spent on model servers: requests and dollars, from a price table that the user gives."""

import difflib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import fields
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from .faults import RunStopped
from .usage import Usage

# Dollars: a sum of a thousand prices in binary is no exact one.
ROUNDING = 1e-9


class BudgetExhausted(RunStopped):
    """The next request would exceed the budget; nothing was sent."""

    def __init__(self, message: str) -> None:
        super().__init__("budget", message)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.message,)


@dataclass(frozen=True, slots=True)
class Price:
    """Prices of a model.

    Attributes:
        input: dollars per million prompt tokens.
        output: dollars per million completion tokens.
        image: dollars per image that the model makes.
        image_input: dollars per image sent, beyond its tokens.
        request: dollars per request.
    """

    input: float = 0.0
    output: float = 0.0
    image: float = 0.0
    image_input: float = 0.0
    request: float = 0.0

    @property
    def by_token(self) -> bool:
        """Whether tokens cost anything."""
        return bool(self.input or self.output)

    def cost(self, usage: Usage) -> float:
        """Dollars of a usage."""
        return (
            (self.input * usage.prompt_tokens + self.output * usage.completion_tokens) / 1e6
            + self.image * usage.produced
            + self.image_input * usage.images
            + self.request * usage.requests
        )


class Prices:
    """A price table, model -> `Price`.

    Args:
        table: model -> field of `Price` -> dollars.
        origin: where the table is from, for messages.

    Raises:
        ValueError: entries that aren't prices; all are named.
    """

    def __init__(self, table: Mapping[str, Mapping[str, float]], origin: str = "prices") -> None:
        known = [field.name for field in fields(Price)]
        faults: list[str] = []
        self.origin = origin
        self._prices: dict[str, Price] = {}
        if not isinstance(table, Mapping):
            raise ValueError(f"{origin}: expected model -> prices, got {table!r:.80}")
        for model, entry in table.items():
            if not isinstance(entry, Mapping) or not entry:
                faults.append(f"{model}: expected {', '.join(known)} in dollars, got {entry!r:.80}")
                continue
            wrong = [f"{model}.{name}: expected one of {', '.join(known)}" for name in entry if name not in known]
            wrong += [
                f"{model}.{name}: expected dollars, 0 or more, got {value!r:.80}"
                for name, value in entry.items()
                if isinstance(value, bool)
                or not isinstance(value, (int, float))
                or not math.isfinite(value)
                or value < 0
            ]
            faults += wrong
            if not wrong:
                self._prices[str(model)] = Price(**{name: float(value) for name, value in entry.items()})
        if faults:
            raise ValueError(f"{origin}: " + "; ".join(faults))

    @classmethod
    def read(cls, path: Path | str) -> "Prices":
        """Read a YAML or JSON file: model -> `{input: dollars per 1M tokens, output: …}`.

        Raises:
            ValueError: a file that holds no price table.
            OSError: a file that can't be read.
        """
        import yaml

        data = Path(path).read_bytes()
        try:
            table = json.loads(data) if str(path).endswith(".json") else yaml.safe_load(data)
        except (ValueError, yaml.YAMLError) as error:
            raise ValueError(f"{path}: expected YAML or JSON, got {str(error).splitlines()[0]}") from error
        return cls(table, str(path))

    def of(self, model: str) -> Price:
        """A model's prices.

        Raises:
            ValueError: a model that the table doesn't hold.
        """
        if model not in self._prices:
            near = difflib.get_close_matches(model, self._prices, 3) or list(self._prices)[:3]
            raise ValueError(f"{self.origin}: no price of model {model!r}; it holds {', '.join(near) or 'nothing'}")
        return self._prices[model]


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a request may cost at most, set aside until its reply tells."""

    model: str | None
    estimate: Usage
    cost: float


class Budget:
    """Counts requests and dollars of one run, and lets no request start that could exceed them.

    Every attempt counts as a request. Where requests in flight may turn out cheaper than they were estimated, the next
    one waits for them before the budget is called exhausted. One budget may serve several pools of one event loop.

    Args:
        max_requests: requests in all.
        max_cost: dollars in all; needs prices.
        prices: of every model that is asked, or a file of them (`Prices.read`); without it costs are unknown.

    Attributes:
        used: the total so far.

    Raises:
        ValueError: a limit below 0, or a `max_cost` without prices.
    """

    def __init__(
        self,
        max_requests: int | None = None,
        max_cost: float | None = None,
        prices: Prices | Path | str | Mapping[str, Mapping[str, float]] | None = None,
    ) -> None:
        for name, limit in (("max_requests", max_requests), ("max_cost", max_cost)):
            if limit is not None and not limit >= 0:
                raise ValueError(f"{name}: expected 0 or more, got {limit}")
        if max_cost is not None and prices is None:
            raise ValueError("max_cost: expected a price table beside it (model -> input, output: $ per 1M tokens)")
        self.max_requests = max_requests
        self.max_cost = max_cost
        if isinstance(prices, (str, Path)):
            prices = Prices.read(prices)
        self.prices = Prices(prices) if isinstance(prices, Mapping) else prices
        self.used = Usage()
        self._open = 0
        self._reserved = 0.0
        self._settled: anyio.Event | None = None

    def price(self, usage: Usage, model: str | None) -> Usage:
        """The usage with its cost, where there is a price table and the server reported the tokens that cost.

        Args:
            usage: what was consumed.
            model: name in the price table; None for a model in this process, which costs nothing.

        Raises:
            ValueError: a model that the price table doesn't hold.
        """
        if model is None:
            return replace(usage, cost=0.0)
        if self.prices is None:
            return usage
        price = self.prices.of(model)
        return usage if usage.unreported and price.by_token else replace(usage, cost=price.cost(usage))

    async def reserve(self, estimate: Usage, model: str | None) -> Reservation:
        """Set aside what a request may cost at most; `model` as for `price`.

        Raises:
            BudgetExhausted: no budget is left for it.
            ValueError: a model that the price table doesn't hold.
        """
        cost = self.price(estimate, model).cost or 0.0
        while True:
            if self.max_requests is not None and self.used.requests + self._open + 1 > self.max_requests:
                raise BudgetExhausted(
                    f"--max-requests {self.max_requests}: reached after {self.used.requests + self._open} requests; "
                    f"what was answered is kept, run again with a higher limit to go on"
                )
            spent = self.used.cost or 0.0
            if self.max_cost is None or spent + self._reserved + cost <= self.max_cost + ROUNDING:
                break
            if not self._open or spent + cost > self.max_cost + ROUNDING:
                raise BudgetExhausted(
                    f"--max-cost {self.max_cost:g}: ${spent + self._reserved:.4f} is spent or under way and the next "
                    f"request may cost ${cost:.4f}; what was answered is kept, run again with a higher limit to go on"
                )
            self._settled = self._settled or anyio.Event()
            await self._settled.wait()
        self._open += 1
        self._reserved += cost
        return Reservation(model, estimate, cost)

    def settle(self, reservation: Reservation, usage: Usage | None, *, billed: bool = False) -> Usage:
        """Book what a request consumed.

        Args:
            reservation: of the request.
            usage: as its reply says; None where there is none.
            billed: whether a request without a reply may have been worked on, and is then booked as estimated.

        Returns:
            What was booked, with its cost.
        """
        estimate = reservation.estimate
        if usage is None:
            tokens = (estimate.prompt_tokens, estimate.completion_tokens) if billed else (0, 0)
            usage = Usage(1, *tokens, estimate.images, estimate.bytes, unreported=1)
            cost = reservation.cost if billed else 0.0
            is_known = self.prices is not None or reservation.model is None
            usage = replace(usage, cost=cost if is_known else None)
        else:
            usage = self.price(usage, reservation.model)
            if usage.cost is None and self.prices is not None:
                # nothing was said of tokens: what they may have cost at most
                usage = replace(usage, cost=reservation.cost)
        self._open -= 1
        self._reserved = self._reserved - reservation.cost if self._open else 0.0
        self.used = self.used + usage
        if self._settled is not None:
            self._settled.set()
            self._settled = None
        return usage
