"""The judge's tier: samples in, one row a sample out, through the cache to one judge or several.

A record is judged in two views (with the reference, without it), `samples` times each. Verdicts are asked for
concurrently; a reply is kept in the cache as soon as it is there, so that nothing answered is ever asked again.
"""

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any
from typing import TypeVar

from ..rows import Row
from ..serving.usage import Usage
from ..signature import signature
from . import judges
from . import specs as judge_specs
from .asking import Asker
from .backend import Found
from .changes import changes
from .intake import failure
from .judges import DEFAULT_MODEL
from .prompt import PROMPT_DIGEST
from .prompt import JudgeSample
from .rubric import VIEWS
from .rubric import rubric as rubric_of
from .verdict_rows import REVISION
from .verdict_rows import VerdictRows

__all__ = ["DEFAULT_MODEL", "JudgeTier", "specs"]

SAMPLING_TEMPERATURE = 0.7  # where several verdicts are drawn and none is given

Tag = TypeVar("Tag")
specs = judge_specs.specs


class JudgeTier:
    """Scores outputs by the verdicts of a vision-language model.

    Args:
        protocol: `paper` or `standard`.
        model: the judge, by the name its server knows, or for `backend="transformers"` a Hub id or a folder.
        url: base URL, or several, of OpenAI-compatible servers that serve it (`http://host:8000/v1`).
        backend: `openai` or `transformers` (in this process).
        jury: several judges instead, each as `model@url`.
        rubric: `v2`, or the first paper's `v1`.
        layout: `paper` (images as the public judge shows them, all dimensions for each task) or `standard` (the input
            always shown, only dimensions that apply, a checklist a task); default as `protocol`.
        scale: 5 or 10; default the rubric's.
        views: which of `with_reference`, `without_reference`.
        samples: verdicts drawn a record and view.
        temperature: default 0, or 0.7 where several verdicts are drawn.
        seed: of the first verdict; the k-th draws with seed + k.
        image_side: longest side in pixels to which images are scaled down.
        image_format: `png` or `jpeg`.
        max_tokens: limit of a reply.
        concurrency: most requests in flight.
        reply_format: `json_schema`, `json_object` or `text`; default the best that the server can.
        cache: folder that keeps the replies; None keeps them as long as this object.
        max_requests, max_cost: what may be spent; the cost by `prices`.
        prices: a file of prices, see `serving.budget`.
        deadline: seconds a request may take with all its retries.
        device, dtype, revision, batch_size, offline: of a judge in this process.
        dry_run: ask nothing; a server whose reply format isn't known is taken to know JSON schemas.

    Raises:
        ValueError: an unknown option or options that don't go together.

    Attributes:
        name: `judge`.
        specs: the metrics (`specs.specs`).
        columns: all floats that a row may hold.
        usage: what this object has asked for and paid so far.
    """

    name = "judge"

    def __init__(
        self,
        protocol: str = "paper",
        model: str = DEFAULT_MODEL,
        url: str | Sequence[str] | None = None,
        backend: str = "openai",
        jury: Sequence[str] = (),
        rubric: str = "v2",
        layout: str | None = None,
        scale: int | None = None,
        views: Sequence[str] = VIEWS,
        samples: int = 1,
        temperature: float | None = None,
        seed: int = 0,
        image_side: int = 1024,
        image_format: str = "png",
        max_tokens: int = 2048,
        concurrency: int = 16,
        reply_format: str | None = None,
        cache: str | PathLike[str] | None = None,
        max_requests: int | None = None,
        max_cost: float | None = None,
        prices: str | PathLike[str] | None = None,
        deadline: float | None = 600.0,
        device: str | None = None,
        dtype: str | None = None,
        revision: str | None = None,
        batch_size: int = 8,
        offline: bool | None = None,
        dry_run: bool = False,
    ) -> None:
        self.protocol = protocol
        self.layout = judge_specs.layout_of(protocol, layout)
        self.rubric = rubric_of(rubric, self.layout, scale)
        self.views = tuple(views)
        self.samples = samples
        self.temperature = temperature if temperature is not None else (0.0 if samples == 1 else SAMPLING_TEMPERATURE)
        if samples > 1 and self.temperature == 0:
            raise ValueError(f"samples: {samples} verdicts at temperature 0 would be one and the same; raise it")
        self.seed = seed
        self.image_side, self.image_format, self.max_tokens = image_side, image_format, max_tokens
        self.concurrency, self.deadline = concurrency, deadline
        in_process = judges.InProcess(device=device, dtype=dtype, revision=revision, batch_size=batch_size)
        self.judges = judges.chosen(model, url, backend, jury, in_process=in_process, offline=offline)
        names = [judge.name for judge in self.judges]
        asked: dict[str, Any] = {"protocol": protocol, "rubric": rubric, "layout": layout, "scale": scale}
        self.options: dict[str, Any] = {**asked, "views": list(self.views), "samples": samples, "judges": names}
        self.specs = specs(**self.options)
        self.columns = judge_specs.columns(self.specs, self.views, names)
        self._rows = VerdictRows(self.rubric, protocol, self.views, samples, tuple(names))
        self._asker = Asker(
            self.judges,
            self.rubric,
            judges.Asking(
                temperature=self.temperature,
                max_tokens=max_tokens,
                image_side=image_side,
                image_format=image_format,
                reply_format=reply_format,
                concurrency=concurrency,
                deadline=deadline,
            ),
            cache=None if cache is None else Path(cache),
            budget=judges.budget(max_requests, max_cost, prices, self.judges),
            dry_run=dry_run,
        )

    # --- how numbers are made ---------------------------------------------------------------------------------------

    @cached_property
    def unavailable(self) -> Mapping[str, str]:
        """Metric -> message, where a judge in this process lacks its weights; the other tiers run."""
        found = [why for judge in self.judges if (why := judge.unavailable())]
        return {spec.name: found[0] for spec in self.specs} if found else {}

    @property
    def definition(self) -> dict[str, Any]:
        """All that determines the scores but the samples. Asks a server once which reply format it can."""
        return {
            "tier": self.name,
            "revision": REVISION,
            "judges": [
                {"model": judge.name, "revision": judge.revision, "mode": self._mode(judge)} for judge in self.judges
            ],
            "rubric": self.rubric.digest,
            "prompt": PROMPT_DIGEST,
            "protocol": self.protocol,
            "layout": self.layout,
            "views": list(self.views),
            "samples": self.samples,
            "temperature": self.temperature,
            "seed": self.seed,
            "image_side": self.image_side,
            "image_format": self.image_format,
            "max_tokens": self.max_tokens,
        }

    @property
    def signature(self) -> str:
        """How the numbers are made."""
        views = {"with_reference": "w", "without_reference": "wo"}
        known = self._asker.connected
        stated = [judge.stated(known.fact(judge), known.asking.reply_format) for judge in self.judges]
        return signature(
            "medgen_judge",
            {
                "protocol": self.protocol,
                "judge": "+".join(stated),
                "rubric": f"{self.rubric.version}-{self.rubric.digest}",
                "layout": self.layout,
                "prompt": PROMPT_DIGEST,
                "views": "+".join(views[view] for view in self.views),
                "scale": f"{self.rubric.low}-{self.rubric.high}",
                "temp": f"{self.temperature:g}",
                "seed": self.seed,
                "samples": self.samples,
                "images": f"{self.image_format}-{self.image_side}",
                "tokens": self.max_tokens,
            },
        )

    def _mode(self, judge: judges.Judge) -> str | None:
        return None if self.unavailable else self._asker.connected.mode(judge)

    @property
    def usage(self) -> Usage:
        """Requests, tokens and cost of what this object asked for; replies from the cache cost nothing."""
        return self._asker.usage

    @property
    def fingerprints(self) -> Mapping[str, frozenset[str]]:
        """Judge -> the fingerprints its server gave with the verdicts that were used."""
        return self._asker.fingerprints

    def fingerprint_changes(self) -> list[str]:
        """What to say where a judge isn't what it is called: another model, another server, one judge twice."""
        return changes(self.judges, self._asker.connected.fact, self.fingerprints)

    # --- scoring ----------------------------------------------------------------------------------------------------

    def score(self, samples: Sequence[JudgeSample]) -> list[Row]:
        """Judge samples.

        Args:
            samples: any number.

        Returns:
            One row a sample.

        Raises:
            serving.faults.CallFailed: no server can be reached, or it refuses this client.
            serving.budget.BudgetExhausted: the budget is spent; what is answered is in the cache.
        """
        rows: dict[int, Row] = {}
        self.stream(enumerate(samples), rows.__setitem__)
        return [rows[position] for position in range(len(samples))]

    def stream(self, samples: Iterable[tuple[Tag, JudgeSample]], on_row: Callable[[Tag, Row], None]) -> None:
        """Judge samples as they come, and hand each row over when it is there, in any order.

        Args:
            samples: (tag, sample); only as many are drawn ahead as can be asked at once.
            on_row: takes the tag and the row.

        Raises:
            As `score`; rows that were there before have been handed over.
        """
        if self.unavailable:
            for tag, sample in samples:
                on_row(tag, Row(reasons=dict.fromkeys(self._rows.asked(sample), "weights_missing")))
            return
        self._stream(samples, on_row)

    def fresh(self, samples: Sequence[JudgeSample]) -> list[Row]:
        """As `score`, but each verdict is asked for anew, past the cache, and not kept."""
        rows: dict[int, Row] = {}
        self._stream(enumerate(samples), rows.__setitem__, fresh=True)
        return [rows[position] for position in range(len(samples))]

    def _stream(
        self, samples: Iterable[tuple[Tag, JudgeSample]], on_row: Callable[[Tag, Row], None], *, fresh: bool = False
    ) -> None:
        def on_found(tag: Tag, sample: JudgeSample, found: Sequence[Found]) -> None:
            on_row(tag, self._rows.row(sample, found))

        self._asker.stream(samples, self._views_of, on_found, fresh=fresh)

    def estimate(self, samples: Sequence[JudgeSample]) -> Usage:
        """What judging samples would take at most that the cache doesn't hold: each reply as long as it may be.

        Asks nothing. Tokens of texts and images are estimates (`serving.usage.estimate`).

        Args:
            samples: any number.
        """
        return self._asker.estimate(samples, self._views_of)

    def _views_of(self, sample: JudgeSample) -> list[tuple[str, int, int]]:
        """What is asked of a sample: (view, number of the verdict, seed)."""
        if failure(sample) is not None:
            return []
        return [(view, number, self.seed + number) for view in self.views for number in range(self.samples)]

    def close(self) -> None:
        """End the connections and the thread that serves them."""
        self._asker.connected.close()

    def __enter__(self) -> "JudgeTier":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
