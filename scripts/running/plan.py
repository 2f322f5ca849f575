"""`run --dry-run`: what would be asked, and what it may cost at most."""

from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Mapping

from medgen_metrics.serving.budget import Budget
from medgen_metrics.serving.usage import Usage
from medgen_metrics.serving.usage import prompt_tokens

from ..backends.base import IN_PROCESS
from ..backends.base import Ask
from .stages import Asking
from .work import Work


def most(ask: Ask) -> Usage:
    """What a request may consume at most, by its texts and pictures.

    A prompt that another model is still to write counts as nothing.
    """
    return Usage(
        requests=1,
        prompt_tokens=prompt_tokens(f"{ask.system or ''}{ask.prompt}", ask.images),
        completion_tokens=ask.max_tokens if "text" in ask.wants else 0,
        images=len(ask.images),
        produced=int("image" in ask.wants),
    )


def asked(times: int, served: bool) -> str:
    """How often models were asked; only to a server go requests, and one call of a function may answer several."""
    if served:
        return f"{times:,} request{'s' * (times != 1)}"
    return "asked once" if times == 1 else f"asked {times:,} times"


def tell_plan(name: str, asking: Asking, works: Iterable[Work], budget: Budget, counts: Mapping[str, int]) -> None:
    """Print it.

    Args:
        name: the system's.
        asking: makes the requests.
        works: the records that would be asked about.
        budget: with the prices, where there are any.
        counts: records `selected`, and of them `answered` and `failed` by earlier runs.
    """
    by_model: dict[str, Usage] = defaultdict(Usage)
    remote: dict[str, bool] = {}
    records = 0
    for work in works:
        records += 1
        for component, ask in asking.asks(work):
            by_model[component.label] = by_model[component.label] + most(ask)
            remote[component.label] = component.backend not in IN_PROCESS
    print(
        f"{name}: {counts['selected']:,} records selected, {counts['answered']:,} answered, {counts['failed']:,} "
        f"failed before; {records:,} would be asked about"
    )
    total: float | None = 0.0
    for label, used in by_model.items():
        cost = None
        if remote[label]:
            cost = budget.price(used, label).cost
            total = None if cost is None or total is None else total + cost
        said = f"at most ${cost:,.2f}" if cost is not None else "cost unknown without --prices"
        print(
            f"  {label}: {asked(used.requests, remote[label])}, {used.images:,} images sent, {used.produced:,} made, "
            f"at most {used.prompt_tokens:,} prompt and {used.completion_tokens:,} completion tokens"
            + (f", {said}" if remote[label] else ", in this process")
        )
    if len(by_model) > 1 and total:
        print(f"  in all at most ${total:,.2f}, retries and repairs apart")
    print("Nothing was sent.")
