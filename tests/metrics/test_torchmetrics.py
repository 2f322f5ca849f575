"""The torchmetrics classes give the evaluate modules' figures, on one process and merged from two."""

import json
import pickle
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest
import torch
from torchmetrics import MetricCollection

from medgen_metrics.torchmetrics import PixelMetric
from medgen_metrics.torchmetrics import TextMetric
from medgen_metrics.torchmetrics import TierMetric

from ..spawned import in_two

ROOT = Path(__file__).resolve().parents[2]
PIXEL: dict[str, Any] = {"metrics": ["ssim", "psnr"]}
TEXT: dict[str, Any] = {"metrics": ["bleu", "em"], "extras": ["negation", "sections"]}

ANSWERS = [
    ("the answer is B.", "B. two", ["A. one", "B. two"], "multiple-choice"),
    (None, "A. one", ["A. one", "B. two", "C. three"], "multiple-choice"),
    ("who can say", "A. one", ["A. one", "B. two"], "multiple-choice"),
    ("a nodule of nine mm in the right upper lobe", "a nodule of nine mm in the left lobe", [], "question-answering"),
    ("left lung", "left lung", [], "blank-filling"),
    ("", "the heart is enlarged", [], "question-answering"),
    ("FINDINGS: no mass at all", "FINDINGS: a mass\nIMPRESSION: a mass, no effusion", [], "report-generation"),
]


def pictures() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    made = []
    for index in range(7):
        reference = rng.integers(0, 256, (20, 20 + index, 3), dtype=np.uint8)
        noisy = np.clip(reference + rng.integers(-9, 9 + index, reference.shape), 0, 255).astype(np.uint8)
        made.append({"predictions": {2: None, 4: reference}.get(index, noisy), "references": reference})
    return made


def answers() -> list[dict[str, Any]]:
    names = ("predictions", "references", "choices", "tasks")
    return [dict(zip(names, sample, strict=True)) for sample in ANSWERS]


KINDS = {"pixel": (PixelMetric, PIXEL, pictures), "text": (TextMetric, TEXT, answers)}


def add(metric: TierMetric | MetricCollection, samples: list[dict[str, Any]]) -> None:
    for start in range(0, len(samples), 2):
        batch = samples[start : start + 2]
        metric.update(**{name: [sample[name] for sample in batch] for name in batch[0]})


def by_evaluate(kind: str, protocol: str, samples: list[dict[str, Any]]) -> dict[str, float]:
    module = evaluate.load(str(ROOT / "metrics" / f"medgen_{kind}"), protocol=protocol, **KINDS[kind][1])
    found = module.compute(**{name: [sample[name] for sample in samples] for name in samples[0]})
    flat = {f"{name}_coverage": share for name, share in found["coverage"].items()}
    kept = {
        name: value for name, value in found.items() if isinstance(value, int | float) and name not in ("repeated_ids",)
    }
    return {**kept, **flat}


def plain(found: dict[str, torch.Tensor]) -> dict[str, float]:
    return {name: value.item() for name, value in found.items()}


@pytest.mark.parametrize("protocol", ["paper", "standard"])
@pytest.mark.parametrize("kind", KINDS)
def test_figures_are_the_modules(kind: str, protocol: str) -> None:
    make, options, samples = KINDS[kind]
    metric = make(protocol, **options)
    expected = by_evaluate(kind, protocol, samples())
    assert len(expected) > 4
    for _ in range(2):  # reset starts afresh
        add(metric, samples())
        assert plain(metric.compute()) == pytest.approx(expected, rel=1e-12)
        metric.reset()
    assert metric.signature.startswith(f"medgen_{kind}|")


