"""What every `evaluate` module here shares: it scores in `add_batch`, keeps rows, and aggregates in `compute`.

Handing images to evaluate's own storage costs more than scoring them, loses edits of images that were opened from a
file, and decodes all of them at once. So a module stores scores: a row of floats, a reason a metric and flags a sample.
"""

import inspect
import uuid
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from .rows import summarise
from .scorer import Tier
from .scorer import warn_of_unavailable
from .signature import digest
from .storage import Stored
from .storage import features
from .storage import from_columns
from .storage import once
from .storage import to_columns


class ScoringModule(evaluate.Metric):
    """Base of the modules. A subclass gives `make_tier` and `_info` (with `features=self.storage()`).

    Args:
        config_name: not used; evaluate passes it.
        experiment_id: as evaluate's; unique by default, since evaluate waits a second for each other module that has
            the same one.
        options: keywords of the tier's constructor, fixed from here on; evaluate's own (`keep_in_memory`, `cache_dir`,
            `num_process`, `process_id`, …) are taken too.

    Raises:
        TypeError: an option that the tier does not have.
        ValueError: an option's value that the tier refuses.
    """

    make_tier: Callable[..., Tier]  # a class, or a static method that returns a tier

    def __init__(self, config_name: str | None = None, experiment_id: str | None = None, **options: Any) -> None:
        if config_name not in (None, "default"):
            raise ValueError(f"no configuration {config_name!r}: choose by keyword, e.g. protocol='standard'")
        own = inspect.signature(evaluate.Metric.__init__).parameters
        base = {name: options.pop(name) for name in list(options) if name in own}
        self.options = self._bind(options)
        self.tier = type(self).make_tier(**options)
        self.inputs = list(inspect.signature(self.tier.score).parameters)
        self._storing = False
        self._added = False
        self._warned = False
        if experiment_id is None and base.get("num_process", 1) == 1:
            experiment_id = uuid.uuid4().hex
        super().__init__(config_name=config_name, experiment_id=experiment_id, **base)

    # --- adding -----------------------------------------------------------------------------------------------------

    def add_batch(
        self, *, predictions: Any = None, references: Any = None, ids: Sequence[str] | None = None, **kwargs: Any
    ) -> None:
        """Score a batch and keep its rows.

        Args:
            predictions: outputs, one a sample; `None` in it is a missing output.
            references: references, one a sample.
            ids: a name a sample; samples of one name count once, so that a padded last batch does no harm.
            kwargs: the module's further inputs, one value a sample each.

        Raises:
            TypeError: an unknown input, or a value of a wrong type, with its position.
            ValueError: inputs of unequal length.
        """
        self._refuse_unknown(kwargs, self.inputs)
        inputs = {"predictions": predictions, "references": references, **kwargs}
        inputs = {name: _as_list(name, values) for name, values in inputs.items() if values is not None}
        absent = [name for name in self._feature_names() if name not in inputs]
        if absent:
            raise TypeError(f"{self.name} needs {', '.join(self._feature_names())}, got no {', '.join(absent)}")
        names = [""] * len(inputs["predictions"]) if ids is None else _as_list("ids", ids)
        _same_length({**inputs, "ids": names})
        rows = self.tier.score(**inputs)
        if not self._warned:
            self._warned = True
            warn_of_unavailable(self.tier)
        self._store([Stored(str(name), row) for name, row in zip(names, rows, strict=True)])

    def add(self, *, prediction: Any = None, reference: Any = None, ids: str | None = None, **kwargs: Any) -> None:
        """Score one sample and keep its row.

        Args:
            prediction: the output; `None` is a missing output.
            reference: the reference.
            ids: the sample's name.
            kwargs: the module's further inputs, one value each.

        Raises:
            TypeError, ValueError: as `add_batch`.
        """
        # evaluate.combine hands over its inputs under their plural names
        sample = {"predictions": prediction, "references": reference, **kwargs}
        batch = {name: [value] for name, value in sample.items()}
        self.add_batch(**batch, ids=None if ids is None else [ids])

    # --- computing --------------------------------------------------------------------------------------------------

    def compute(
        self,
        *,
        predictions: Any = None,
        references: Any = None,
        ids: Sequence[str] | None = None,
        accelerator: Any = None,
        return_per_sample: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any] | None:
        """Aggregate what was added, and start afresh.

        Args:
            predictions: outputs to add first; see `add_batch`.
            references: references to add first.
            ids: names to add first.
            accelerator: an `accelerate.Accelerator`: rows of all processes are gathered, and each gets the same
                result. Every process has to call. Without it the result is this process's.
            return_per_sample: add each sample's values.
            kwargs: the module's further inputs, and its options (`protocol`, `metrics`, …) for these predictions only.

        Returns:
            The mean of each metric under its name (None if nothing is scored) and the metric's further figures as
            `<metric>_<figure>`; `n` samples; `coverage` {metric: scored/n}; `failures` {metric: {reason: count}};
            `flags` {flag: count}; `signature`. Under `protocol="standard"` also `mean_failures_worst` {metric: mean
            with every system's failure at the metric's worst}. With ids also `repeated_ids`, the number of samples
            left out since their id had been there. With `return_per_sample` also `per_sample` {metric: [value or
            None]} in input order (under accelerate: process by process), and `ids` if they were given.
            Under evaluate's own `num_process`, None on other processes than the first, as evaluate does.

        Raises:
            ValueError: nothing was added, or an option differs from what was added.
            TypeError: an unknown keyword; wrong inputs as `add_batch`.
        """
        self._refuse_unknown(kwargs, [*self.inputs, *self.options])
        inputs = {name: value for name, value in kwargs.items() if name in self.inputs}
        options = {name: value for name, value in kwargs.items() if name in self.options}
        adding = {"predictions": predictions, "references": references, "ids": ids, **inputs}
        is_adding = any(value is not None for value in adding.values())
        if self._differs(options, is_adding):
            own = type(self)(keep_in_memory=True, **{**self.options, **options})
            return own.compute(**adding, accelerator=accelerator, return_per_sample=return_per_sample)
        if is_adding:
            self.add_batch(**adding)
        stored = self._take()
        if stored is None:
            return None
        if accelerator is not None:
            stored = self._gather(stored)
        elif not self._added:
            raise ValueError(_NOTHING.format(name=self.name))
        self._added = False
        return self._result(stored, return_per_sample)

    def _differs(self, options: Mapping[str, Any], is_adding: bool) -> bool:
        bound = self._bind({**self.options, **options})
        changed = [name for name in options if bound[name] != self.options[name]]
        if not changed:
            return False
        what = ", ".join(f"{name}={options[name]!r} (loaded with {self.options[name]!r})" for name in changed)
        if self._added:
            raise ValueError(f"{what}: samples were scored already; load another {self.name} with these options")
        if not is_adding or self.num_process > 1:
            raise ValueError(f"{what}: options are fixed when {self.name} is loaded; give them to evaluate.load")
        return True

    def _take(self) -> list[Stored] | None:
        """The stored samples, and an empty storage; None where evaluate gathers on another process."""
        if not self._added:
            return []
        self._storing = True
        try:
            taken = super().compute()
        finally:
            self._storing = False
        return taken["stored"] if taken is not None else None

    def _gather(self, stored: list[Stored]) -> list[Stored]:
        from accelerate.utils import gather_object

        # By the definition: a signature also says which server answered, and that may change as it likes.
        shares = gather_object([(stored, digest(self.tier.definition), self.tier.signature, self._added)])
        if len({definition for _, definition, _, _ in shares}) > 1:
            signatures = sorted({signature for _, _, signature, _ in shares})
            raise ValueError(f"the processes scored in different ways: {' / '.join(signatures)}")
        if not any(added for _, _, _, added in shares):
            raise ValueError(_NOTHING.format(name=self.name))
        return [Stored(*sample) for share, _, _, _ in shares for sample in share]

    def _result(self, stored: Sequence[Stored], return_per_sample: bool) -> dict[str, Any]:
        kept = once(stored)
        rows = [sample.row for sample in kept]
        summary = summarise(rows, self.tier.specs)
        metrics = summary["metrics"]
        result: dict[str, Any] = {name: figures["mean"] for name, figures in metrics.items()}
        for name, figures in metrics.items():
            result.update({f"{name}_{key}": value for key, value in figures.items() if key not in _FIGURES})
        result["n"] = summary["n"]
        result["coverage"] = {name: figures["coverage"] for name, figures in metrics.items()}
        result["failures"] = {name: figures["failures"] for name, figures in metrics.items()}
        if self.tier.protocol == "standard":
            result["mean_failures_worst"] = {name: figures["mean_failures_worst"] for name, figures in metrics.items()}
        result["flags"] = summary["flags"]
        result["signature"] = self.tier.signature
        named = any(sample.id for sample in kept)
        if named:
            result["repeated_ids"] = len(stored) - len(kept)
        if return_per_sample:
            result["per_sample"] = {spec.name: [row.values.get(spec.name) for row in rows] for spec in self.tier.specs}
            if named:
                result["ids"] = [sample.id for sample in kept]
        return result

    # --- storage ----------------------------------------------------------------------------------------------------

    def storage(self) -> datasets.Features:
        """The columns that evaluate stores."""
        return features(self.tier.columns, self.tier.specs)

    def _store(self, samples: Sequence[Stored]) -> None:
        columns = to_columns(samples, self.tier.columns, self.tier.specs)
        self._storing = True
        try:
            super().add_batch(**columns)
        finally:
            self._storing = False
        self._added = True

    def _compute(self, **columns: Sequence[Any]) -> dict[str, Any]:
        """Rows again, from storage."""
        return {"stored": from_columns(columns)}

    def _feature_names(self) -> list[str]:
        # To evaluate's storage the score columns; to evaluate.combine, which filters by it, the inputs.
        if self._storing:
            return list(self.features)
        parameters = inspect.signature(self.tier.score).parameters.values()
        return [parameter.name for parameter in parameters if parameter.default is parameter.empty]

    # --- checks -----------------------------------------------------------------------------------------------------

    def _bind(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """All options, defaults filled in, in a form that compares."""
        parameters = inspect.signature(type(self).make_tier).parameters
        unknown = sorted(set(options) - set(parameters))
        if unknown:
            raise TypeError(f"unknown option {', '.join(unknown)}; expected {', '.join(parameters)}")
        values = {name: options.get(name, parameter.default) for name, parameter in parameters.items()}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}

    def _refuse_unknown(self, given: Iterable[str], known: Iterable[str]) -> None:
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise TypeError(f"{self.name} takes no {', '.join(unknown)}; expected {', '.join([*known, 'ids'])}")


_FIGURES = {"mean", "n", "scored", "coverage", "failures", "mean_failures_worst"}
_NOTHING = "nothing was added to {name}: call add_batch first, or compute with predictions and references"


def _as_list(name: str, values: Any) -> list[Any]:
    """A sequence's elements; a stack of images is taken along its first axis."""
    if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__len__") or not hasattr(values, "__iter__"):
        raise TypeError(f"{name}: expected a sequence with one value a sample, got {type(values).__name__}")
    return list(values)


def _same_length(inputs: Mapping[str, Sequence[Any]]) -> None:
    lengths = {name: len(values) for name, values in inputs.items()}
    if len(set(lengths.values())) > 1:
        got = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"expected as many values in each input, got {got}")
