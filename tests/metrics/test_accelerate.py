"""An evaluation loop under accelerate on two processes gives the single process's numbers on both of them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import evaluate
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def sample(index: int) -> tuple[np.ndarray | None, np.ndarray, str]:
    """A pair and its id; sample 3 has no output, sample 5's is the reference."""
    rng = np.random.default_rng(index)
    reference = rng.integers(0, 256, (24, 20 + index), dtype=np.uint8)
    noise = rng.integers(0, 1 + 4 * index, reference.shape)
    output = {3: None, 5: reference}.get(index, np.clip(reference + noise, 0, 255).astype(np.uint8))
    return output, reference, f"edit-{index}"


# samples, protocol, way, samples added on both processes together
SCENARIOS = [
    (7, "paper", "loader", 8),  # padded: one sample comes twice
    (7, "standard", "split", 7),
    (1, "paper", "split", 1),  # the second process has none
]


def loops(folder: str) -> None:
    """What each process runs; it leaves its results in `folder`."""
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=True)
    assert accelerator.num_processes == 2
    results = [loop(accelerator, *scenario[:3]) for scenario in SCENARIOS]
    path = Path(folder) / f"{accelerator.process_index}.json"
    path.write_text(json.dumps(results, allow_nan=False))


def loop(accelerator: Any, samples: int, protocol: str, way: str) -> dict[str, Any]:
    from torch.utils.data import DataLoader

    pixel = evaluate.load(str(ROOT / "metrics" / "medgen_pixel"), metrics=["ssim", "psnr"], protocol=protocol)
    if way == "loader":
        loader = accelerator.prepare(DataLoader(range(samples), batch_size=2))  # type: ignore[arg-type]
        batches = [indices.tolist() for indices in loader]
    else:
        with accelerator.split_between_processes(list(range(samples))) as share:
            batches = [share] if share else []
    for batch in batches:
        outputs, references, ids = zip(*map(sample, batch), strict=True)
        pixel.add_batch(predictions=outputs, references=references, ids=ids)
    result = pixel.compute(accelerator=accelerator, return_per_sample=True)
    return {"added": sum(len(batch) for batch in batches), "result": result}


@pytest.fixture(scope="module")
def on_two_processes(tmp_path_factory: pytest.TempPathFactory) -> list[list[dict[str, Any]]]:
    """Each process's results, one a scenario."""
    folder = tmp_path_factory.mktemp("ranks")
    # In a fresh interpreter: forked children of one whose OpenMP threads have run may hang.
    code = (
        "from accelerate import debug_launcher; from tests.metrics.test_accelerate import loops; "
        f"debug_launcher(loops, args=({str(folder)!r},), num_processes=2)"
    )
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]


def alone(samples: int, protocol: str) -> dict[str, Any]:
    pixel = evaluate.load(str(ROOT / "metrics" / "medgen_pixel"), metrics=["ssim", "psnr"], protocol=protocol)
    outputs, references, ids = zip(*map(sample, range(samples)), strict=True)
    result = pixel.compute(predictions=outputs, references=references, ids=ids, return_per_sample=True)
    assert result is not None
    return result


def by_id(result: dict[str, Any]) -> dict[str, tuple[float | None, ...]]:
    return dict(zip(result["ids"], zip(*result["per_sample"].values(), strict=True), strict=True))


@pytest.mark.parametrize("index", range(len(SCENARIOS)))
def test_two_processes_give_the_numbers_of_one(index: int, on_two_processes: list[list[dict[str, Any]]]) -> None:
    samples, protocol, _, added = SCENARIOS[index]
    first, second = (results[index] for results in on_two_processes)
    assert first["added"] + second["added"] == added
    assert first["result"] == second["result"]
    result, expected = first["result"], alone(samples, protocol)
    assert result["repeated_ids"] == added - samples
    assert by_id(result) == by_id(expected)
    for unordered in ("ids", "per_sample", "repeated_ids"):
        del result[unordered], expected[unordered]
    assert result == expected
