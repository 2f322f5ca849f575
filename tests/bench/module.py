"""The evaluate module against the pure function under it."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from . import made
from .material import image_pairs
from .timing import interleaved
from .timing import ratio

BATCH = 8


def run(count: int = 32) -> Iterator[str]:
    """Seconds a pair of both, and the ratio."""
    import medgen_bench
    from medgen_metrics.pixel import PixelTier

    pairs = image_pairs(count)
    with tempfile.TemporaryDirectory() as folder:
        weights = made.backbone(Path(folder))
        tier = PixelTier(lpips_weights=weights)
        module = medgen_bench.metric("pixel", lpips_weights=str(weights))

        def batches() -> Iterator[tuple[list[bytes], list[bytes]]]:
            for start in range(0, count, BATCH):
                batch = pairs[start : start + BATCH]
                yield [pair[0] for pair in batch], [pair[1] for pair in batch]

        def function() -> None:
            for predictions, references in batches():
                tier.score(predictions, references)

        def evaluated() -> None:
            for predictions, references in batches():
                module.add_batch(predictions=predictions, references=references)
            module.compute()

        timings = interleaved({"module": (evaluated, count), "function": (function, count)})
    yield ratio(timings, "module", "function")