def _rank(rank: int, port: int, folder: str) -> None:
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    found = {}
    for kind, (make, options, samples) in KINDS.items():
        for protocol in ("paper", "standard"):
            for way, share in (("split", samples()[rank::2]), ("one has none", [] if rank else samples())):
                metric = make(protocol, **options)
                add(metric, share)
                found[f"{kind} {protocol} {way}"] = plain(metric.compute())
    both = MetricCollection({kind: make(**options) for kind, (make, options, _) in KINDS.items()})
    for kind, (_, _, samples) in KINDS.items():
        add(both[kind], samples()[:1])  # of an epoch before
    both.reset()
    for kind, (_, _, samples) in KINDS.items():
        add(both[kind], samples()[rank::2])
    gathered = plain(both.compute())
    for kind in KINDS:
        own = {name.removeprefix(f"{kind}_"): value for name, value in gathered.items() if name.startswith(kind)}
        found[f"{kind} paper collected"] = own
    local = PixelMetric(**PIXEL, sync_on_compute=False)
    add(local, pictures()[rank::2])
    assert local.compute()["n"] == (4, 3)[rank]
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    torch.distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore:.*compute.*update")
def test_two_processes_give_the_modules_figures(tmp_path: Path) -> None:
    in_two(_rank, tmp_path)
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(2)]
    assert found[0] == found[1]
    assert len(found[0]) == 10
    for name, figures in found[0].items():
        kind, protocol = name.split()[:2]
        assert figures == pytest.approx(by_evaluate(kind, protocol, KINDS[kind][2]()), rel=1e-12)


def test_nothing_scored_is_not_a_number() -> None:
    metric = PixelMetric(**PIXEL)
    metric.update([None], [pictures()[0]["references"]])
    found = plain(metric.compute())
    assert np.isnan(found["ssim"])
    assert (found["ssim_coverage"], found["n"]) == (0.0, 1)


def test_torchmetrics_own_keywords_reach_it() -> None:
    assert PixelMetric(**PIXEL, compute_on_cpu=True).compute_on_cpu
    with pytest.raises(TypeError, match="colour"):
        PixelMetric(colour=1)


def test_of_a_collection_each_metric_counts_for_itself() -> None:
    ssim, psnr = PixelMetric(metrics=["ssim"]), PixelMetric(metrics=["psnr"])
    together = MetricCollection({"a": ssim.clone(), "b": psnr.clone(), "c": psnr.clone()})
    samples = pictures()
    for _ in range(2):
        for each in (ssim, psnr, together):
            each.reset()
            # behind a first batch that is all missing their sums are the same
            for batch in ([{**samples[0], "predictions": None}], samples):
                add(each, batch)
        found = together.compute()
        assert found["a_ssim"] == ssim.compute()["ssim"]
        assert found["b_psnr"] == found["c_psnr"] == psnr.compute()["psnr"]


def test_a_checkpoint_continues_where_it_was_asked_for() -> None:
    whole, first, second = (PixelMetric("standard", **PIXEL) for _ in range(3))
    assert not first.state_dict()
    first.persistent(True)
    second.persistent(True)
    samples = pictures()
    add(whole, samples)
    add(first, samples[:4])
    second.load_state_dict(pickle.loads(pickle.dumps(first.state_dict())))
    add(second, samples[4:])
    assert plain(second.compute()) == pytest.approx(plain(whole.compute()), rel=1e-12)


def test_in_a_module_a_batchs_figures_come_back_and_the_epochs_go_on() -> None:
    class Loop(torch.nn.Module):  # as a LightningModule has them
        def __init__(self) -> None:
            super().__init__()
            self.text = TextMetric(**TEXT)

    loop = Loop().half()
    samples = answers()
    for part in (samples[:3], samples[3:]):
        batch = loop.text(**{name: [sample[name] for sample in part] for name in part[0]})
        alone = TextMetric(**TEXT)
        add(alone, part)
        assert plain(batch) == pytest.approx(plain(alone.compute()), rel=1e-12, nan_ok=True)
    assert plain(loop.text.compute()) == pytest.approx(by_evaluate("text", "paper", samples), rel=1e-12)
    assert plain(pickle.loads(pickle.dumps(loop.text)).compute()) == plain(loop.text.compute())


def test_want_of_weights_is_told(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medgen_metrics.backbones.find", lambda net: None)
    PixelMetric(metrics=["lpips"], offline=True)
    assert "lpips left unscored: weights lpips-alex are not on this machine" in caplog.text
    assert "medgen-bench weights fetch lpips-alex" in caplog.text
