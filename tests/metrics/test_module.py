"""The shared base of the evaluate modules, on a tier small enough to check by hand."""

import json
from collections.abc import Callable
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import evaluate
import pytest

from medgen_metrics.module import ScoringModule
from medgen_metrics.rows import MetricSpec
from medgen_metrics.rows import Row


class Tier:
    """|prediction - reference|; `scale` divides it, `weights` (an input) multiplies it."""

    columns: tuple[str, ...] = ("gap", "sum")

    def __init__(self, protocol: str = "paper", metrics: Sequence[str] = ("gap",), scale: float = 1.0) -> None:
        self.protocol = protocol
        self.scale = scale
        self.specs = (MetricSpec("gap", 0.0, 10.0, higher_is_better=False, extras=self._extras),)
        self.signature = f"toy|scale:{scale}"
        self.definition = {"scale": scale}
        self.unavailable = {} if scale else {"gap": "no scale is here; get one"}

    @staticmethod
    def _extras(rows: Sequence[Row]) -> dict[str, Any]:
        return {"largest": max((row.values["gap"] for row in rows if "gap" in row.values), default=None)}

    def score(self, predictions: list[Any], references: list[Any], weights: list[float] | None = None) -> list[Row]:
        factors = weights or [1.0] * len(predictions)
        return [self._row(*sample) for sample in zip(predictions, references, factors, strict=True)]

    def _row(self, prediction: Any, reference: Any, factor: float) -> Row:
        if prediction is None:
            return Row(reasons={"gap": "missing"})
        gap = abs(prediction - reference) * factor / self.scale
        return Row({"gap": gap, "sum": prediction + reference}, {}, ("seen",))


class Undeclared(Tier):
    columns = ("gap",)


class Toy(ScoringModule):
    make_tier = Tier

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(description="d", citation="c", inputs_description="i", features=self.storage())


@pytest.fixture(params=[False, True], ids=["file", "memory"])
def toy(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Toy]:
    def make(**options: Any) -> Toy:
        return Toy(keep_in_memory=request.param, cache_dir=str(tmp_path), **options)

    return make


def test_result_holds_means_figures_failures_and_plain_types(toy: Callable[..., Toy]) -> None:
    module = toy()
    module.add_batch(predictions=[1.0, None], references=[4.0, 4.0])
    module.add(prediction=2.0, reference=1.0)
    result = module.compute(return_per_sample=True)
    assert result == {
        "gap": 2.0,
        "gap_largest": 3.0,
        "n": 3,
        "coverage": {"gap": 2 / 3},
        "failures": {"gap": {"missing": 1}},
        "flags": {"seen": 2},
        "signature": "toy|scale:1.0",
        "per_sample": {"gap": [3.0, None, 1.0]},
    }
    json.dumps(result, allow_nan=False)


def test_compute_with_predictions_equals_add_batch_and_starts_afresh(toy: Callable[..., Toy]) -> None:
    module = toy()
    first = module.compute(predictions=[1.0, 5.0], references=[2.0, 2.0], weights=[1.0, 2.0])
    assert first is not None
    assert first["gap"] == 3.5
    module.add_batch(predictions=[1.0, 5.0], references=[2.0, 2.0], weights=[1.0, 2.0])
    assert module.compute() == first


def test_standard_shows_the_mean_with_failures_at_worst(toy: Callable[..., Toy]) -> None:
    result = toy(protocol="standard").compute(predictions=[1.0, None], references=[2.0, 2.0])
    assert result is not None
    assert result["mean_failures_worst"] == {"gap": 5.5}


def test_samples_of_one_id_count_once(toy: Callable[..., Toy]) -> None:
    module = toy()
    module.add_batch(predictions=[1.0, 2.0], references=[0.0, 0.0], ids=["a", "b"])
    module.add_batch(predictions=[9.0, 3.0], references=[0.0, 0.0], ids=["a", "c"])
    result = module.compute(return_per_sample=True)
    assert result is not None
    assert result["n"] == 3
    assert result["repeated_ids"] == 1
    assert result["ids"] == ["a", "b", "c"]
    assert result["per_sample"] == {"gap": [1.0, 2.0, 3.0]}


def test_samples_without_an_id_all_count(toy: Callable[..., Toy]) -> None:
    result = toy().compute(predictions=[1.0, 1.0], references=[0.0, 0.0])
    assert result is not None
    assert result["n"] == 2


