"""Which judges are asked: one, or a jury, behind servers or in this process."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..devices import DTYPES
from ..serving.addresses import addresses
from ..serving.addresses import key_from
from ..serving.budget import Budget
from ..serving.budget import Prices
from ..serving.usage import Usage
from . import URL_VARIABLE
from .backend import Backend
from .client import KEY_VARIABLE
from .client import OpenAIBackend
from .counted import Counted

DEFAULT_MODEL = "Qwen/Qwen3-VL-8B-Instruct"
BACKENDS = ("openai", "transformers")


@dataclass(frozen=True, slots=True)
class InProcess:
    """Where and how a model runs in this process."""

    device: str | None = None
    dtype: str | None = None
    revision: str | None = None
    batch_size: int = 8


@dataclass(frozen=True, slots=True)
class Asking:
    """How each judge is asked; see `tier.JudgeTier`."""

    temperature: float
    max_tokens: int
    image_side: int
    image_format: str
    reply_format: str | None
    concurrency: int
    deadline: float | None


@dataclass(frozen=True, slots=True)
class Judge:
    """One judge.

    Attributes:
        name: the model, as its server knows it, or its Hub id or folder's name.
        model: the model, or the folder that holds it.
        served: whether it is behind servers, not in this process.
        urls: those servers.
        in_process: where it runs in this process.
        offline: don't try the network for its weights.
    """

    name: str
    model: str
    served: bool
    urls: tuple[str, ...]
    in_process: InProcess
    offline: bool | None

    @property
    def revision(self) -> str | None:
        """Of a model in this process what tells it from others of its name: a digest of its weights, and its type."""
        if self.served or self.unavailable():
            return None
        from .local import identity

        found = identity(self.model, revision=self.in_process.revision, offline=self.offline)["weights"]
        return f"{found}-{self.in_process.dtype}" if self.in_process.dtype else found

    def unavailable(self) -> str | None:
        """Why its weights can't be had; None where they are here or it is behind a server."""
        if self.served:
            return None
        from .local import unavailable

        return unavailable(self.model, revision=self.in_process.revision, offline=self.offline)

    def backend(self, asking: Asking, budget: Budget, known_mode: str | None) -> Backend:
        """A connection to it.

        Raises:
            ValueError: it is behind a server that nobody named.
        """
        if self.served and not self.urls:
            raise ValueError(
                f"judge {self.name}: expected the base URL of an OpenAI-compatible server that has it "
                f"(url=, --judge-url or ${URL_VARIABLE}: http://host:8000/v1), got none"
            )
        if self.served:
            return OpenAIBackend(
                self.name,
                self.urls,
                limit=asking.concurrency,
                deadline=asking.deadline,
                budget=budget,
                known_mode=known_mode,
            )
        from .local import TransformersBackend

        here = TransformersBackend(
            self.model,
            device=self.in_process.device,
            dtype=self.in_process.dtype,
            revision=self.in_process.revision,
            batch_size=self.in_process.batch_size,
            offline=self.offline,
        )
        return Counted(here, budget, self.name)

    def stated(self, fact: Any, reply_format: str | None = None) -> str:
        """Its name for a signature, with what its server says of itself: `model@revision(mode)`.

        Args:
            fact: what is known of its server.
            reply_format: the mode where the user chose it.
        """
        told = fact or {}
        revision = told.get("fingerprint") or self.revision
        mode = (reply_format if self.served else None) or told.get("mode")
        return self.name + (f"@{revision}" if revision else "") + (f"({mode})" if mode else "")


def chosen(
    model: str,
    url: str | Sequence[str] | None,
    backend: str,
    jury: Sequence[str],
    *,
    in_process: InProcess,
    offline: bool | None,
) -> tuple[Judge, ...]:
    """The judges that the options mean.

    Raises:
        ValueError: an unknown back end or dtype, a server for one that needs none, a jury's entry without one, an
            address that is none, a key that can't be sent.
    """
    if backend not in BACKENDS:
        raise ValueError(f"backend: expected {', '.join(BACKENDS)}; got {backend!r}")
    if in_process.dtype not in (None, *DTYPES):
        raise ValueError(f"dtype: expected {', '.join(DTYPES)}; got {in_process.dtype!r}")
    if jury:
        return _jury(jury, in_process, offline)
    urls = (url,) if isinstance(url, str) else tuple(url or ())
    if not urls and backend == "openai":
        urls = tuple(part.strip() for part in os.environ.get(URL_VARIABLE, "").split(",") if part.strip())
    if backend == "transformers":
        if urls:
            raise ValueError(f"url: expected none with backend='transformers', which asks no server; got {len(urls)}")
        folder = Path(model).expanduser()
        return (Judge(folder.resolve().name if folder.is_dir() else model, model, False, (), in_process, offline),)
    key_from(None, KEY_VARIABLE)
    return (Judge(model, model, True, tuple(addresses(urls)), in_process, offline),)


def _jury(entries: Sequence[str], in_process: InProcess, offline: bool | None) -> tuple[Judge, ...]:
    found: dict[str, Judge] = {}
    faults = []
    for entry in entries:
        model, _, url = entry.partition("@")
        if not model or not url.startswith(("http://", "https://")):
            # whatever stands before a further @ may be a password
            faults.append(f"jury: expected model@URL; got {'@'.join([model, url.rpartition('@')[2]])!r}")
        elif model in found:
            # one judge behind several servers
            found[model] = Judge(model, model, True, (*found[model].urls, url), in_process, offline)
        else:
            found[model] = Judge(model, model, True, (url,), in_process, offline)
    if faults:
        raise ValueError("; ".join(faults))
    addresses([url for judge in found.values() for url in judge.urls])
    key_from(None, KEY_VARIABLE)
    return tuple(found.values())


def budget(
    max_requests: int | None, max_cost: float | None, prices: str | PathLike[str] | None, judges: Sequence[Judge]
) -> Budget:
    """What may be spent, and the book of what was.

    Raises:
        ValueError: a limit below 0 or of cost without prices, prices that can't be read, or none of one of the judges.
    """
    if max_cost is not None and prices is None:
        raise ValueError("max_cost: expected with prices (a file of prices a model), got none")
    table = None if prices is None else Prices.read(Path(prices))
    made = Budget(max_requests=max_requests, max_cost=max_cost, prices=table)
    for judge in judges:
        made.price(Usage(), judge.name)
    return made