def test_nothing_added_is_an_error_and_no_samples_are_not(toy: Callable[..., Toy]) -> None:
    module = toy()
    with pytest.raises(ValueError, match="nothing was added"):
        module.compute()
    result = module.compute(predictions=[], references=[])
    assert result is not None
    assert (result["gap"], result["n"], result["coverage"]) == (None, 0, {"gap": None})
    with pytest.raises(ValueError, match="nothing was added"):
        module.compute()


def test_options_of_compute_hold_for_its_predictions_only(toy: Callable[..., Toy]) -> None:
    module = toy()
    scaled = module.compute(predictions=[4.0], references=[0.0], scale=2.0)
    assert scaled is not None
    assert (scaled["gap"], scaled["signature"]) == (2.0, "toy|scale:2.0")
    plain = module.compute(predictions=[4.0], references=[0.0], metrics=["gap"])
    assert plain is not None
    assert (plain["gap"], plain["signature"]) == (4.0, "toy|scale:1.0")


def test_options_that_differ_from_what_was_added_are_errors(toy: Callable[..., Toy]) -> None:
    module = toy()
    with pytest.raises(ValueError, match=r"scale=2.0 \(loaded with 1.0\): options are fixed"):
        module.compute(scale=2.0)
    module.add_batch(predictions=[4.0], references=[0.0])
    with pytest.raises(ValueError, match="scored already"):
        module.compute(scale=2.0)
    result = module.compute(scale=1.0)
    assert result is not None
    assert result["gap"] == 4.0


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"predictions": [1.0], "references": [1.0, 2.0]}, ValueError, "1 predictions, 2 references"),
        ({"predictions": [1.0], "references": [1.0], "ids": ["a", "b"]}, ValueError, "2 ids"),
        ({"predictions": [1.0]}, TypeError, "got no references"),
        ({"predictions": "ab", "references": ["a", "b"]}, TypeError, "predictions: expected a sequence"),
        ({"predictions": [1.0], "references": [1.0], "colour": [1]}, TypeError, "takes no colour"),
    ],
)
def test_wrong_inputs(toy: Callable[..., Toy], call: dict[str, Any], error: type[Exception], message: str) -> None:
    module = toy()
    with pytest.raises(error, match=message):
        module.add_batch(**call)
    assert len(module) == 0


def test_wrong_options(toy: Callable[..., Toy]) -> None:
    with pytest.raises(TypeError, match="unknown option net; expected protocol, metrics, scale"):
        toy(net="alex")
    with pytest.raises(ValueError, match="no configuration 'standard'"):
        toy(config_name="standard")


def test_a_batch_that_fails_leaves_the_earlier_ones(toy: Callable[..., Toy]) -> None:
    module = toy()
    module.add_batch(predictions=[1.0], references=[0.0])
    with pytest.raises(TypeError):
        module.add_batch(predictions=["x"], references=[0.0])
    result = module.compute()
    assert result is not None
    assert result["n"] == 1


def test_combine(toy: Callable[..., Toy]) -> None:
    both = evaluate.combine({"one": toy(), "two": toy(scale=2.0)})
    both.add_batch(predictions=[4.0], references=[0.0])
    both.add(2.0, 0.0)
    result = both.compute()
    assert (result["one_gap"], result["two_gap"]) == (3.0, 1.5)
    direct = both.compute(predictions=[4.0], references=[0.0])
    assert (direct["one_gap"], direct["two_gap"]) == (4.0, 2.0)


def test_two_modules_at_once_do_not_wait_for_each_other(toy: Callable[..., Toy]) -> None:
    first, second = toy(), toy()
    first.add_batch(predictions=[1.0], references=[0.0])
    second.add_batch(predictions=[2.0], references=[0.0])
    assert first.experiment_id != second.experiment_id
    results = [module.compute() for module in (first, second)]
    assert [result["gap"] for result in results if result] == [1.0, 2.0]


def test_a_column_that_the_tier_does_not_declare_is_not_lost_silently(toy: Callable[..., Toy]) -> None:
    module = toy()
    module.tier = Undeclared()
    with pytest.raises(RuntimeError, match="columns lack sum"):
        module.add_batch(predictions=[1.0], references=[0.0])


def test_what_can_not_be_scored_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    module = Toy(scale=0)
    for _ in range(2):
        module.add_batch(predictions=[None], references=[1])
    assert caplog.text.count("gap left unscored: no scale is here; get one") == 1
